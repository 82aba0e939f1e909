"""From the parts of all passages to the fact graph: a pure function of arrays, without a loop over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hippo_lit.graph.factgraph import EdgeKind, Edges, FactGraph
from hippo_lit.graph.parts import NAME, TITLE, GraphParts
from hippo_lit.graph.synonyms import Pairs, nearest
from hippo_lit.storage.packed import Selected
from hippo_lit.storage.ragged import counted, owners, places, starts_of

MAX_COOCCURRING = 30  # a sentence that lists more entities than this joins none of them pairwise
Numbers = NDArray[np.int64]
Ends = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Joins:
    """What joins nodes from outside the passages: pairs of passages, and pairs of entities."""

    citations: Ends
    continuations: Ends
    synonyms: Pairs


def proper(parts: GraphParts) -> NDArray[np.bool_]:
    """Which entities are a name or a title somewhere: who has synonyms, and whom one word can name."""
    found = np.zeros(len(parts.names.keys), dtype=np.bool_)
    named = parts.record_surface[(parts.record_role & (NAME | TITLE)) > 0]
    found[parts.names.surface_entity[named]] = True
    return found


def derive(parts: GraphParts, holders: Numbers, joins: Joins, *, title_weight: float) -> FactGraph:
    """The graph of these passages.

    `holders` are `gather.holders(parts)`. Entities are numbered, and written, as they first appear; a
    mention in the title weighs `title_weight` where one in the text weighs 1.
    """
    names, n = parts.names, len(parts)
    size = max(len(names.keys), 1)
    sentence_start = starts_of(parts.sentences)
    passage, entity, titled = _mentioned(parts, size)
    mentioned = np.bincount(entity, minlength=len(names.keys))
    spread = np.maximum(np.maximum(holders[names.entity_spelling], mentioned), 1)
    link_start, link_entity = _links(parts)
    named = _named(parts, size)
    facts = _facts(parts, sentence_start)
    edges: dict[EdgeKind, Edges] = {
        "mention": _edges(passage, n + entity, np.where(titled, title_weight, 1.0)),
        "fact": _joined(facts.subjects, facts.objects, n, size),
        "cooccurrence": _cooccurring(named, n, size, int(sentence_start[-1])),
        "synonym": _synonyms(joins.synonyms, n),
        "citation": _passages(*joins.citations, max(n, 1)),
        "continuation": _passages(*joins.continuations, max(n, 1)),
    }
    low, high = np.minimum(facts.subject, facts.object), np.maximum(facts.subject, facts.object)
    stated = np.argsort(facts.sentence, kind="stable")
    statements = _statements(named, passage[titled], entity[titled], sentence_start, len(names.keys))
    naming = statements.tocsc()
    return FactGraph(
        n_passages=n,
        names=Selected(names.surfaces, _firsts(names.surface_entity, len(names.keys))),
        spread=spread.astype(np.int32),
        link_keys=names.spellings,
        link_start=link_start,
        link_entity=link_entity,
        sentence_start=sentence_start,
        statement_start=statements.indptr.astype(np.int64),
        statement_entity=statements.indices.astype(np.int32),
        fact_subject=facts.subject,
        fact_object=facts.object,
        fact_text=Selected(parts.fact_text, facts.first),
        fact_start=facts.start,
        fact_sentence=facts.sentence,
        pair_order=np.lexsort((high, low)).astype(np.int32),
        stated_order=stated.astype(np.int32),
        stated_sentence=facts.sentence[stated],
        naming_start=naming.indptr.astype(np.int64),
        naming_sentence=naming.indices.astype(np.int32),
        edges=edges,
    )


def _mentioned(parts: GraphParts, size: int) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
    """(passage, entity, whether its title names it) of all mentions; each pair once, ascending."""
    entities = parts.names.surface_entity[parts.record_surface].astype(np.int64)
    titled = (parts.record_role & TITLE) > 0
    keys = np.sort((owners(parts.record_start) * size + entities) * 2 + titled)
    last = np.flatnonzero(np.diff(keys >> 1, append=-1))  # of a pair that stands twice, the title's
    passage, entity = np.divmod(keys[last] >> 1, size)
    return passage, entity, (keys[last] & 1).astype(np.bool_)


def _named(parts: GraphParts, size: int) -> Numbers:
    """sentence * size + entity for all names in sentences; each pair once, ascending."""
    entities = parts.names.surface_entity[parts.named_surface]
    return counted(owners(parts.named_start) * size + entities)[0]


def _statements(
    named: Numbers, passage: Numbers, entity: Numbers, sentence_start: Numbers, n_entities: int
) -> sparse.csr_matrix:
    """Sentences by entities: their own names, and those of their titles."""
    size, n = max(n_entities, 1), int(sentence_start[-1])
    theirs = places(sentence_start, passage)
    of_title = theirs * size + np.repeat(entity, np.diff(sentence_start)[passage])
    keys = counted(np.concatenate([named, of_title]))[0]
    sentence, column = np.divmod(keys, size)
    start = starts_of(np.bincount(sentence, minlength=n))
    data = np.ones(len(keys), dtype=np.int8)
    return sparse.csr_matrix((data, column.astype(np.int32), start), shape=(n, n_entities))


def _cooccurring(named: Numbers, n: int, size: int, sentences: int) -> Edges:
    sentence, entity = np.divmod(named, size)
    start = starts_of(np.bincount(sentence, minlength=sentences))
    few = np.diff(start)[sentence] <= MAX_COOCCURRING
    # Each name is paired with those after it in its sentence.
    at = np.flatnonzero(few)
    following = start[sentence[at] + 1] - at - 1
    other = np.repeat(at + 1 - (np.cumsum(following) - following), following) + np.arange(following.sum())
    return _weighted(np.repeat(entity[at], following) * size + entity[other], n, size)


@dataclass(frozen=True, slots=True)
class _Facts:
    subjects: Numbers  # of every statement
    objects: Numbers
    first: Numbers  # the first statement of each fact
    subject: NDArray[np.int32]
    object: NDArray[np.int32]
    start: Numbers
    sentence: NDArray[np.int32]


def _facts(parts: GraphParts, sentence_start: Numbers) -> _Facts:
    """Statements grouped by what they say; facts are numbered as they first appear."""
    ends = parts.names.surface_entity
    subjects, objects = ends[parts.fact_subject], ends[parts.fact_object]
    order = np.argsort(parts.fact_statement, kind="stable")
    ascending = parts.fact_statement[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = ascending[1:] != ascending[:-1]
    firsts = order[new]
    rank = np.empty(len(firsts), dtype=np.int64)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = rank[np.cumsum(new) - 1]
    first = np.sort(firsts)
    passage = owners(parts.fact_start)
    known = parts.fact_sentence >= 0
    place = np.where(known, sentence_start[passage] + parts.fact_sentence, -1 - passage)
    by_fact = np.argsort(number, kind="stable")
    return _Facts(
        subjects.astype(np.int64),
        objects.astype(np.int64),
        first,
        subjects[first],
        objects[first],
        starts_of(np.bincount(number, minlength=len(first))),
        place[by_fact].astype(np.int32),
    )


def _links(parts: GraphParts) -> tuple[Numbers, NDArray[np.int32]]:
    """The entities that each spelling can name: names and titles, and what has several words."""
    names = parts.names
    nameable = np.flatnonzero(proper(parts) | (names.spelling_words[names.entity_spelling] > 1))
    spelling = names.entity_spelling[nameable]
    start = starts_of(np.bincount(spelling, minlength=len(names.spellings)))
    return start, nameable[np.argsort(spelling, kind="stable")].astype(np.int32)


def _firsts(values: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    """The first place of each number below `size`, all of which occur."""
    first = np.zeros(size, dtype=np.int32)
    first[values[::-1]] = np.arange(len(values) - 1, -1, -1)
    return first


def _joined(subjects: Numbers, objects: Numbers, n: int, size: int) -> Edges:
    a, b = np.minimum(subjects, objects), np.maximum(subjects, objects)
    return _weighted((a * size + b)[a != b], n, size)


def _weighted(keys: Numbers, n: int, size: int) -> Edges:
    """Edges between entities, as heavy as the pair is frequent."""
    pairs, counts = counted(keys)
    a, b = np.divmod(pairs, size)
    return _edges(n + a, n + b, counts)


def _passages(a: Numbers, b: Numbers, n: int) -> Edges:
    """Edges of weight 1 between passages, each pair once and none to itself."""
    pairs, _ = counted((np.minimum(a, b) * n + np.maximum(a, b))[a != b])
    return _edges(*np.divmod(pairs, n), np.ones(len(pairs)))


def _synonyms(pairs: Pairs, n: int) -> Edges:
    near = nearest(pairs)
    return _edges(n + near.a, n + near.b, near.similarity)


def _edges(source: Numbers, target: Numbers, weight: NDArray[np.generic]) -> Edges:
    return Edges(source.astype(np.int32), target.astype(np.int32), weight.astype(np.float64))
