"""GPT-3.5's triples for musique_train100 (../shared/data) in the place of an extractor."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from datasets import SHARED

from hippo_lit import assemble
from hippo_lit.extract.combined import CombinedExtractor
from hippo_lit.extract.spacy_rules import SpacyExtractor
from hippo_lit.llm.replies import triples
from hippo_lit.protocols import FactExtractor
from hippo_lit.types import Extraction, Mention, Passage


class OpenieExtractor:
    """A FactExtractor that reads what was extracted; passages are recognised by their id."""

    name = "openie-gpt35"

    def __init__(self) -> None:
        with (SHARED / "musique_train100" / "openie_gpt35.jsonl").open(encoding="utf-8") as lines:
            self._found = {row["_id"]: row for row in map(json.loads, lines)}

    def extract(self, passages: Sequence[Passage]) -> Iterator[Extraction | Exception]:
        for passage in passages:
            row = self._found[passage.paper_id]
            facts, _ = triples(row["extracted_triples"])
            names = [name for name in row["extracted_entities"] if isinstance(name, str)]
            lowered = [sentence.lower() for sentence in _sentences(passage)]
            yield Extraction(
                tuple(Mention(name, _place(name, lowered)) for name in names),
                tuple(facts),
                tuple(_place(fact.object, lowered) for fact in facts),
            )


def _sentences(passage: Passage) -> list[str]:
    from hippo_lit.sentences import split_sentences

    return split_sentences(passage.body)


def _place(text: str, sentences: Sequence[str]) -> int:
    return next((i for i, sentence in enumerate(sentences) if text.lower() in sentence), -1)


def use_openie(*, names: bool) -> None:
    """From now on indexes are built from these triples; with `names`, and the names that rules find."""
    extractor: FactExtractor = OpenieExtractor()
    if names:
        extractor = CombinedExtractor(facts=extractor, names=SpacyExtractor())
    assemble.make_extractor = lambda *_: extractor
