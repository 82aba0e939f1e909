from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import hippo_lit

EXPORTS = """
    ArxivMockClient BM25Index Budget CitationGraph Fact FileSource Filters HippoLit HippoLitError Paper
    RankedPaper RetrievalClient RetrievalResult SemanticScholarMockClient Settings build_corpus
    first_sentences load_settings
""".split()

# What costs seconds or megabytes to import; whoever only imports a module of ours must not pay for it.
HEAVY = """
    bibtexparser huggingface_hub igraph mcp openai pylatexenc rispy sentence_transformers sklearn spacy
    starlette Stemmer tenacity torch transformers uvicorn
""".split()

MODULES = ["hippo_lit", *(m.name for m in walk_packages(hippo_lit.__path__, "hippo_lit."))]


def loaded_after(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after running `code`."""
    script = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


def test_the_export_list() -> None:
    assert hippo_lit.__all__ == EXPORTS


@pytest.mark.parametrize("name", EXPORTS)
def test_every_export_is_the_documented_object_of_that_name(name: str) -> None:
    export = getattr(hippo_lit, name)
    assert export.__name__ == name
    assert export.__doc__


def test_every_export_is_spelt_out_for_type_checkers() -> None:
    # mypy and editors read the imports under TYPE_CHECKING, Python reads _HOME: the two must agree.
    source = Path(hippo_lit.__file__).read_text("utf-8")
    typed = source.partition("if TYPE_CHECKING:")[2].partition("__version__")[0]
    for name, module in hippo_lit._HOME.items():
        line = next(line for line in typed.splitlines() if f"from hippo_lit.{module} import " in line)
        assert name in line.partition(" import ")[2].split(", ")


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'hippo_lit' has no attribute 'Hippo'"):
        _ = hippo_lit.Hippo
    with pytest.raises(ImportError, match="cannot import name 'Hippo'"):
        exec("from hippo_lit import Hippo")


def test_star_import_gives_the_exports() -> None:
    names: dict[str, object] = {}
    exec("from hippo_lit import *", names)
    assert set(EXPORTS) <= names.keys()


def test_importing_the_package_loads_nothing_else() -> None:
    extra = loaded_after("import hippo_lit; assert hippo_lit.__version__") - loaded_after("import importlib")
    assert extra - sys.stdlib_module_names == {"hippo_lit"}


def test_importing_all_modules_loads_nothing_heavy() -> None:
    # One interpreter for all of them; the second assertion names the culprit where there is one.
    if set(HEAVY) & loaded_after("\n".join(f"import {name}" for name in MODULES)):
        assert [n for n in MODULES if set(HEAVY) & loaded_after(f"import {n}")] == []


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_for(name: str) -> None:
    assert (import_module(name).__doc__ or "").strip()
