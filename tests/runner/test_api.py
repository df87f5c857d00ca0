from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.runner_world import KeywordVictim, found, write_candidates, write_data, write_victim

from rif_plugins import audit
from rif_plugins.core.run_result import RESULTS_FILE, RunResult
from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example, ExampleSet, Naming
from rif_plugins.victims.base import Victim

ROWS = [("He cooked a good meal.", 1), ("She had a fine meal.", 1), ("The film was good.", 1)]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., RunResult]:
    """``audit`` with a table of words, without filter and cache."""
    options = {"proposer": f"table:{write_candidates(tmp_path)}", "entailment": "none", "cache": "off"}
    return lambda model, data, **more: audit(model, data, **{**options, **more})


def texts(result: RunResult) -> list[str]:
    return list(dict.fromkeys(record.original for record in result.records))


def test_a_function_and_tuples(run: Callable[..., RunResult], tmp_path: Path) -> None:
    result = run(KeywordVictim(), ROWS, out=tmp_path / "out")
    assert texts(result) == [text for text, _ in ROWS]
    assert {record.status for record in result.records} >= {"induced", "skipped"}
    assert result.configuration["model"] == "KeywordVictim"
    assert result.configuration["data"] == "given"
    assert RunResult.load(tmp_path / "out").records == result.records


@pytest.mark.parametrize(
    "model",
    [
        lambda rows: KeywordVictim()(rows),
        lambda rows: KeywordVictim()(rows).tolist(),
        lambda rows: KeywordVictim()(rows)[:, 1],
        lambda rows: np.log(KeywordVictim()(rows)[:, 1:] / KeywordVictim()(rows)[:, :1]),
        Victim("k", KeywordVictim()),
    ],
    ids=["probabilities", "lists", "one column", "one logit", "victim"],
)
def test_models_of_every_form_give_the_same(run: Callable[..., RunResult], model: Any) -> None:
    usual = run(KeywordVictim(), ROWS)
    assert [(r.id, r.status, r.perturbed_similar) for r in run(model, ROWS).records] == [
        (r.id, r.status, r.perturbed_similar) for r in usual.records
    ]


def test_rows_of_every_form_give_the_same(run: Callable[..., RunResult]) -> None:
    usual = list(map(found, run(KeywordVictim(), ROWS).records))
    mappings = [{"text": text, "label": np.int64(label), "other": 1} for text, label in ROWS]
    naming = Naming()
    made = [Example(naming.name(text, label), text, label) for text, label in ROWS]
    for rows in (iter(ROWS), [list(row) for row in ROWS], mappings, made, ExampleSet.of(made, None, "mine")):
        assert list(map(found, run(KeywordVictim(), rows).records)) == usual


def test_ready_pairs(run: Callable[..., RunResult]) -> None:
    rows = [{"text": "Jo cooked a good meal.", "label": 1, "similar": "Bo cooked a good meal."}]
    result = run(KeywordVictim(), rows)
    assert {record.similar for record in result.records} == {"Bo cooked a good meal."}
    result = run(KeywordVictim(), [{"text": "Jo cooked.", "label": 1, "similar": ""}])
    assert [record.status for record in result.records] == ["skipped"]


def test_predicted_labels(run: Callable[..., RunResult]) -> None:
    wrong = [(text, 0) for text, _ in ROWS]
    result = run(KeywordVictim(), wrong, labels="predicted")
    assert result.configuration["labels"] == "predicted"
    assert result.records[0].label == 1
    missing = [{"text": text} for text, _ in ROWS]
    assert list(map(found, run(KeywordVictim(), missing, labels="predicted").records)) == list(
        map(found, result.records)
    )
    examples = [Example(str(i), text, 0) for i, (text, _) in enumerate(ROWS)]
    assert run(KeywordVictim(), examples, labels="predicted").records[0].label == 1


def test_limit_and_offset_choose_among_given_rows(run: Callable[..., RunResult]) -> None:
    assert texts(run(KeywordVictim(), ROWS, limit=2)) == [text for text, _ in ROWS[:2]]
    assert texts(run(KeywordVictim(), ROWS, offset=1)) == [text for text, _ in ROWS[1:]]
    assert texts(run(KeywordVictim(), ROWS, offset=1, limit=1)) == [ROWS[1][0]]


def test_paths(run: Callable[..., RunResult], tmp_path: Path) -> None:
    model, data = write_victim(tmp_path), write_data(tmp_path, ROWS)
    usual = [record.status for record in run(KeywordVictim(), ROWS).records]
    assert [record.status for record in run(str(model), data).records] == usual
    assert [record.status for record in run(str(model), str(data)).records] == usual


def test_resuming(run: Callable[..., RunResult], tmp_path: Path) -> None:
    model, data = str(write_victim(tmp_path)), write_data(tmp_path, ROWS)
    usual = run(model, data, out=tmp_path / "out")
    with pytest.raises(UsageError, match="holds an earlier run"):
        run(model, data, out=tmp_path / "out")
    again = run(model, data, out=tmp_path / "out", resume=True)
    assert again.records == usual.records
    assert (tmp_path / "out" / RESULTS_FILE).exists()


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ([], {}, "data holds no example: expected one or more"),
        (ROWS, {"offset": 3}, "data holds no example"),
        (7, {}, "data is int: expected rows of"),
        ({"text": "He ran.", "label": 1}, {}, r"data row 1: expected \(text, label\) .*, got str"),
        ([ROWS[0], "He ran."], {}, r"data row 2: expected \(text, label\) or a mapping .*, got str"),
        (["a1"], {}, r"data row 1: expected \(text, label\) .*, got str"),
        ([("He ran.",)], {}, "data row 1: expected .*, got tuple"),
        ([("He ran.", 1, 2)], {}, "data row 1: expected .*, got tuple"),
        ([{"label": 1}], {}, "data row 1: expected .*, got dict"),
        ([(b"He ran.", 1)], {}, "data row 1: expected text to be a string, got bytes"),
        (
            [{"text": "x", "label": 1, "similar": 3}],
            {},
            "data row 1: expected similar to be a string, got int",
        ),
        ([ROWS[0], ("He ran.", None)], {}, "data row 2 has no label: .* labels='predicted'"),
        ([{"text": "He ran."}], {}, "data row 1 has no label"),
        ([("He ran.", 0.5)], {}, "data row 1: expected the number of a class as label, got 0.5"),
        ([("He ran.", "pos")], {}, "data row 1: expected the number of a class as label, got 'pos'"),
        ([("He ran.", True)], {}, "data row 1: expected the number of a class as label, got True"),
        ([("He ran.", 5)], {}, "has label 5, expected 0 to 1"),
        (ROWS, {"limit": 0}, "limit must be a whole number from 1, got 0"),
        (ROWS, {"offset": -1}, "offset must be a whole number from 0, got -1"),
        (ROWS, {"limit": "3"}, "limit must be a whole number from 1, got '3'"),
        (ROWS, {"workers": 0}, "workers must be a whole number from 1, got 0"),
        (ROWS, {"resume": True, "out": None}, "resume=True needs the folder of the earlier run"),
        (ROWS, {"labels": "mine"}, "labels must be given or predicted, got 'mine'"),
        (ROWS, {"text_column": "text"}, "text_column goes with data in files, got given examples"),
        (ROWS, {"depth": 3}, "audit has no option 'depth': expected some of batch_size"),
        (ROWS, {"beam": 0}, "setting `beam`: expected a whole number from 1, got 0"),
        (ROWS, {"targets": "TB"}, "--targets: expected all or some of"),
        (ROWS, {"workers": 2}, "workers=2 needs model and data as text"),
        (ROWS, {"positions": "coupled"}, "the sweep searches each text alone"),
    ],
)
def test_mistakes(run: Callable[..., RunResult], data: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(KeywordVictim(), data, **options)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (7, "model is int: expected a name, a Victim, or a callable"),
        (lambda rows: None, "cannot be audited"),
        (lambda rows: [[0.5, 0.5]], "cannot be audited"),
        (lambda rows: 1 / 0, "cannot be audited: .*ZeroDivisionError"),
    ],
)
def test_models_that_are_none(run: Callable[..., RunResult], model: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(model, ROWS)


_SCRIPT = """
import json, sys
from rif_plugins import audit
import rif_plugins.runner

def model(texts):
    return [[0.3, 0.7] if "good" in text else [0.8, 0.2] for text in texts]

found = {}
for entailment in ("none", "embedded"):
    run = audit(model, [("He cooked a good meal.", 1)], entailment=entailment, cache="off")
    found[entailment] = len(run.records)
run = audit(sys.argv[1], sys.argv[2], entailment="none", cache="off", limit=2)
found["file"] = len(run.records)
found["heavy"] = [
    name for name in ("textattack", "torch", "art", "transformers", "datasets", "sklearn", "pandas")
    if name in sys.modules
]
print(json.dumps(found))
"""


def test_no_host_and_no_heavy_package_is_loaded(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    model, data = write_victim(tmp_path), write_data(tmp_path, ROWS)
    done = run_python("-c", _SCRIPT, str(model), str(data))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["heavy"] == []
    assert min(answer["none"], answer["embedded"], answer["file"]) >= 5
