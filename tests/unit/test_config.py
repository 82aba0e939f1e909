from __future__ import annotations

import re
from pathlib import Path

import pytest

import hippo_lit
from hippo_lit.config import Settings, load_settings, validate
from hippo_lit.errors import ConfigError
from hippo_lit.resources import configs_dir

FIELDS = [
    (section, key) for section, f in Settings.model_fields.items() for key in type(f.default).model_fields
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "my.toml"


def refused(text: str, file: Path) -> ConfigError:
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(file, environ={})
    return caught.value


def test_without_anything_given_the_defaults_hold() -> None:
    assert load_settings(environ={}) == Settings()
    assert (Settings().embedding.model, Settings().llm.kind, Settings().ppr.damping) == (
        "minilm",
        "none",
        0.7,
    )


def test_each_layer_beats_the_one_before(file: Path) -> None:
    file.write_text("[filter]\nmax_facts = 10\ncutoff = 0.1\nlinking_top_k = 10\n[bm25]\nb = 0.1\n")
    environ = {"HIPPO_LIT_FILTER__MAX_FACTS": "20", "HIPPO_LIT_FILTER__CUTOFF": "0.2"}
    settings = load_settings(file, ["filter.max_facts=30", "filter.max_facts=31"], environ)
    assert settings.filter.max_facts == 31  # the last word on the command line
    assert settings.filter.cutoff == 0.2  # the environment
    assert settings.filter.linking_top_k == 10  # the file
    assert settings.filter.per_entity == Settings().filter.per_entity  # the default
    assert settings.bm25.b == 0.1  # a section that no later layer names


def test_the_environment_of_the_process_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPPO_LIT_EXTRACT__KIND", "none")
    assert load_settings().extract.kind == "none"


def test_only_names_with_a_section_are_settings() -> None:
    environ = {"HIPPO_LIT_HOME": "/x", "HIPPO_LITERATURE__A": "1", "LLM__MODEL": "x", "PATH": "/bin"}
    assert load_settings(environ=environ) == Settings()


@pytest.mark.parametrize(
    ("override", "section", "key", "value"),
    [
        ("llm.model=local-7b", "llm", "model", "local-7b"),
        (' llm.model = "4" ', "llm", "model", "4"),
        ("llm.base_url=http://127.0.0.1:8000/v1?a=b", "llm", "base_url", "http://127.0.0.1:8000/v1?a=b"),
        ("llm.seed=null", "llm", "seed", None),
        ("llm.seed=7", "llm", "seed", 7),
        ("llm.temperature=1", "llm", "temperature", 1.0),
        ("llm.timeout_s=2.5e1", "llm", "timeout_s", 25.0),
        ("lexical.include_title=true", "lexical", "include_title", True),
    ],
)
def test_overrides_are_json_or_a_bare_word(override: str, section: str, key: str, value: object) -> None:
    found = getattr(getattr(load_settings(overrides=[override], environ={}), section), key)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("filter.linking_topk", "filter.linking_top_k"),
        ("ppr.dampening", "ppr.damping"),
        ("embeddings.model", "embedding"),
        ("llm.api_key", "llm.api_key_env"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_right_one(key: str, meant: str) -> None:
    for give in ({"overrides": [f"{key}=1"], "environ": {}}, {"environ": {_variable(key): "1"}}):
        with pytest.raises(ConfigError, match="there is no setting") as caught:
            load_settings(**give)  # type: ignore[arg-type]
        assert meant in str(caught.value)
        assert caught.value.key.startswith(key.partition(".")[0])


def test_an_unknown_section_in_a_file_is_refused_with_the_nearest_right_one(file: Path) -> None:
    error = refused("[retriever]\nk = 3\n", file)
    assert "there is no setting 'retriever'" in str(error)
    assert "did you mean retrieve" in str(error)
    assert str(file) in str(error)


def test_nothing_is_suggested_for_what_resembles_nothing() -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(overrides=["xyzzy.q=1"], environ={})
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("filter.kind=linkd", "filter.kind"),
        ("ppr.damping=1", "ppr.damping"),
        ("ppr.damping=NaN", "ppr.damping"),
        ("rank.hybrid_weight=Infinity", "rank.hybrid_weight"),
        ("hybrid.dense_share=1.1", "hybrid.dense_share"),
        ("bm25.k1=-1", "bm25.k1"),
        ("llm.concurrency=0", "llm.concurrency"),
        ("llm.concurrency=2.5", "llm.concurrency"),
        ("llm.concurrency=many", "llm.concurrency"),
        ("llm.timeout_s=0", "llm.timeout_s"),
        ("llm.model=null", "llm.model"),
        ("llm.model=[1]", "llm.model"),
        ("extract.passage_chars=10", "extract.passage_chars"),
    ],
)
def test_a_wrong_value_is_refused_by_name(override: str, key: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(key)) as caught:
        load_settings(overrides=[override], environ={})
    assert caught.value.key == key
    assert caught.value.exit_code == 2


def test_choices_are_listed() -> None:
    with pytest.raises(ConfigError, match="'linked', 'llm' or 'all'"):
        load_settings(overrides=["filter.kind=x"], environ={})


def test_a_long_wrong_value_is_cut() -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(overrides=[f"filter.kind={'x' * 10_000}"], environ={})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "override", ["filter", "filter.kind", "filter=llm", ".kind=llm", "filter.=llm", "=", ""]
)
def test_an_override_that_is_not_section_key_value(override: str) -> None:
    with pytest.raises(ConfigError, match=r"section\.key"):
        load_settings(overrides=[override], environ={})


@pytest.mark.parametrize("value", ['"llm"', "3", "true", "[1, 2]", "[[1]]"])
def test_a_section_given_as_a_value(file: Path, value: str) -> None:
    error = refused(f"filter = {value}\n", file)
    assert error.key == "filter"
    with pytest.raises(ConfigError, match="'filter' is a section, not a value"):
        load_settings(file, ["filter.kind=llm"], environ={})


@pytest.mark.parametrize(
    "text", ["filter", "[filter\n", "[filter]\nkind = linked\n", "[filter]\n[filter]\n", "\0"]
)
def test_a_file_that_is_not_toml(file: Path, text: str) -> None:
    error = refused(text, file)
    assert "not valid TOML" in str(error)
    assert str(file) in str(error)
    assert error.__cause__ is not None


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such settings file"):
        load_settings(tmp_path / "absent.toml", environ={})
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(tmp_path, environ={})
    latin = tmp_path / "latin.toml"
    latin.write_bytes("[llm]\nmodel = 'é'\n".encode("latin-1"))
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(latin, environ={})


def test_a_byte_order_mark_and_an_empty_file_are_fine(file: Path) -> None:
    file.write_text("[llm]\nmodel = 'modèle'\n", "utf-8-sig")
    assert load_settings(file, environ={}).llm.model == "modèle"
    file.write_text("")
    assert load_settings(file, environ={}) == Settings()


def test_settings_do_not_change_once_made() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().ppr.damping = 0.9  # type: ignore[misc]


def test_what_settings_say_reads_back_as_the_same() -> None:
    changed = load_settings(overrides=["llm.seed=null", "graph.synonyms=none", "bm25.k1=0.9"], environ={})
    assert validate(changed.model_dump()) == changed


def test_no_setting_holds_a_secret() -> None:
    # A key in a file ends up in a repository: sections name the variable that holds it.
    assert [f for f in FIELDS if re.search("key|token|secret|password", f[1])] == [
        ("embedding", "api_key_env"),
        ("llm", "api_key_env"),
        ("llm", "max_tokens"),
        ("sources", "s2_key_env"),
        ("sources", "openalex_key_env"),
        ("lexical", "tokenizer"),
        ("bm25", "tokenizer"),
    ]


@pytest.mark.parametrize(("section", "key"), FIELDS)
def test_every_setting_is_read(section: str, key: str) -> None:
    """Some module that reads the section reads the key: a setting that does nothing is a lie."""
    names = rf"\.{section}\b|\b{type(getattr(Settings(), section)).__name__}\b"
    package = Path(hippo_lit.__file__).parent
    texts = [p.read_text("utf-8") for p in package.rglob("*.py") if p.name not in ("config.py", "doctor.py")]
    assert any(re.search(names, text) and re.search(rf"\.{key}\b", text) for text in texts)


def test_the_default_file_says_what_the_defaults_are() -> None:
    assert load_settings(configs_dir() / "default.toml", environ={}) == Settings()


def test_the_offline_file_needs_no_endpoint() -> None:
    settings = load_settings(configs_dir() / "offline.toml", environ={})
    assert settings.llm.kind == "none"
    assert settings.embedding.kind == "sentence-transformers"
    assert "llm" not in (settings.extract.kind, settings.filter.kind)


def test_the_openai_file_uses_one() -> None:
    settings = load_settings(configs_dir() / "openai.toml", environ={})
    assert settings.llm.kind == "openai"
    assert "llm" in (settings.extract.kind, settings.filter.kind)


def _variable(key: str) -> str:
    return "HIPPO_LIT_" + key.upper().replace(".", "__")
