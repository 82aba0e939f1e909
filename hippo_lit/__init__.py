"""Literature retrieval over facts: papers in, explained ranking out.

>>> from hippo_lit import HippoLit
>>> lit = HippoLit.open("my.idx")                           # doctest: +SKIP
>>> lit.retrieve("does sparse attention hurt recall?", k=5)  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hippo_lit.api import HippoLit
    from hippo_lit.config import Settings, load_settings
    from hippo_lit.errors import HippoLitError
    from hippo_lit.lexical.bm25 import BM25Index
    from hippo_lit.lexical.citations import CitationGraph
    from hippo_lit.lexical.client import RetrievalClient
    from hippo_lit.models.guard import Budget
    from hippo_lit.sentences import first_sentences
    from hippo_lit.sources.files import FileSource
    from hippo_lit.sources.mock import ArxivMockClient, SemanticScholarMockClient, build_corpus
    from hippo_lit.types import Fact, Filters, Paper, RankedPaper, RetrievalResult

__version__ = "0.1.0"

_HOME = {
    "ArxivMockClient": "sources.mock",
    "BM25Index": "lexical.bm25",
    "Budget": "models.guard",
    "CitationGraph": "lexical.citations",
    "Fact": "types",
    "FileSource": "sources.files",
    "Filters": "types",
    "HippoLit": "api",
    "HippoLitError": "errors",
    "Paper": "types",
    "RankedPaper": "types",
    "RetrievalClient": "lexical.client",
    "RetrievalResult": "types",
    "SemanticScholarMockClient": "sources.mock",
    "Settings": "config",
    "build_corpus": "sources.mock",
    "first_sentences": "sentences",
    "load_settings": "config",
}

__all__ = [
    "ArxivMockClient",
    "BM25Index",
    "Budget",
    "CitationGraph",
    "Fact",
    "FileSource",
    "Filters",
    "HippoLit",
    "HippoLitError",
    "Paper",
    "RankedPaper",
    "RetrievalClient",
    "RetrievalResult",
    "SemanticScholarMockClient",
    "Settings",
    "build_corpus",
    "first_sentences",
    "load_settings",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'hippo_lit' has no attribute {name!r}")
    return getattr(import_module(f"hippo_lit.{_HOME[name]}"), name)
