"""The studies on texts, each on a few drawn sentences and a victim whose answers are known."""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
for folder in (BENCHMARKS, BENCHMARKS / "sst2_victims"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

from edit_lab.samples import EditPair  # noqa: E402
from edit_lab.scores import Scores  # noqa: E402
from paper_lab import charts, texts  # noqa: E402
from paper_lab.study import Study  # noqa: E402
from paper_lab.texts import KnownAnswers, NotRunError, Subject  # noqa: E402
from search_lab.cases import DataSet, cases  # noqa: E402
from search_lab.victims import Victim  # noqa: E402

from rif_plugins.core.outcomes import TARGETS  # noqa: E402
from rif_plugins.core.results import Record  # noqa: E402
from rif_plugins.metrics.rates import Rate  # noqa: E402
from rif_plugins.runner.fitting import FunctionFitter  # noqa: E402
from rif_plugins.runner.retraining import RetrainPlan  # noqa: E402

SENTENCES = [
    f"{who} {verb} a {how} {what} in the {where}"
    for who, verb in (("he", "made"), ("she", "liked"), ("the actor", "found"), ("her mother", "showed"))
    for how, what in (("good", "film"), ("sad", "story"), ("large", "house"), ("quick", "answer"))
    for where in ("city",)
]
TARGET_NAMES = tuple(map(str, TARGETS))


def script(name: str) -> ModuleType:
    """A study, without running it."""
    spec = importlib.util.spec_from_file_location(f"paper_{name}", BENCHMARKS / "paper" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def weight(word: str, salt: str) -> float:
    """A weight from -1 to 1 that depends on the word alone."""
    if word in ("he", "she", "him", "her", "his"):
        return 0.3 if word.startswith("h") and word != "her" else -0.3
    return hashlib.sha256(f"{salt}{word}".encode()).digest()[0] / 127.5 - 1


def drawn(salt: str) -> Victim:
    """A linear victim with drawn weights."""

    def predict(rows: Sequence[str]) -> np.ndarray:
        margins = np.array([sum(weight(word, salt) for word in text.split()) for text in rows])
        positive = 1 / (1 + np.exp(-margins))
        return np.stack([1 - positive, positive], axis=1)

    return Victim(f"drawn-{salt}", "drawn weights", predict, lambda: predict)


def subject(salt: str = "a", n: int = 12) -> Subject:
    """Pairs labelled as the victim answers on the original."""
    victim = drawn(salt)
    labels = drawn("a").predict(SENTENCES[:n]).argmax(axis=1)
    rows = [(text, int(label)) for text, label in zip(SENTENCES, labels, strict=False)]
    return Subject(DataSet("sst2", "drawn sentences", ("no", "yes"), cases("sst2", rows)), victim)


def options(tmp_path: Path, *more: str) -> argparse.Namespace:
    return texts.parser("").parse_args(["--out", str(tmp_path), "--cache-dir", str(tmp_path), *more])


def written(study: Study, args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """JSON and page of a study, after checking that its figures are there."""
    assert study.write(args) == 0
    for number in range(len(study.figures)):
        name = study.name if number == 0 else f"{study.name}_{number + 1}"
        assert (args.out / f"{name}.png").stat().st_size > 5_000
    content = json.loads((args.out / f"{study.name}.json").read_text(encoding="utf-8"))
    return content, (args.out / f"{study.name}.md").read_text(encoding="utf-8")


def test_the_order_of_two_models_is_told_for_each_axis(tmp_path: Path) -> None:
    module, args = script("model_order"), options(tmp_path)
    found = module.compared([subject("a"), subject("b")], args, entailment="none")
    (comparison,) = found["sst2"]
    assert comparison.names == ("drawn-a", "drawn-b")
    study = Study("model_order", "Order", "somewhere")
    module.report(study, found)
    content, page = written(study, args)
    assert [c["verdict"] for c in content["comparisons"]][1] == "not testable here"
    rates = module.rates([comparison], "rif")
    ranks = module.ranks(rates)
    best = min(ranks, key=lambda name: ranks[name])
    assert rates[best][0] == max(value[0] for value in rates.values())
    assert f"| {best} |" in page and "robustness-only" in page
    for name in comparison.names:
        clear, total = module.told_apart([comparison], name)
        assert (clear <= total) and total == 3
    assert module.ranks({"x": (0.5, 0, 1), "y": (0.7, 0, 1), "z": (0.5, 0, 1)}) == {"x": 2, "y": 1, "z": 2}


def test_several_seeds_are_averaged_and_their_range_is_given(tmp_path: Path) -> None:
    module = script("model_order")
    args = options(tmp_path)
    many = [
        subject("a", 6),
        Subject(subject("b", 6).data, drawn("b"), 0),
        Subject(subject("b", 6).data, drawn("c"), 1),
    ]
    many[2] = Subject(
        many[2].data, Victim("drawn-b", "", many[2].victim.predict, many[2].victim.host_predict), 1
    )
    comparisons = module.compared(many, args, entailment="none")["sst2"]
    assert len(comparisons) == 2
    mean, low, high = module.rates(comparisons, "accuracy")["drawn-b"]
    assert low <= mean <= high
    assert module.rates(comparisons, "accuracy")["drawn-a"] == (1.0, 1.0, 1.0)


def test_what_pairs_end_as_is_counted_for_each_target(tmp_path: Path) -> None:
    module, args = script("per_target"), options(tmp_path)
    found = module.ends([subject("a")], args, entailment="none")
    by_target = found["sst2", "drawn-a"]
    assert set(by_target) == set(TARGET_NAMES)
    for records in by_target.values():
        rates = module.shares(records)
        assert rates["robust and fair"].successes <= min(rates["robust"].successes, rates["fair"].successes)
        clean = module.shares(records, clean=True)
        value, low, high = module.effect(records)
        assert low <= value <= high
        robust, fair = (rates[kind].successes - clean[kind].successes for kind in ("robust", "fair"))
        assert value == pytest.approx((robust - fair) / len(records))
    study = Study("per_target", "Targets", "somewhere")
    module.report(study, found)
    content, page = written(study, args)
    assert len(content["comparisons"]) == 3
    assert "| sst2 | drawn-a | unedited |" in page


def record(outcome: str, number: int = 0) -> Record:
    fields = {"outcome": outcome, "clean_outcome": "robust_fair"}
    return Record(str(number), f"e{number}", "robust_biased", "failed", "", **fields)


def test_shares_of_known_outcomes() -> None:
    module = script("per_target")
    outcomes = ("robust_fair", "robust_biased", "unrobust_fair", "unrobust_biased", "robust_biased")
    records = [record(outcome, number) for number, outcome in enumerate(outcomes)]
    assert module.shares(records) == {"robust": Rate(3, 5), "fair": Rate(2, 5), "robust and fair": Rate(1, 5)}
    assert module.shares(records, clean=True)["fair"] == Rate(5, 5)
    # Robustness falls from 5 to 3, fairness from 5 to 2.
    assert module.effect(records)[0] == pytest.approx(0.2)


def test_decoupled_finds_at_least_what_coupled_finds(tmp_path: Path) -> None:
    module, args = script("decoupled_coupled"), options(tmp_path)
    one = subject("a", 8)
    parts = {one.name: [module.searched(one, None, {})]}
    found = module.ratios(parts)
    for target in TARGET_NAMES:
        values = found[module.ALL][target]["all"]
        assert values == found[one.name][target]["all"]
        assert values["pairs"] == len(one.data.cases)
    assert found[module.ALL]["robust_biased"]["all"]["decoupled"] > 0
    study = Study("decoupled_coupled", "Both", "somewhere")
    module.report(study, found)
    content, page = written(study, args)
    assert [c["theirs"] for c in content["comparisons"]].count("2.3") == 1
    assert "| all victims | Robust Biased |" in page


def test_the_ratio_adds_the_victims_of_a_pair_up() -> None:
    module = script("decoupled_coupled")
    merged = module.together([{"p": (1, 0), "q": (1, 1)}, {"p": (1, 1)}])
    assert merged == {"p": (2, 1), "q": (1, 1)}
    assert module.ratio(merged)["value"] == 1.5
    assert module.ratio({"p": (1, 0)})["value"] is None
    study = Study("x", "X", "somewhere")
    values = {"value": 2.0, "low": 1.2, "high": 2.2, "decoupled": 4, "coupled": 2, "pairs": 9}
    module._verdicts(study, "robust_biased", values, {**values, "low": 1.0, "high": None})
    assert [c.verdict for c in study.comparisons] == ["same", "same"]
    study.comparisons.clear()
    module._verdicts(study, "unrobust_biased", values, {**values, "high": 2.5})
    module._verdicts(study, "unrobust_biased", {**values, "low": 1.0}, values)
    module._verdicts(study, "unrobust_biased", {**values, "value": 1.0, "low": 1.0}, values)
    assert [c.verdict for c in study.comparisons][::2] == ["same", "not testable here", "different"]
    assert study.comparisons[1].verdict == "different"  # 3.0 lies outside [1.2, 2.5]


def test_trajectories_start_at_the_clean_pair_and_add_up(tmp_path: Path) -> None:
    module, args = script("trajectories"), options(tmp_path)
    one = subject("a", 8)
    found = module.walks(one, None, {})
    assert len(found) == len(one.data.cases) * 2 * 3
    for walk in found:
        case = next(case for case in one.data.cases if case.name == walk.pair)
        p = one.victim.predict([case.pair.original])[0][case.label]
        assert walk.points[0]["p_original"] == pytest.approx(p)
        assert len(walk.pii["original"]) == len(walk.points) - 1
    induced = [walk for walk in found if walk.status == "induced"]
    assert induced
    study = Study("trajectories", "Walks", "somewhere")
    module.report(study, found)
    content, page = written(study, args)
    assert [c["claim"] for c in content["comparisons"]]
    assert "| coupled: the same edits | TB (robust_biased) |" in page
    same = [walk for walk in induced if (walk.mode, walk.target) == ("shared", "robust_biased")]
    shown = module.pick(same)
    assert len(same) > 1 and shown is not None and shown is module.pick(same[::-1])
    assert module.pick([]) is None


def test_same_direction_and_size_are_counted_over_steps() -> None:
    module = script("trajectories")

    def walk(name: str, *points: tuple[float, float]) -> Any:
        rows = [{"p_original": a, "p_similar": b} for a, b in points]
        return module.Walk(name, "sst2, x", "coupled", "robust_biased", "induced", rows, {}, {}, ("", ""))

    estimates = module.measured(
        [walk("a", (0.9, 0.9), (0.7, 0.6), (0.6, 0.65)), walk("b", (0.5, 0.5), (0.4, 0.4))]
    )
    assert estimates["same direction"].value == pytest.approx(2 / 3)
    assert estimates["sizes differ"].value == pytest.approx(1 / 2)
    assert estimates["larger ÷ smaller"].value == pytest.approx(0.4 / 0.3)


class Judge:
    """Scores a text by its length against the other's."""

    name, version = "judge", "1"

    def __init__(self, values: dict[str, float]) -> None:
        self.values = values

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        rows = [self.values.get(second, 1.0) for _, second in pairs]
        return np.array([[p, 1 - p, 0.0] for p in rows])


def test_edited_sides_of_found_pairs_are_judged_once() -> None:
    module = script("filters")
    fields = {
        "original": "a film",
        "similar": "the film",
        "perturbed_original": "a movie",
        "perturbed_similar": "the film",
        "edits": [{"side": "original", "start": 2, "end": 6, "from": "film", "to": "movie"}],
        "equivalence": {"original": {"score": 0.9}},
    }
    rows = [
        Record(str(i), "e", target, status, "", **fields)
        for i, (target, status) in enumerate((("robust_biased", "induced"), ("unrobust_fair", "induced")))
    ]
    rows.append(Record("3", "f", "robust_biased", "failed", "", **{**fields, "original": "no film"}))
    found = module.judged("x", rows, Judge({"a movie": 0.5}), Judge({"a movie": 0.25}))
    assert (found.pairs, found.own.tolist()) == (1, [0.9])
    assert (found.entailment.tolist(), found.second.tolist()) == ([0.5], [0.25])


def scored(right: bool) -> Scores:
    edits = [EditPair("a", "b", ("a", "b"), "synonyms", i % 2 == 0 if right else None) for i in range(40)]
    line = np.linspace(0, 1, 40)
    none = np.zeros(40, dtype=bool)
    return Scores(edits, line, none, line[::-1].copy(), 0.8 * line, line > 0.5)


def test_filters_are_compared_at_matched_counts(tmp_path: Path) -> None:
    module, args = script("filters"), options(tmp_path)
    study = Study("filters", "Filters", "somewhere")
    searches = [module.Found("entailment with veto", 3, np.full(3, 0.9), np.full(3, 0.9), np.full(3, 0.4))]
    module.report(study, scored(True), scored(False), searches)
    content, page = written(study, args)
    verdicts = [c["verdict"] for c in content["comparisons"]]
    assert verdicts == ["same", "different", "not testable here"]
    # The nearest edits by cosine are here the worst ones: 8 pass either filter.
    assert "8 and 8 candidates" in content["comparisons"][0]["why"]
    assert "needs a language model" in page
    value, low, high = module.difference(np.ones(5), np.zeros(5))
    assert (value, low, high) == (1.0, 1.0, 1.0)
    assert np.isnan(module.difference(np.ones(0), np.ones(3))[0])


def test_retraining_shows_before_control_and_after(tmp_path: Path) -> None:
    module, args = script("text_retraining"), options(tmp_path)
    one = subject("a", 16)

    def fit(rows: list[str], labels: list[int]) -> Any:
        return drawn("a" if len(rows) <= 8 else "b").predict

    train = module.example_set([(f"{text} again", 1) for text in SENTENCES[:8]], ("no", "yes"), "drawn")
    audited = texts.examples_of(one.data.cases, one.data)
    course = module.Course("sst2", "toy", "none", train, audited, FunctionFitter("toy", fit, ("no", "yes")))
    result = module.taught(course, RetrainPlan(seeds=1))
    study = Study("text_retraining", "Retraining", "somewhere")
    module.report(study, {course.name: result})
    content, page = written(study, args)
    assert content["comparisons"][0]["claim"].endswith("here on sst2")
    assert "| robust biased, found rate |" in page and "| clean accuracy |" in page
    control = [change for change in result.over_control if change.name == "robust_biased.found_rate"]
    before = [change for change in result.changes if change.name == "robust_biased.found_rate"]
    assert control[0].before == before[0].before  # the control is trained on the same 8 rows


@pytest.fixture
def sst2_folder(tmp_path: Path) -> Path:
    """Drawn sentences as the files of SST-2."""
    folder = tmp_path / "sst2"
    folder.mkdir()
    for split, more in (("train", " again"), ("dev", ""), ("test", " today")):
        lines = (f"{text}{more}\t{number % 2}\n" for number, text in enumerate(SENTENCES))
        (folder / f"{split}.tsv").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def test_every_victim_is_retrained_at_full_size(
    sst2_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = script("text_retraining")
    monkeypatch.setattr(texts, "find_spec", lambda name: None)
    args = options(tmp_path, "--data-dir", str(sst2_folder), "--glove", str(tmp_path), "--full")
    study = Study("text_retraining", "Retraining", "somewhere")
    found = module.courses(args, study)
    assert [(one.victim_name, one.entailment) for one in found] == [
        ("tfidf", "none"),
        ("tfidf", "embedded"),
        *((name, "embedded") for name in ("cnn", "bilstm", "transformer")),
    ]
    assert [one.fitter.name for one in found[2:]] == ["cnn", "bilstm", "transformer"]
    assert any(limit.startswith("sst2, minilm: not retrained, ") for limit in study.limits)
    assert module.FULL in study.limits
    args.glove = None
    study.limits.clear()
    assert [one.victim_name for one in module.courses(args, study)][2:] == ["transformer"]
    assert "sst2, bilstm: not retrained, there is nothing to train it with (name --glove)." in study.limits
    args.full = False
    assert [one.victim_name for one in module.courses(args, study)] == ["tfidf", "tfidf"]
    assert module.SMALL in study.limits and study.sizes[0] == f"{2 * len(SENTENCES)} sst2 examples"


def test_minilm_goes_on_from_its_fine_tuned_weights(
    sst2_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rif_plugins.victims import hugging_face

    module, study = script("text_retraining"), Study("text_retraining", "Retraining", "somewhere")
    (tmp_path / "sst2_minilm").mkdir()
    loaded: list[Any] = []
    monkeypatch.setattr(module.victims, "load", lambda *given: loaded.append(given[:2]))
    monkeypatch.setattr(hugging_face, "load_hugging_face", lambda folder, **more: (folder, more["labels"]))
    args = options(tmp_path, "--data-dir", str(sst2_folder), "--full")
    course = module.courses(args, study)[-1]
    names = ("negative", "positive")
    assert loaded == [("minilm", "sst2")]
    assert course.victim == (str(tmp_path / "sst2_minilm"), names)
    assert (course.fitter.model, course.fitter.label_names) == course.victim
    assert (course.fitter.epochs, course.fitter.max_length, course.entailment) == (1, 64, "embedded")


def test_the_filters_say_what_full_size_does_not_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = script("filters")
    rates = {"value": 0.5}
    facts = {"rows": 3, "snli_dev": rates, "breaking_nli_held_out": rates}
    monkeypatch.setattr(module, "scorers", lambda args: ({}, facts))
    monkeypatch.setattr(module, "_spread", lambda pairs, number: [])
    monkeypatch.setattr(module.samples, "breaking_nli", lambda folder: [])
    monkeypatch.setattr(module.samples, "review_sentences", lambda folder: [])
    monkeypatch.setattr(module.samples, "proposed_edits", lambda sentences, number: [])
    monkeypatch.setattr(module.scores, "scored", lambda edits, **more: None)
    monkeypatch.setattr(module.scores, "matched_limit", lambda proposed: 0.5)
    monkeypatch.setattr(module, "_searches", lambda *given: [])
    monkeypatch.setattr(module, "report", lambda study, *given: study.table("T", ["a"], [[1]]))
    monkeypatch.setattr(sys, "argv", ["filters.py", "--full", "--hub", "--out", str(tmp_path)])
    assert module.main() == 0
    page = (tmp_path / "filters.md").read_text(encoding="utf-8")
    assert "neither other victims nor more seeds" in page
    assert "Full size: 1 seed; see Limits of filters." in page
    assert "* --hub: this study has no hub part" in page


def test_a_claim_on_every_rate_needs_every_rate() -> None:
    module = script("text_retraining")

    def change(difference: float, low: float, high: float) -> Any:
        from rif_plugins.metrics.before_after import Change

        return Change("robust_biased.found_rate", 0.5, 0.4, (0.4,), difference, low, high, 9, 9)

    down, unclear, up = change(-0.2, -0.3, -0.1), change(-0.1, -0.3, 0.1), change(0.1, -0.1, 0.2)
    assert module._judged([down, down])[0] == "same"
    assert module._judged([down, unclear])[0] == "not testable here"
    assert module._judged([down, up])[0] == "different"
    assert module._judged([])[0] == "not testable here"


def test_audits_are_shared_between_the_studies_of_one_run(tmp_path: Path) -> None:
    args = options(tmp_path, "--runs", str(tmp_path / "runs"))
    one = subject("a", 4)
    first = texts.audited(one, args, entailment="none")

    def refuse(rows: Sequence[str]) -> np.ndarray:
        raise AssertionError("the victim is asked again")

    again = texts.audited(
        Subject(one.data, Victim("drawn-a", "", refuse, lambda: refuse)), args, entailment="none"
    )
    assert [record.to_dict() for record in again.records] == [record.to_dict() for record in first.records]


def test_answers_are_kept_between_the_studies_of_one_run(tmp_path: Path) -> None:
    args = options(tmp_path, "--runs", str(tmp_path / "runs"))
    known = KnownAnswers(args)
    known["a", "b"] = np.array([0.25, 0.5, 0.25])
    known.keep()
    assert KnownAnswers(args)["a", "b"].tolist() == [0.25, 0.5, 0.25]
    alone = KnownAnswers(options(tmp_path))
    alone["a", "b"] = np.zeros(3)
    alone.keep()
    assert not KnownAnswers(options(tmp_path))


def test_without_data_a_study_says_so(tmp_path: Path) -> None:
    args = options(tmp_path)
    args.data_dir = None
    with pytest.raises(NotRunError, match=r"data absent \(name --data-dir or --bold\)"):
        texts.subjects(args, Study("x", "X", "somewhere"))
    for name in (
        "model_order",
        "per_target",
        "decoupled_coupled",
        "trajectories",
        "text_retraining",
        "filters",
    ):
        module = script(name)
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("RIF_DATA_DIR", raising=False)
            patch.setattr(sys, "argv", [f"{name}.py", "--out", str(tmp_path)])
            assert module.main() == 0
        page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        assert "* not run: data absent" in page


def test_the_stand_in_is_named_where_bold_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "fair"
    folder.mkdir()
    groups = {"film_occupations": {"x": ["He makes films."]}, "nursing": {"y": ["She is a nurse."]}}
    (folder / "profession_wiki.json").write_text(json.dumps(groups), encoding="utf-8")
    args = options(tmp_path, "--bold", str(folder))
    args.data_dir = None
    study = Study("x", "X", "somewhere")
    (data,) = texts.data_sets(args, study)
    assert data.name == "bold"
    assert texts.STAND_IN in study.limits and "Bias in Bios" in texts.STAND_IN
    assert "sst2: not run: data absent (name --data-dir)." in study.limits


def test_cells_of_tables() -> None:
    assert charts.share(0.5, 0.25, 0.75) == "50.0% [25.0%, 75.0%]"
    assert charts.share(None, None, None) == "no pairs"
    assert charts.percent(None) == "–"
