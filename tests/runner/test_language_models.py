"""Language models in a run: one budget, counters, a victim that is one, what does not go together."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.chat_models import ScriptedChatModel
from fakes.label_models import PROMPT, Script, keyword_script, text_of
from fakes.runner_world import KeywordVictim, write_candidates, write_data

from rif_plugins import audit
from rif_plugins.core.result_files import read_records
from rif_plugins.core.results import Record
from rif_plugins.core.run_fields import check_configuration, check_summary
from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import DataError, UsageError
from rif_plugins.llm import ChatFailure, ChatRequest
from rif_plugins.proposers.asking import ProposerWarning
from rif_plugins.runner.building import build_parts, build_sweep, decides_filter_first
from rif_plugins.runner.judging import run_judges
from rif_plugins.runner.language_models import WINDOW, ConfirmingEngine, LanguageModels, with_own_checks
from rif_plugins.runner.options import AuditOptions, check_language_models, parse_labels
from rif_plugins.runner.places import Place
from rif_plugins.settings import Settings
from rif_plugins.victims.base import Victim

ROWS = (
    ("He cooked a good meal.", 1),
    ("She cooked a good meal.", 1),
    ("He had a fine meal.", 1),
    ("The actress was awful, he said.", 0),
    ("The film was good.", 1),
)
Models = list[ScriptedChatModel]


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], Models]:
    """Let every ``llm:`` of this process answer by a script; the models that were loaded."""

    def use(script: Script) -> Models:
        loaded: Models = []

        def load(spec: str, *, budget: Any, **_: Any) -> ScriptedChatModel:
            loaded.append(ScriptedChatModel(script, name=spec, budget=budget))
            return loaded[-1]

        monkeypatch.setattr("rif_plugins.llm.load_chat_model", load)
        return loaded

    return use


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., RunResult]:
    """``audit`` of ``llm:test``, with a table of words, without filter and cache."""
    (tmp_path / "p.txt").write_text(PROMPT, encoding="utf-8")
    options = {
        "data": write_data(tmp_path, ROWS),
        "proposer": f"table:{write_candidates(tmp_path)}",
        "entailment": "none",
        "cache": "off",
        "counterparts": 2,
        "prompt": tmp_path / "p.txt",
        "labels": "negative,positive",
    }
    return lambda **more: audit("llm:test", **{**options, **more})


def test_a_language_model_as_the_victim(
    answer: Callable[[Script], Models], run: Callable[..., RunResult], tmp_path: Path
) -> None:
    (models,) = [answer(keyword_script())]
    result = run(out=tmp_path / "out", llm_prompt_price=2.0, llm_completion_price=1000)
    assert len(models) == 1  # loaded once
    assert {record.status for record in result.records} >= {"induced", "skipped"}
    assert result.summary["n_errors"] == 0
    configuration = result.configuration
    assert configuration["label_names"] == ["negative", "positive"]
    assert configuration["labels"] == "given"
    assert configuration["model"] == "llm:test"
    assert configuration["filter_order"] == "victim-first"  # there is no filter
    told = configuration["language_models"]
    n = len(models[0].requests)
    assert told["names"] == ["llm:test"]
    assert (told["calls"], told["failed"], told["are_used_up"]) == (n, 0, False)
    assert told["cost"] == pytest.approx((20 * n * 2 + n * 1000) / 1e6)
    assert told["victim"]["method"] == "first token"
    assert told["victim"]["is_steady"] is True
    assert result.summary["language_models"] == told
    for name in ("run.json", "summary.json"):
        kept = json.loads((tmp_path / "out" / name).read_text(encoding="utf-8"))
        assert kept["language_models"] == told
    checks = {check["name"]: check["status"] for check in configuration["victim_checks"]}
    assert checks["deterministic"] == checks["label_probabilities"] == "pass"
    assert all(record.uncertainty == {} for record in result.records)


def test_it_finds_what_a_model_with_the_same_chances_finds(
    answer: Callable[[Script], Models], run: Callable[..., RunResult], tmp_path: Path
) -> None:
    answer(keyword_script())
    by_words = run()
    usual = audit(
        KeywordVictim(),
        [(text, label) for text, label in ROWS],
        proposer=f"table:{write_candidates(tmp_path)}",
        entailment="none",
        cache="off",
        counterparts=2,
    )

    def told(result: RunResult) -> list[tuple[str, ...]]:
        return sorted(
            (r.original, r.similar, r.target, r.status, r.perturbed_original, r.perturbed_similar)
            for r in result.records
        )

    assert told(by_words) == told(usual)


def test_no_text_is_asked_twice_but_to_confirm(
    answer: Callable[[Script], Models], run: Callable[..., RunResult]
) -> None:
    models = answer(keyword_script())
    result = run()
    asked = [(text_of(request), request.seed) for request in models[0].requests]
    assert len(asked) - len(set(asked)) == 1  # the sentence that decides the method
    again = {text for text, seed in asked if seed}
    found = {t for r in result.findings if r.edits for t in (r.perturbed_original, r.perturbed_similar)}
    assert found <= again


def test_a_victim_that_does_not_repeat_itself_is_shown_as_such(
    answer: Callable[[Script], Models], run: Callable[..., RunResult], tmp_path: Path
) -> None:
    answer(keyword_script(has_tokens=False))
    result = run(out=tmp_path / "out", llm_samples=7)
    evaluated = [record for record in read_records(tmp_path / "out" / "results.jsonl") if record.is_evaluated]
    assert evaluated
    for record in evaluated:
        p = record.probabilities["original"]
        told = record.uncertainty["original"]
        assert told["samples"] % 7 == 0
        if told["samples"] == 7:
            assert told["standard_error"] == pytest.approx((max(p) * (1 - max(p)) / 7) ** 0.5, abs=1e-6)
    confirmed = [
        record.uncertainty[side]
        for record in evaluated
        for side in ("perturbed_original", "perturbed_similar")
        if "askings" in record.uncertainty.get(side, {})
    ]
    assert confirmed
    assert {told["askings"] for told in confirmed} == {4}
    assert {told["samples"] for told in confirmed} == {28}
    told = result.configuration["language_models"]["victim"]
    assert (told["method"], told["samples"], told["is_steady"]) == ("samples", 7, False)
    checks = {check["name"]: check for check in result.configuration["victim_checks"]}
    assert checks["deterministic"]["status"] == "warn"
    assert "majority of 3 more askings" in checks["deterministic"]["message"]
    repeated = run(out=tmp_path / "again", llm_samples=7)
    assert [r.probabilities for r in repeated.records] == [r.probabilities for r in result.records]


def test_calls_that_are_used_up_end_the_run_with_what_there_is(
    answer: Callable[[Script], Models], run: Callable[..., RunResult], tmp_path: Path
) -> None:
    models = answer(keyword_script())
    enough = len(run().records) and len(models[0].requests)
    (few,) = [answer(keyword_script())]
    result = run(max_llm_calls=enough - 5, out=tmp_path / "out")
    assert result.summary["n_errors"] > 0
    errors = [record for record in result.records if record.status == "error"]
    assert all(f"the {enough - 5} calls are used up" in record.message for record in errors)
    told = result.configuration["language_models"]
    assert (told["calls"], told["max_calls"], told["are_used_up"]) == (enough - 5, enough - 5, True)
    assert len(few[0].requests) == enough - 5
    assert result.configuration["finished"] is not None


def test_an_answer_that_names_no_class_is_the_error_of_its_example(
    answer: Callable[[Script], Models], run: Callable[..., RunResult]
) -> None:
    usual = keyword_script()

    def script(request: ChatRequest) -> Any:
        return "As an AI, I cannot say." if "awful" in text_of(request) else usual(request)

    answer(script)
    with pytest.warns(UserWarning, match="the first token does not tell"):
        result = run()
    errors = [record for record in result.records if record.status == "error"]
    assert [record.original for record in errors] == ["The actress was awful, he said."]
    assert "llm:test named no class in its answers" in errors[0].message
    assert result.summary["n_errors"] == 1
    assert result.configuration["language_models"]["victim"]["unparsed_answers"] > 0


def test_a_server_that_dies_ends_the_run_which_can_be_taken_up(
    answer: Callable[[Script], Models], run: Callable[..., RunResult], tmp_path: Path
) -> None:
    usual = keyword_script()
    many = [(f"He cooked a good meal on day {chr(97 + i)}.", 1) for i in range(2 * WINDOW)]
    data = write_data(tmp_path, [*many, ("The actress was awful, he said.", 0)])
    is_dead = False

    def script(request: ChatRequest) -> Any:
        nonlocal is_dead
        is_dead = is_dead or "gruesome" in text_of(request)
        return ChatFailure("connection refused", is_final=True) if is_dead else usual(request)

    answer(script)
    with pytest.raises(UsageError, match=r"llm:test gives no answer: connection refused; .* --resume"):
        run(data=data, out=tmp_path / "out")
    assert (tmp_path / "out" / "results.jsonl").stat().st_size
    answer(usual)
    resumed = run(data=data, out=tmp_path / "out", resume=True)
    assert resumed.configuration["n_resumed"] > 0
    assert resumed.summary["n_errors"] == 0
    whole = run(data=data)
    assert [(r.id, r.status) for r in resumed.records] == [(r.id, r.status) for r in whole.records]


# -- parts ---------------------------------------------------------------------------------------------


def options_of(folder: Path, **settings: Any) -> AuditOptions:
    (folder / "p.txt").write_text(PROMPT, encoding="utf-8")
    chosen = {"cache": "off", "entailment": "none", "proposer": f"table:{write_candidates(folder)}"}
    return AuditOptions(
        "llm:test",
        "d.csv",
        Settings().updated(**{**chosen, **settings}),
        label_names=("negative", "positive"),
        prompt=folder / "p.txt",
    )


def test_the_parts_of_a_run(answer: Callable[[Script], Models], tmp_path: Path) -> None:
    loaded = answer(keyword_script())
    options = options_of(tmp_path, entailment="embedded", seed=3, llm_max_tokens=9)
    parts = build_parts(options)
    assert isinstance(parts.engine, ConfirmingEngine)
    assert parts.fingerprint.value is not None
    assert build_sweep(options, parts).window == WINDOW
    assert decides_filter_first(options, parts, ["He ran.", "She ran."])  # its rows are dear
    model = parts.models("llm:test")
    assert parts.models(" llm:test ") is model
    assert {request.max_tokens for request in loaded[0].requests} == {9}
    assert parts.models.is_used
    parts.close()
    assert not build_parts(options_of(tmp_path), Victim("v", KeywordVictim())).models.is_used


def test_fresh_answers_come_from_the_other_way_of_asking() -> None:
    asked: list[str] = []

    def again(texts: list[str]) -> Any:
        asked.extend(texts)
        return np.tile([0.25, 0.75], (len(texts), 1))

    victim = Victim("v", lambda texts: np.tile([0.5, 0.5], (len(texts), 1)), again=again)
    engine = ConfirmingEngine(victim, output="probabilities")
    assert engine.probabilities(["a"]).tolist() == [[0.5, 0.5]]
    assert engine.probabilities(["a", "b"], fresh=True).tolist() == [[0.25, 0.75]] * 2
    assert asked == ["a", "b"]
    assert engine.rows == 3
    assert (
        engine.probabilities(["a", "b"]).tolist() == [[0.5, 0.5]] * 2
    )  # the search is told the same as before
    assert engine.rows == 4
    assert engine.predict is victim.predict


def test_own_checks_take_the_place_of_others() -> None:
    checks = [{"name": "a", "status": "fail"}, {"name": "b", "status": "pass"}]
    own = ({"name": "b", "status": "warn"}, {"name": "c", "status": "pass"})
    victim = Victim("v", len, own_checks=own)
    assert with_own_checks(victim, checks) == [checks[0], *own]
    assert with_own_checks(Victim("v", len), checks) == checks


def test_the_temperature_is_that_of_the_proposer_alone(
    answer: Callable[[Script], Models], run: Callable[..., RunResult]
) -> None:
    loaded = answer(
        lambda request: "{}" if "Data:" in request.messages[-1].content else keyword_script()(request)
    )
    with pytest.warns(ProposerWarning, match="holds nothing that was asked for"):
        run(proposer="llm:words", llm_temperature=1.5)
    asked = {model.name: {request.temperature for request in model.requests} for model in loaded}
    assert asked.pop("llm:words") == {1.5}
    assert asked and all(1.5 not in temperatures for temperatures in asked.values())


def test_models_share_one_budget(answer: Callable[[Script], Models]) -> None:
    loaded = answer(lambda _: "yes")
    models = LanguageModels(Settings(max_llm_calls=3))
    models.add("llm:own", ScriptedChatModel(lambda _: "no", budget=models.budget))
    request = ChatRequest(())
    models("llm:a").complete([request])
    models("llm:b").complete([request])
    models("llm:own").complete([request, request])
    assert [model.name for model in loaded] == ["llm:a", "llm:b"]
    told = models.to_dict()
    assert told["names"] == ["llm:scripted", "llm:a", "llm:b"]
    assert (told["calls"], told["failed"], told["max_calls"], told["are_used_up"]) == (3, 0, 3, True)


# -- what does not go together -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "names", "model", "expected"),
    [
        ([], None, "embedded", ("given", None)),
        (["given"], None, "embedded", ("given", None)),
        (["predicted"], None, "llm:x", ("predicted", None)),
        (["a, b"], None, "llm:x", ("given", ("a", "b"))),
        (["predicted", "a,b"], None, "llm:x", ("predicted", ("a", "b"))),
        (["a,b", "predicted"], ("a", "b"), "llm:x", ("predicted", ("a", "b"))),
        (["predicted"], ("given", "predicted"), "llm:x", ("predicted", ("given", "predicted"))),
    ],
)
def test_one_option_says_which_labels_and_which_classes(
    values: list[str], names: Any, model: str, expected: Any
) -> None:
    assert parse_labels(values, names, model) == expected


@pytest.mark.parametrize(
    ("values", "names", "model", "message"),
    [
        (["positive"], None, "llm:x", r"--labels: expected given, predicted, or, .*got 'positive'"),
        ([""], None, "llm:x", r"--labels: expected given, predicted, or"),
        (["a,,b"], None, "llm:x", r"got 'a,,b'"),
        (["given,predicted"], None, "llm:x", r"have a meaning of their own here: .*--label-names"),
        (["Given,other"], None, "llm:x", r"--labels Given,other: given and predicted have a meaning"),
        (["a,b"], None, "embedded", r"name the classes of embedded with --label-names"),
        (["a,b"], ("b", "a"), "llm:x", r"--labels a,b and --label-names b,a contradict each other"),
    ],
)
def test_labels_that_are_not_clear(values: list[str], names: Any, model: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_labels(values, names, model)


@pytest.mark.parametrize(
    ("changes", "workers", "message"),
    [
        ({"prompt": Path("p.txt")}, 1, r"--prompt goes with --model llm:NAME only: leave it out"),
        ({"model": "llm:x", "victim_timeout": 3.0}, 1, r"--victim-timeout does not go with --model llm:x"),
        ({"model": "llm:x"}, 2, r"--workers 2 does not go with language models"),
        (
            {"settings": Settings(proposer="wordnet,llm:x")},
            4,
            r"--workers 4 does not go with language models",
        ),
    ],
)
def test_what_does_not_go_together(changes: dict[str, Any], workers: int, message: str) -> None:
    options = AuditOptions(**{"model": "m", "data": "d", **changes})
    with pytest.raises(UsageError, match=message):
        check_language_models(options, Place(workers))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"labels": "given,predicted"}, r"have a meaning of their own"),
        ({"labels": 3}, r"labels must be given or predicted, got 3"),
        ({"labels": "given", "label_names": None}, r"llm:test needs the names of its classes"),
        ({"prompt": None}, r"llm:test needs a prompt file"),
        ({"prompt": "gone.txt"}, r"--prompt gone\.txt cannot be read"),
        ({"workers": 2}, r"--workers 2 does not go with language models"),
        ({"judge": "gpt"}, r"setting `judge`: expected \"llm:NAME\""),
        ({"max_llm_calls": 0}, r"llm:test cannot be asked: calls used up"),
    ],
)
def test_mistakes_in_a_call(
    answer: Callable[[Script], Models], run: Callable[..., RunResult], more: dict[str, Any], message: str
) -> None:
    answer(keyword_script())
    with pytest.raises(UsageError, match=message):
        run(**more)


def test_classes_of_a_model_that_is_no_language_model() -> None:
    with pytest.raises(UsageError, match=r"names of classes go with llm:NAME, other models take label_names"):
        audit(KeywordVictim(), list(ROWS), labels=("negative", "positive"), cache="off")


@pytest.mark.parametrize("seconds", [0, -1.0, True, "3", float("inf"), float("nan")])
def test_a_time_limit_is_a_number_of_seconds(seconds: Any) -> None:
    with pytest.raises(UsageError, match=r"victim_timeout must be seconds above 0"):
        audit(KeywordVictim(), list(ROWS), victim_timeout=seconds, cache="off")


def test_labels_may_be_predicted(answer: Callable[[Script], Models], run: Callable[..., RunResult]) -> None:
    answer(keyword_script())
    result = run(labels="predicted", label_names="negative,positive")
    assert result.configuration["labels"] == "predicted"
    assert {record.label for record in result.records if record.is_evaluated} == {0, 1}


# -- judges --------------------------------------------------------------------------------------------


def judging(rating: Callable[[str], str]) -> Script:
    """Classifies, and rates by what the question of a judge holds."""
    usual = keyword_script()

    def script(request: ChatRequest) -> Any:
        content = request.messages[-1].content
        return usual(request) if "<text>" in content else rating(content)

    return script


def test_judges_rate_a_sample_after_the_run(
    answer: Callable[[Script], Models], run: Callable[..., RunResult], tmp_path: Path
) -> None:
    answer(judging(lambda content: "2" if "supper" in content else '{"rating": 5}'))
    result = run(judge="llm:a,llm:b", judge_sample=3, out=tmp_path / "out")
    told = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))["judge"]
    assert told == result.summary["judge"]
    assert [one["judge"] for one in told["judges"]] == ["llm:a", "llm:b"]
    assert told["sample"] == 3
    for one in told["judges"]:
        assert (one["rated"], one["unrated"]) == (3, 0)
        counts = one["distribution"]
        assert counts["2"] + counts["5"] == 3
        assert one["mean"] == pytest.approx((2 * counts["2"] + 5 * counts["5"]) / 3)
    assert told["agreement"]["judges"] == ["llm:a", "llm:b"]
    assert told["agreement"]["within_one"] == 1.0
    models = result.configuration["language_models"]
    assert models["names"] == ["llm:test", "llm:a", "llm:b"]
    assert run().summary.get("judge") is None


def test_two_judges_of_one_name_stay_two(
    run: Callable[..., RunResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(spec: str, *, budget: Any, **_: Any) -> ScriptedChatModel:
        return ScriptedChatModel(judging(lambda _: "4"), name=spec.rpartition("/")[2], budget=budget)

    monkeypatch.setattr("rif_plugins.llm.load_chat_model", load)
    told = run(judge="llm:gguf:a/m.gguf,llm:gguf:b/m.gguf", judge_sample=3).summary["judge"]
    assert [one["judge"] for one in told["judges"]] == ["m.gguf (1)", "m.gguf (2)"]
    assert told["agreement"]["within_one"] == 1.0


def test_judges_of_a_model_that_is_no_language_model(
    answer: Callable[[Script], Models], tmp_path: Path
) -> None:
    loaded = answer(judging(lambda _: "I cannot judge this, sorry."))
    result = audit(
        KeywordVictim(),
        list(ROWS),
        proposer=f"table:{write_candidates(tmp_path)}",
        entailment="none",
        cache="off",
        judge=["llm:a"],
    )
    (told,) = result.summary["judge"]["judges"]
    assert (told["rated"], told["mean"], told["reasons"]) == (0, None, {"refused": told["unrated"]})
    assert result.configuration["language_models"]["calls"] == len(loaded[0].requests) == told["unrated"] > 0
    assert "victim" not in result.configuration["language_models"]


def test_a_judge_without_calls_or_a_server_costs_no_run(
    answer: Callable[[Script], Models], run: Callable[..., RunResult]
) -> None:
    enough = len(answer(keyword_script())) or run().configuration["language_models"]["calls"]
    answer(judging(lambda _: "5"))
    result = run(judge="llm:a", max_llm_calls=enough + 2)
    (told,) = result.summary["judge"]["judges"]
    assert result.summary["n_errors"] == 0
    assert told["rated"] == 2
    assert told["reasons"] == {"no answer: calls used up": told["unrated"]}


def test_a_judge_that_cannot_be_loaded_is_found_before_the_search(
    run: Callable[..., RunResult], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match=r"llm:gguf|gone\.gguf"):
        audit(KeywordVictim(), list(ROWS), judge="llm:gguf:gone.gguf", out=tmp_path / "out", cache="off")
    assert not (tmp_path / "out").exists()


def test_an_error_of_a_judge_stands_in_the_summary() -> None:
    class Broken:
        name = version = "b"

        def complete(self, requests: Any) -> Any:
            raise UsageError("it fell over")

    models = LanguageModels(Settings())
    models.add("llm:b", Broken())
    record = Record("i", "e", "robust_biased", "induced", "success", original="a b", perturbed_original="a c")
    options = AuditOptions("m", "d", Settings(judge=("llm:b",)))
    told = run_judges(options, models, [record])
    assert told == {"sample": 0, "judges": [], "error": "it fell over"}


@pytest.mark.parametrize(
    ("block", "value"),
    [
        ("judge", {}),
        ("judge", {"sample": "many"}),
        ("judge", {"sample": 1, "judges": [{"judge": "llm:a", "rated": 1, "mean": "high"}]}),
        ("judge", {"sample": 1, "lowest": [{"original": "a", "edited": 3, "target": "t"}]}),
        ("judge", {"sample": 1, "agreement": {"judges": ["a", "b"], "n": 1, "kappa": "x"}}),
        ("language_models", {"calls": "9"}),
        ("language_models", {"names": "llm:a"}),
        ("language_models", {"victim": {"method": 3}}),
    ],
)
def test_what_a_report_reads_of_language_models_is_checked(block: str, value: Any) -> None:
    with pytest.raises(DataError, match=rf"summary\.json: {block} is "):
        check_summary({block: value}, "summary.json")
    if block == "language_models":
        with pytest.raises(DataError, match=r"run\.json: language_models is "):
            check_configuration({block: value}, "run.json")


# -- proposers -----------------------------------------------------------------------------------------


def proposing(folder: Path, proposer: str, **more: Any) -> RunResult:
    """An audit of a plain model with language models among its proposers."""
    table = f"table:{write_candidates(folder)}"
    settings = {"entailment": "none", "cache": "off", "counterparts": 2, **more}
    return audit(KeywordVictim(), list(ROWS), proposer=proposer.replace("TABLE", table), **settings)


def told_of(result: RunResult) -> list[tuple[str, ...]]:
    return sorted((r.id, r.status, r.perturbed_original, r.perturbed_similar) for r in result.records)


def test_a_language_model_proposes(answer: Callable[[Script], Models], tmp_path: Path) -> None:
    loaded = answer(
        lambda _: json.dumps({"good": ["fine", "great"], "meal": ["supper"], "awful": ["gruesome"]})
    )
    result = proposing(tmp_path, "llm:x", seed=5)
    assert {edit["to"] for record in result.findings for edit in record.edits} & {
        "fine",
        "supper",
        "gruesome",
    }
    n = len(loaded[0].requests)
    assert result.configuration["language_models"]["calls"] == n > 0
    assert sum(record.queries.get("llm_calls", 0) for record in result.records) == n
    assert proposing(tmp_path, "llm:x", seed=5).records[0].probabilities == result.records[0].probabilities


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (lambda _: ChatFailure("connection refused", is_final=True), "connection refused"),
        (lambda _: "Sure! Here you go: bla bla", "proposer"),
    ],
)
def test_a_dead_or_babbling_model_leaves_the_run_to_the_others(
    answer: Callable[[Script], Models], tmp_path: Path, script: Script, reason: str
) -> None:
    answer(script)
    with pytest.warns(UserWarning, match="llm:x") as warned:
        result = proposing(tmp_path, "llm:x,TABLE")
    assert len([one for one in warned if "llm:x" in str(one.message)]) == 1
    assert told_of(result) == told_of(proposing(tmp_path, "TABLE"))
    assert result.summary["n_errors"] == 0
    notes = [note for record in result.records for note in record.notes]
    assert notes
    assert all("llm:x" in note for note in notes)
    assert any(reason in note for note in notes)


def test_victim_proposer_and_judge_share_one_limit(
    answer: Callable[[Script], Models], run: Callable[..., RunResult], tmp_path: Path
) -> None:
    loaded = answer(judging(lambda _: json.dumps({"good": ["fine", "decent"], "rating": 4})))
    table = f"table:{write_candidates(tmp_path)}"
    result = run(proposer=f"llm:x,{table}", judge="llm:y")
    told = result.configuration["language_models"]
    assert told["names"] == ["llm:test", "llm:x", "llm:y"]
    assert told["calls"] == sum(len(model.requests) for model in loaded)
    assert all(model.requests for model in loaded)
    answer(judging(lambda _: "4"))
    with pytest.warns(UserWarning, match="llm:x"):
        capped = run(proposer=f"llm:x,{table}", judge="llm:y", max_llm_calls=told["calls"] // 2)
    assert capped.configuration["language_models"]["calls"] == told["calls"] // 2


def test_a_proposer_that_cannot_be_loaded_is_found_before_the_search(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.gguf"):
        proposing(tmp_path, "TABLE,llm:gguf:gone.gguf", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
