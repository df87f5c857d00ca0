"""Retraining: who teaches and who tests, what is kept, and that teaching a shortcut's victims helps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from fakes.retraining_world import rows, table

from rif_plugins import audit
from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example, ExampleSet, Naming
from rif_plugins.runner.fitting import (
    EstimatorFitter,
    FunctionFitter,
    TfidfFitter,
    TrainingRows,
    load_fitter,
)
from rif_plugins.runner.retraining import RetrainPlan, retrain
from rif_plugins.training.holdout import held_out_originals, normalised
from rif_plugins.victims.base import Victim
from rif_plugins.victims.tfidf_fitting import fit_tfidf

NAMES = ("bad", "good")


def example_set(data: Sequence[tuple[str, int]]) -> ExampleSet:
    naming = Naming()
    return ExampleSet.of([Example(naming.name(*row), *row) for row in data], NAMES, "made")


@pytest.fixture(scope="module")
def before() -> Victim:
    texts, labels = zip(*rows(300, seed=1), strict=True)
    model = fit_tfidf(texts, labels, label_names=NAMES)
    return Victim("made", model, "probabilities", NAMES, identity=model)


@pytest.fixture(scope="module")
def run(before: Victim, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    path = tmp_path_factory.mktemp("table") / "candidates.csv"
    path.write_text(table(), encoding="utf-8")
    options = {"entailment": "none", "cache": "off", "sensitive": "gender", "proposer": f"table:{path}"}
    return audit(before, rows(80, seed=2, habit=0.5), label_names=NAMES, **options)


@pytest.fixture(scope="module")
def train() -> ExampleSet:
    return example_set(rows(300, seed=1))


def test_teaching_lowers_what_is_found_on_other_examples(
    run: RunResult, before: Victim, train: ExampleSet, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("retrained")
    result = retrain(run, train, TfidfFitter(NAMES), RetrainPlan(weight=5.0), victim=before, out=out)
    found = {change.name: change for change in result.changes}
    change = found["robust_biased.found_rate"]
    assert change.before is not None and change.difference is not None
    assert change.before > 0.2
    assert change.difference < 0
    assert change.is_clear
    # The control is the model of before, trained again on the same data: it must change nothing.
    control = {change.name: change for change in result.over_control}
    assert control["robust_biased.found_rate"].before == change.before
    assert found["clean_accuracy"].n_before == result.configuration["n_held_out"]
    written = json.loads((out / "retrain.json").read_text(encoding="utf-8"))
    assert written["schema"] == "rif-retrain/1"
    assert written["augmentation"]["n_rows"] == len(result.augmentation)
    lines = [json.loads(line) for line in (out / "augmentation.jsonl").read_text("utf-8").splitlines()]
    assert lines == [row.to_dict() for row in result.augmentation.rows]
    again = RunResult.load(out / "augmented-0")
    assert {r.example for r in again.records} == {
        r.example for r in run.records if normalised(r.original) in held_out_originals(run.records, 0.5)
    }


def test_no_held_out_text_is_trained_on(run: RunResult, before: Victim, train: ExampleSet) -> None:
    seen: list[TrainingRows] = []

    class Spy(TfidfFitter):
        def fit(self, rows: TrainingRows, seed: int, folder: Path | None) -> Victim:
            seen.append(rows)
            return super().fit(rows, seed, folder)

    leaky = example_set([*rows(300, seed=1), *rows(80, seed=2, habit=0.5)])
    plan = RetrainPlan(has_control=False)
    result = retrain(run, leaky, Spy(NAMES), plan, victim=before)
    split = held_out_originals(run.records, plan.held_out, plan.seed)
    tested = [r for r in run.records if normalised(r.original) in split]
    held_out = {
        normalised(text)
        for r in tested
        for text in (r.original, r.similar, r.perturbed_original, r.perturbed_similar)
    }
    assert len(held_out) > len({r.example for r in tested}) > 10
    assert not held_out & {normalised(text) for text in seen[0].texts}
    assert not {row.example for row in result.augmentation.rows} & {r.example for r in tested}
    # The audited rows stand in this training data: those that test were taken out, the others stay.
    assert result.configuration["n_train_left_out"] == len({r.example for r in tested})


def swapped(text: str) -> str:
    return " ".join({"he": "she", "she": "he"}.get(word, word) for word in text.split())


@pytest.mark.parametrize("is_swapped", [False, True])
def test_no_test_text_and_none_similar_to_one_is_taught(
    run: RunResult, before: Victim, train: ExampleSet, is_swapped: bool
) -> None:
    plan = RetrainPlan(has_control=False)
    free = retrain(run, train, TfidfFitter(NAMES), plan, victim=before).augmentation
    chosen = [(row.text, row.label) for row in free.rows[:5]]
    given = [(swapped(text) if is_swapped else text, label) for text, label in chosen]
    result = retrain(run, train, TfidfFitter(NAMES), plan, victim=before, test=example_set(given))
    texts = {row.text for row in result.augmentation.rows}
    assert texts
    assert not texts & {other for text, _ in chosen for other in (text, swapped(text))}
    left_out = result.augmentation.left_out["held out"] - free.left_out.get("held out", 0)
    assert left_out == len(free) - len(texts) >= 5
    assert result.configuration["n_train"] == len(train)


def test_a_test_that_holds_all_that_could_be_taught_is_told(
    run: RunResult, before: Victim, train: ExampleSet
) -> None:
    plan = RetrainPlan(has_control=False)
    free = retrain(run, train, TfidfFitter(NAMES), plan, victim=before).augmentation
    everything = example_set([(row.text, row.label) for row in free.rows])
    with pytest.raises(UsageError, match=r"no finding to learn from \(\d+ rows are of data that test; "):
        retrain(run, train, TfidfFitter(NAMES), plan, victim=before, test=everything)


def test_the_same_again(run: RunResult, before: Victim, train: ExampleSet) -> None:
    plan = RetrainPlan(seeds=2, has_control=False)
    first, second = (retrain(run, train, TfidfFitter(NAMES), plan, victim=before) for _ in range(2))
    assert first.changes == second.changes
    assert first.augmentation == second.augmentation
    # TF-IDF with logistic regression has no chance in it: both seeds give one model.
    assert all(change.spread == 0 for change in first.changes if change.spread is not None)


def test_the_cap_is_a_share_of_the_data(run: RunResult, before: Victim, train: ExampleSet) -> None:
    result = retrain(
        run, train, TfidfFitter(NAMES), RetrainPlan(max_share=0.02, has_control=False), victim=before
    )
    assert len(result.augmentation) == 6


def test_a_model_that_is_gone_leaves_the_accuracy_of_the_pairs(run: RunResult, train: ExampleSet) -> None:
    told: list[str] = []
    result = retrain(run, train, TfidfFitter(NAMES), RetrainPlan(has_control=False), tell=told.append)
    assert any("the run's model cannot be asked" in line for line in told)
    assert {change.name for change in result.changes} >= {"clean_accuracy"}


def test_a_run_without_findings_has_nothing_to_teach(train: ExampleSet) -> None:
    def certain(texts: list[str]) -> np.ndarray:  # type: ignore[type-arg]
        good = np.array([any(word in text for word in ("great", "lovely")) for text in texts])
        return np.stack([1.0 - good, good], axis=1).astype(float)

    data = [(f"he gave a great play {i}", 1) for i in range(20)]
    quiet = audit(
        certain, data, entailment="none", cache="off", sensitive="gender", protect=["great", "lovely"]
    )
    with pytest.raises(UsageError, match="have no finding to learn from: audit more examples"):
        retrain(quiet, train, TfidfFitter(NAMES))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 0}, "--seeds must be a whole number from 1, got 0"),
        ({"held_out": 1.0}, "--held-out must be above 0 and below 1, got 1.0"),
        ({"max_share": 0.0}, "--max-share must be a number above 0, got 0.0"),
        ({"max_share": float("inf")}, "--max-share must be a number above 0, got inf"),
        ({"weight": float("nan")}, "--weight must be a number above 0, got nan"),
        ({"weight": float("inf")}, "--weight must be a number above 0, got inf"),
        ({"seed": -1}, "--seed must be a whole number from 0, got -1"),
    ],
)
def test_plans_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RetrainPlan(**options)  # type: ignore[arg-type]


def test_a_function_gets_what_it_asks_for() -> None:
    calls = []

    def fit(texts: list[str], labels: list[int], seed: int) -> object:
        calls.append((len(texts), labels, seed))
        return lambda some: [[0.4, 0.6]] * len(some)

    victim = FunctionFitter("f.py", fit, NAMES).fit(TrainingRows(("a", "b"), (0, 1), (1.0, 2.0)), 7, None)
    assert calls == [(2, [0, 1], 7)]
    assert victim.predict(["x"]) == [[0.4, 0.6]]


def test_a_function_that_raises_or_returns_nothing() -> None:
    def raises(texts: list[str], labels: list[int]) -> None:
        raise RuntimeError("no\nmemory")

    data = TrainingRows(("a",), (0,), (1.0,))
    with pytest.raises(UsageError, match=r"f\.py: fit raised RuntimeError: no memory: mend the function"):
        FunctionFitter("f.py", raises, NAMES).fit(data, 0, None)
    with pytest.raises(UsageError, match="fit returned a NoneType, expected a callable"):
        FunctionFitter("f.py", lambda texts, labels: None, NAMES).fit(data, 0, None)


def test_a_pipeline_is_cloned_weighted_and_seeded() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(CountVectorizer(), SGDClassifier(loss="log_loss", random_state=99))
    fitter = EstimatorFitter("p.py", pipeline, NAMES)
    # Equal counts of one text under two labels: the weights decide.
    data = TrainingRows(("same", "same", "other"), (0, 1, 0), (1.0, 50.0, 1.0))
    victim = fitter.fit(data, 3, None)
    assert np.asarray(victim.predict(["same"])).argmax() == 1
    assert not hasattr(pipeline[0], "vocabulary_")
    assert victim.identity[-1].random_state == 3
    assert victim.output == "probabilities"


def test_models_that_cannot_be_trained(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a model behind an address cannot be retrained"):
        load_fitter("https://example.org/predict?key=secret", NAMES)
    (tmp_path / "m.py").write_text(
        "def model(texts):\n    return [[0.5, 0.5]] * len(texts)\n", encoding="utf-8"
    )
    with pytest.raises(UsageError, match=r"m\.py has no function `fit\(texts, labels\)`"):
        load_fitter(str(tmp_path / "m.py"), NAMES)
    with pytest.raises(UsageError, match="has two classes, the run has 3"):
        load_fitter("embedded", ("a", "b", "c")).fit(TrainingRows(("a",), (0,), (1.0,)), 0, None)
    with pytest.raises(UsageError, match="has the classes 0 and 1, got training labels \\[0\\]"):
        fit_tfidf(["a a", "a"], [0, 0])
    with pytest.raises(UsageError, match="no word that occurs twice"):
        fit_tfidf(["alpha", "beta"], [0, 1])
