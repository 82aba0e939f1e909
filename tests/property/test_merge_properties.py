from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hippo_lit.merge import merge_papers
from hippo_lit.types import Paper

# Few and short values, so that ties and equal fields are common.
words = st.sampled_from(["", "a", "b", "ab", "ba", "abc"])
names = st.lists(words, max_size=3).map(tuple)
versions_of_one = st.lists(
    st.builds(
        Paper,
        id=st.sampled_from(["p", "10.1/x", "2001.00001", "W7001"]),
        title=words,
        abstract=words,
        year=st.none() | st.integers(2000, 2003),
        authors=names,
        references=names,
        citations=names,
        source=st.sampled_from(["", "s2", "arxiv", "b+a", "a+s2"]),
        doi=st.none() | words | st.sampled_from(["10.1/x", "10.48550/arxiv.2001.00001", "10.1/yy"]),
        venue=st.none() | words,
        url=st.none() | words,
        ids=st.sets(st.sampled_from(["id:p", "pmid:1", "doi:10.1/x"]), max_size=2).map(
            lambda names: tuple(sorted(names))
        ),
        retracted=st.booleans(),
        open_access=st.none() | st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@given(versions_of_one, st.randoms())
def test_order_does_not_matter(versions, random) -> None:
    shuffled = random.sample(versions, len(versions))
    assert merge_papers(shuffled) == merge_papers(versions)


@given(versions_of_one)
def test_merging_again_changes_nothing(versions) -> None:
    merged = merge_papers(versions)
    assert merge_papers([merged]) == merge_papers([merged, merged]) == merged
    assert merge_papers([*versions, merged]) == merged or len(set(versions)) == 1


@given(versions_of_one, versions_of_one, versions_of_one)
def test_grouping_does_not_matter(a, b, c) -> None:
    at_once = merge_papers([*a, *b, *c])
    assert merge_papers([merge_papers([*a, *b]), *c]) == at_once
    assert merge_papers([merge_papers(a), merge_papers([*b, *c])]) == at_once
    assert merge_papers([merge_papers(a), merge_papers(b), merge_papers(c)]) == at_once


@given(versions_of_one)
def test_nothing_is_lost(versions) -> None:
    merged = merge_papers(versions)
    for version in versions:
        assert len(merged.title) >= len(version.title)
        assert len(merged.authors) >= len(version.authors)
        assert set(merged.references) >= set(version.references)
        assert set(merged.citations) >= set(version.citations)
