"""From a failing question to a promoted prompt, with a scripted model; DSPy's optimizers run for real."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from cli_support import QUICK, Cli

from hippo_lit import assemble
from hippo_lit.config import Settings, load_settings
from hippo_lit.errors import ChatModelError, ConfigError, MissingExtraError
from hippo_lit.evaluate.load import load_dataset
from hippo_lit.llm.prompts import load_prompt
from hippo_lit.models.guard import Budget, Guard
from hippo_lit.resources import prompts_dir
from hippo_lit.storage.cache import Cache
from hippo_lit.testing import Answer, FakeChatModel, Recorded, ScriptedServer, chat_reply
from hippo_lit.tune.bench import Bench, Case, halves
from hippo_lit.tune.engine import import_dspy
from hippo_lit.tune.filter_task import FilterTask
from hippo_lit.tune.optimise import OPTIMIZERS, Effort, Optimizer, optimise
from hippo_lit.tune.score import compared, score_prompt, verdict
from hippo_lit.tune.trial import try_prompt
from hippo_lit.types import Message, Usage

MARK = "Be strict about it."
SHIPPED = load_prompt(prompts_dir() / "fact_filter")


def settings() -> Settings:
    return load_settings(overrides=[part for part in QUICK if "=" in part], environ={})


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    store = tmp_path_factory.mktemp("bench")
    with Bench.open(load_dataset("mock"), settings(), store) as (opened, _):
        yield opened


@pytest.fixture(scope="module")
def cases(bench: Bench) -> tuple[list[Case], list[Case]]:
    tuning, held_out = halves(load_dataset("mock").queries)
    return bench.cases(tuning), bench.cases(held_out)


class Student:
    """Keeps all candidates; told to be strict, or shown demonstrations of the set, exactly the right ones."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.gold = {case.query.text: case for case in cases}

    def __call__(self, messages: Sequence[Message]) -> str:
        asked = messages[-1].content
        if not asked.startswith("<data>"):  # an optimizer asks for instructions, each in its own form
            if "new_instruction" in messages[0].content + asked:
                return json.dumps({"new_instruction": MARK})
            fields = ("proposed_instruction", "observations", "summary")
            return "".join(f"[[ ## {field} ## ]]\n{MARK}\n\n" for field in fields) + "[[ ## completed ## ]]"
        data = json.loads(asked.partition("<data>")[2].partition("</data>")[0])
        relevant = self.gold[data["question"]].relevant if data["question"] in self.gold else ()
        strict = MARK in messages[0].content or any(q in m.content for m in messages[1:-1] for q in self.gold)
        kept = sorted(relevant) if strict else range(len(data["candidates"]))
        return json.dumps({"facts": [data["candidates"][i] for i in kept]})


def student(cases: tuple[list[Case], list[Case]]) -> FakeChatModel:
    return FakeChatModel(Student([*cases[0], *cases[1]]))


def guarded(chat: FakeChatModel, cache: Cache, budget: Budget | None = None) -> tuple[Any, Guard]:
    guard = Guard(budget)
    return assemble.tuning_chat(chat, cache, guard), guard


def test_candidates_and_what_is_relevant(bench: Bench, cases: tuple[list[Case], list[Case]]) -> None:
    tuning, held_out = cases
    assert {case.query.split for case in tuning} == {"tune"}
    assert {case.query.split for case in held_out} == {"test"}
    case = next(case for case in tuning if case.id == "q001")
    (first,) = case.relevant
    assert "Flintrock is a C++ library" in case.candidates[first].sentence
    assert case.candidates[first].paper_ids == ("p008",)


def test_ranking_goes_by_what_is_kept(bench: Bench, cases: tuple[list[Case], list[Case]]) -> None:
    case = next(case for case in cases[0] if case.id == "q001")
    assert bench.ranking(case, sorted(case.relevant), 1) == ["p008"]
    rankings = {tuple(bench.ranking(case, [i], 20)) for i in range(len(case.candidates))}
    assert len(rankings) > 1


def test_f1_precision_and_failures(bench: Bench, cases: tuple[list[Case], list[Case]]) -> None:
    task = FilterTask(bench)
    case = next(case for case in cases[0] if len(case.relevant) == 1 and len(case.candidates) > 3)
    (right,) = case.relevant
    wrong = next(i for i in range(len(case.candidates)) if i != right)
    facts = [[c.fact.subject, c.fact.relation, c.fact.object] for c in case.candidates]
    assert task.score(case, json.dumps({"facts": [facts[right]]})).values["F1"] == 1.0
    both = task.score(case, json.dumps({"facts": [facts[right], facts[wrong], ["x", "y", "z"]]}))
    assert both.values["F1"] == pytest.approx(2 / 3)
    assert both.counts == (1, 2, 1)
    assert "Kept although it does not help" in both.feedback
    assert "not among the candidates: x y z" in both.feedback
    assert task.score(case, '{"facts": []}').values["F1"] == 0.0
    unreadable = task.score(case, "Sorry, I cannot.")
    assert (unreadable.values["F1"], unreadable.error[:7]) == (0.0, "no JSON")


def test_keeping_nothing_is_right_where_nothing_helps(
    bench: Bench, cases: tuple[list[Case], list[Case]]
) -> None:
    case = next(case for case in cases[0] if not case.query.relevant)
    scored = FilterTask(bench).score(case, '{"facts": []}')
    assert scored.values == {"F1": 1.0}  # no recall: there is no paper to find


def test_two_prompts_are_compared_pair_by_pair(bench: Bench, cases: tuple[list[Case], list[Case]]) -> None:
    task, held_out = FilterTask(bench), cases[1]
    chat = student(cases)
    strict = SHIPPED.__class__("strict", MARK, SHIPPED.user)
    base, other = (
        score_prompt(task, chat, prompt, held_out, label=label)
        for label, prompt in (("current", SHIPPED), ("strict", strict))
    )
    assert base.usage == Usage(calls=0)  # no meter: a chat model that is not counted
    assert other.figure("F1").mean == other.precision == other.recall == 1.0
    assert 0 < base.figure("F1").mean < 0.5
    found = verdict(base, other, "F1")
    assert found.better
    assert found.difference == pytest.approx(1.0 - base.figure("F1").mean)
    assert not verdict(base, base, "F1").better
    assert not verdict(other, base, "F1").better
    f1, recall = compared(base, other)
    assert (f1.queries, f1.losses) == (len(held_out), 0)
    assert recall.queries == sum(bool(case.query.relevant) for case in held_out)


def test_repeats_are_free_and_unreadable_replies_are_asked_for_again(
    bench: Bench, cases: tuple[list[Case], list[Case]]
) -> None:
    task, held_out = FilterTask(bench), cases[1][:6]
    replies = iter(["no json", *['{"facts": []}'] * 6])
    chat = FakeChatModel(lambda _: next(replies))
    with Cache(None) as cache:
        kept, _ = guarded(chat, cache)
        first = score_prompt(task, kept, SHIPPED, held_out, concurrency=1)
        second = score_prompt(task, kept, SHIPPED, held_out, concurrency=1)
    assert list(first.failed) == [held_out[0].id]
    assert (first.usage.calls, second.usage.calls, second.usage.cached_calls) == (6, 1, 5)
    assert second.failed == {}


def test_a_model_that_cannot_be_asked_is_an_error_and_no_score(
    bench: Bench, cases: tuple[list[Case], list[Case]]
) -> None:
    chat = FakeChatModel(lambda _: ChatModelError("no credit", model="m", kind="quota"))
    with pytest.raises(ChatModelError, match="no credit"):
        score_prompt(FilterTask(bench), chat, SHIPPED, cases[1])


def test_a_trial_shows_everything(bench: Bench, cases: tuple[list[Case], list[Case]]) -> None:
    case = next(case for case in cases[0] if case.id == "q001")
    fact = case.candidates[0].fact
    reply = json.dumps({"facts": [[fact.subject, fact.relation, fact.object], ["Zebras", "eat", "grass"]]})
    trial = try_prompt(FilterTask(bench), FakeChatModel([reply]), SHIPPED, case)
    assert (trial.reply, trial.error, len(trial.messages)) == (reply, "", 2 + 2 * len(SHIPPED.demos))
    assert [(one.dropped, one.similarity == 1.0) for one in trial.parsed] == [
        ("", True),
        ("resembles no candidate", False),
    ]
    bad = try_prompt(FilterTask(bench), FakeChatModel(["what?"]), SHIPPED, case)
    assert (bad.parsed, bad.error[:7]) == ((), "no JSON")


def test_queries_without_splits_are_halved_by_their_ids() -> None:
    queries = [q.__class__(q.id, q.text) for q in load_dataset("mock").queries]
    tuning, held_out = halves(queries)
    assert len(tuning) + len(held_out) == 94
    assert 30 < len(tuning) < 64
    assert {q.id for q in halves(queries[::2])[0]} <= {q.id for q in tuning}


# -- the optimizers


@pytest.fixture
def dspy(tmp_path: Path) -> Any:
    pytest.importorskip("dspy")
    return import_dspy(tmp_path)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.filterwarnings("default")  # DSPy's own
def test_an_optimizer_finds_the_better_prompt_and_an_equal_run_is_free(
    dspy: Any,
    bench: Bench,
    cases: tuple[list[Case], list[Case]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    optimizer: Optimizer,
) -> None:
    task, (tuning, held_out) = FilterTask(bench), cases
    chat = student(cases)
    with Cache(None) as cache:
        kept, guard = guarded(chat, cache)

        def search() -> Any:
            return optimise(
                optimizer,
                task,
                SHIPPED,
                tuning,
                kept,
                guard=guard,
                measure="F1",
                log=tmp_path / "log" / "o.log",
                effort=Effort(candidates=3, rounds=3),
            )

        best = search()
        assert capfd.readouterr().out == ""
        asked = len(chat.calls)
        assert search().hash == best.hash
        assert len(chat.calls) == asked
        base, other = (score_prompt(task, kept, prompt, held_out) for prompt in (SHIPPED, best))
    assert verdict(base, other, "F1").better
    assert best.user == SHIPPED.user
    assert best.variables == {"data"}
    if optimizer != "bootstrap":
        assert MARK in best.system or len(best.demos) > 0
    assert (tmp_path / "log" / "o.log").read_text("utf-8")


@pytest.mark.filterwarnings("default")
def test_what_the_optimizer_asks_is_what_runs_ask(
    dspy: Any, bench: Bench, cases: tuple[list[Case], list[Case]], tmp_path: Path
) -> None:
    task, chat = FilterTask(bench), student(cases)
    optimise(
        "gepa",
        task,
        SHIPPED,
        cases[0],
        chat,
        guard=Guard(),
        measure="F1",
        log=tmp_path / "o.log",
        effort=Effort(rounds=1),
    )
    ours = {SHIPPED.render(**task.variables(case)) for case in cases[0]}
    assert chat.calls[0].messages in ours
    assert chat.calls[0].schema == task.schema


@pytest.mark.filterwarnings("default")
def test_a_budget_ends_the_search_and_a_larger_one_goes_on(
    dspy: Any, bench: Bench, cases: tuple[list[Case], list[Case]], tmp_path: Path
) -> None:
    task, chat = FilterTask(bench), student(cases)

    def search(cache: Cache, tokens: int) -> Any:
        kept, guard = guarded(chat, cache, Budget(max_tokens=tokens))
        return optimise(
            "bootstrap",
            task,
            SHIPPED,
            cases[0],
            kept,
            guard=guard,
            measure="F1",
            log=tmp_path / "o.log",
            effort=Effort(candidates=2),
            threads=1,
        )

    with Cache(None) as cache:
        with pytest.raises(ChatModelError, match=r"budget is used up.*what it asked is kept") as caught:
            search(cache, 20_000)
        assert caught.value.kind == "budget"
        first = len(chat.calls)
        assert first > 0
        search(cache, 100_000_000)
        resumed = len(chat.calls)
    with Cache(None) as cache:
        search(cache, 100_000_000)
    assert resumed == len(chat.calls) - resumed  # none of the first calls was made again


def test_too_few_cases_are_refused(
    bench: Bench, cases: tuple[list[Case], list[Case]], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="3 cases are too few"):
        optimise(
            "gepa",
            FilterTask(bench),
            SHIPPED,
            cases[0][:3],
            FakeChatModel([]),
            guard=Guard(),
            measure="F1",
            log=tmp_path / "o.log",
        )


def test_without_dspy_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dspy", None)
    with pytest.raises(MissingExtraError, match=r"hippo-lit\[tune\]"):
        import_dspy(tmp_path)


# -- the commands


@pytest.fixture
def server(cases: tuple[list[Case], list[Case]]) -> Iterator[ScriptedServer]:
    model = Student([*cases[0], *cases[1]])

    def answer(request: Recorded) -> Answer:
        turns = [Message(turn["role"], turn["content"]) for turn in request.body["messages"]]
        return chat_reply(model(turns), prompt_tokens=800, completion_tokens=60)

    with ScriptedServer([answer]) as opened:
        yield opened


@pytest.fixture
def asking(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, cli: Cli, mock_index: Path
) -> tuple[str, ...]:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    llm: Mapping[str, str] = {
        "kind": "openai",
        "model": "scripted",
        "base_url": server.base_url,
        "price_in_per_million": "0.15",
        "price_out_per_million": "0.6",
    }
    return (
        "--index",
        str(mock_index),
        *QUICK,
        *(part for key, value in llm.items() for part in ("--set", f"llm.{key}={value}")),
    )


def test_the_loop_by_hand(cli: Cli, asking: tuple[str, ...], server: ScriptedServer, tmp_path: Path) -> None:
    question = "block-sparse matrix products on CPUs, C++ library with AVX2 kernels"
    shown = cli("prompt", "try", "fact_filter", "-q", question, *asking).stdout
    assert "8 demonstrations" in shown
    assert "1 calls, 800 tokens in, 60 out, 0.0002 USD" in shown

    draft = Path(cli("prompt", "new", "fact_filter").stdout.strip())
    (draft / "system.md").write_text(f"{MARK}\n", "utf-8")
    assert "v1: 8 demonstrations" in cli("prompt", "check", "fact_filter", "v1").stdout
    assert f"+{MARK}" in cli("prompt", "diff", "fact_filter", "shipped", "v1").stdout
    tried = json.loads(
        cli("prompt", "try", "fact_filter", "-q", question, "--against", "v1", "--json", *asking).stdout
    )["tried"]
    assert [(one["label"], sum(not fact["dropped"] for fact in one["parsed"])) for one in tried] == [
        ("current", 4),
        ("v1", 1),
    ]
    assert "was not compared" in cli("prompt", "promote", "fact_filter", "v1", code=2).stderr

    told = json.loads(cli("tune", "score", "fact_filter", "--prompt", "v1", "--json", *asking).stdout)
    (model,) = told["models"]
    assert model["verdicts"][0]["better"] is True
    assert model["prompts"][1]["measures"]["F1"]["mean"] == 1.0
    asked = len(server.requests)
    again = cli("tune", "score", "fact_filter", "--prompt", "v1", *asking).stdout
    assert "v1 compared with current: better by F1" in again
    assert len(server.requests) == asked

    assert "v1 is in use" in cli("prompt", "promote", "fact_filter", "v1").stderr
    row = next(line for line in cli("prompt", "list").stdout.splitlines() if line.startswith("fact_filter"))
    assert row.split()[1] == "v1"
    mine = cli("prompt", "show", "fact_filter", "--set", "prompts.path=hippo-prompts").stdout
    assert mine.startswith(f"--- system.md\n{MARK}\n--- user.md\n")
    cli("prompt", "rollback", "fact_filter")
    assert MARK not in cli("prompt", "show", "fact_filter").stdout


@pytest.mark.filterwarnings("default")
def test_tune_writes_plain_files_and_promotes_what_is_better(
    dspy: Any, cli: Cli, asking: tuple[str, ...]
) -> None:
    done = cli(
        "tune", "fact_filter", "--optimizer", "bootstrap", "--candidates", 2, "--budget-usd", 2, "--promote",
        "--json", *asking,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["version"] == "v1"
    assert told["models"][0]["verdicts"][0]["better"] is True
    assert "v1 is in use" in done.stderr
    assert "about" in cli("prompt", "check", "fact_filter").stdout
    assert (Path("hippo-prompts") / "fact_filter" / "demos.jsonl").is_file()


def test_one_table_for_several_models(cli: Cli, asking: tuple[str, ...], server: ScriptedServer) -> None:
    for name in ("a", "b"):
        Path(f"{name}.toml").write_text(f'[llm]\nmodel = "model-{name}"\n', "utf-8")
    given = [
        (option, value)
        for option, value in zip(asking[::2], asking[1::2], strict=True)
        if not value.startswith("llm.model=")
    ]
    flat = [part for pair in given for part in pair]
    out = cli("tune", "score", "fact_filter", "--config", "a.toml", "--config", "b.toml", *flat).stdout
    assert [line.split()[1] for line in out.splitlines() if line.startswith("current")] == [
        "model-a",
        "model-b",
    ]


def test_runs_use_the_folder_and_record_its_hash(
    cli: Cli, asking: tuple[str, ...], server: ScriptedServer
) -> None:
    draft = Path(cli("prompt", "new", "fact_filter").stdout.strip())
    (draft / "system.md").write_text(f"{MARK}\n", "utf-8")
    cli("prompt", "promote", "fact_filter", "v1", "--force")
    for folder in ((), ("--set", "prompts.path=hippo-prompts")):
        cli(
            "eval", "mock", "--systems", "hippo", "--measures", "R@5", "--split", "test", "--store", "st",
            "--out", f"runs{len(folder)}", "--set", "filter.kind=llm", *folder, *asking,
        )  # fmt: skip
    hashes = [json.loads(Path(f"runs{n}/hippo.json").read_text())["info"]["prompts"] for n in (0, 2)]
    assert hashes[0]["fact_filter"] == SHIPPED.hash
    assert hashes[1]["fact_filter"] == load_prompt(draft).hash
    assert hashes[0]["extract"] == hashes[1]["extract"]
    strict = [r for r in server.requests if r.body["messages"][0]["content"] == MARK]
    assert len(strict) == 47


def test_labelling_from_a_pipe(
    cli: Cli, mock_index: Path, monkeypatch: pytest.MonkeyPatch, asking: tuple[str, ...], tmp_path: Path
) -> None:
    import io

    Path("q.txt").write_text("Which C++ library has AVX2 kernels?\nWhat is sparse attention?\n", "utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO("k d u s q"))
    from hippo_lit.cli.label import _keys

    assert list(_keys()) == ["k", "d", "u", "s", "q"]
    from typer.testing import CliRunner

    from hippo_lit.cli.app import app

    def label(keys: str) -> str:
        arguments = ["label", "q.txt", "--index", str(mock_index), *QUICK]
        result = CliRunner().invoke(app, arguments, input=keys)
        assert result.exit_code == 0, result.output
        return result.stderr

    assert "1 labelled question; the same command goes on" in label("k d u n q")
    assert "going on after" in label("n")
    (line,) = Path("q.labels.jsonl").read_text("utf-8").splitlines()
    record = json.loads(line)
    assert (record["text"], len(record["gold_facts"])) == ("Which C++ library has AVX2 kernels?", 1)


def test_without_a_name_all_prompts_are_checked(cli: Cli) -> None:
    names = [row["name"] for row in json.loads(cli("prompt", "list", "--json").stdout)["prompts"]]
    lines = cli("prompt", "check").stdout.splitlines()
    assert [line.split()[0] for line in lines] == names
    told = json.loads(cli("prompt", "check", "--json").stdout)
    assert (told["good"], [row["name"] for row in told["prompts"]]) == (True, names)


def test_other_prompts_cannot_be_tried(cli: Cli) -> None:
    assert "only fact_filter, extract, answer can" in cli("tune", "score", "ircot", code=2).stderr
    assert "none is set" in cli("tune", "score", "fact_filter", *QUICK, code=2).stderr
    assert "there is no prompt" in cli("prompt", "show", "nothing", code=2).stderr
