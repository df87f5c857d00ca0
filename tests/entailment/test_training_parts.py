"""The parts of the training and benchmark scripts that need no data, and the scripts where data is absent."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True, scope="module")
def _benchmarks_importable() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield
        for name in [name for name in sys.modules if name.partition(".")[0] == "entailment_lab"]:
            del sys.modules[name]


@pytest.mark.parametrize(
    ("premise", "hypothesis", "words"),
    [
        ("A man drinks beer.", "A man drinks wine.", ("beer", "wine")),
        ("An old man runs.", "A young man runs.", ("old", "young")),
        ("She is near the car.", "She is far away from the car.", ("near", "far away from")),
        ("beer and beer", "wine and wine", ("beer", "wine")),
        ("It is an apple.", "It is a plum.", ("apple", "plum")),
        ("same", "same", ("same", "")),
    ],
)
def test_changed_words(premise, hypothesis, words):
    from entailment_lab.nli_sets import changed_words

    if premise == hypothesis:
        assert changed_words(premise, hypothesis) == ("", "")
    else:
        assert changed_words(premise, hypothesis) == words


def write_breaking_nli(folder: Path) -> None:
    nli = folder / "nli"
    nli.mkdir()
    words = (
        "red",
        "green",
        "blue",
        "black",
        "white",
        "yellow",
        "pink",
        "brown",
        "grey",
        "orange",
        "plum",
        "gold",
    )
    rows = [
        {
            "sentence1": f"A {a} car in {place}.",
            "sentence2": f"A {b} car in {place}.",
            "gold_label": "contradiction",
            "category": "colors",
        }
        for a in words
        for b in words
        for place in ("town", "May")
        if a != b
    ]
    lines = [json.dumps(row) for row in rows]
    (nli / "breaking_nli.jsonl").write_text("\n".join(lines), encoding="utf-8")
    cad = "sentence1\tsentence2\tgold_label\nA red car in town .\tA car.\tentailment\n"
    (nli / "cad_train.tsv").write_text(cad, encoding="utf-8")


def test_breaking_nli_is_split_by_unordered_word_pair(tmp_path):
    from entailment_lab.nli_sets import changed_words, split_breaking_nli

    write_breaking_nli(tmp_path)
    development, held_out, dropped = split_breaking_nli(tmp_path)
    halves = [
        {frozenset(changed_words(r.premise, r.hypothesis)) for r in half} for half in (development, held_out)
    ]
    assert not halves[0] & halves[1]
    assert len(halves[0] | halves[1]) == 66
    assert min(len(half) for half in halves) > 15
    # The premise that CAD train shares is gone, with its 11 rows.
    assert dropped == 1
    assert len(development) + len(held_out) == 2 * 132 - 11
    assert not any(r.premise == "A red car in town." for r in development + held_out)


@pytest.mark.parametrize(
    ("successes", "total", "interval"),
    [(0, 0, (0.0, 1.0)), (5, 10, (0.2366, 0.7634)), (10, 10, (0.7225, 1.0)), (0, 10, (0.0, 0.2775))],
)
def test_wilson_interval(successes, total, interval):
    from entailment_lab.measures import wilson

    assert wilson(successes, total) == pytest.approx(interval, abs=1e-4)


def test_precision_and_recall_count_vetoed_pairs_as_refused():
    from entailment_lab.measures import FilterScores, precision_recall

    scores = FilterScores(
        equivalence=np.array([0.9, 0.95, 0.85, 0.99, 0.1, 0.8]),
        vetoed={"lexicon": np.array([False, False, True, True, False, False])},
        positive=np.array([True, True, True, False, True, False]),
        rows=(),
    )
    plain, vetoed = (precision_recall(scores, 0.8, veto) for veto in (None, "lexicon"))
    assert (plain["precision"]["value"], plain["recall"]["value"]) == (0.6, 0.75)
    assert (vetoed["precision"]["value"], vetoed["recall"]["value"]) == (0.6667, 0.5)


def test_numerals_are_labelled_by_their_value():
    from entailment_lab.closed_class import numeral_rows

    texts = ["Two men run in the park.", "the second car stops", "The three girls sing in the hall."]
    rows = numeral_rows(texts, Random(0), 200)
    assert {row.label for row in rows} == {0, 2}
    same = [row for row in rows if row.label == 0]
    assert all(row.premise != row.hypothesis for row in rows)
    # Equal numbers differ in their spelling: digits on one side only.
    assert same
    assert all(any(map(str.isdigit, r.premise)) != any(map(str.isdigit, r.hypothesis)) for r in same)


def test_generated_rows_depend_on_the_seed_only():
    from entailment_lab.closed_class import function_word_rows, same_rows

    texts = ["A man is inside the house.", "Nobody is on the roof.", "The kids do not play outside."]
    for make in (function_word_rows, same_rows):
        assert make(texts, Random(3), 30) == make(texts, Random(3), 30)
        assert make(texts, Random(3), 30) != make(texts, Random(4), 30)


def test_int8_weights_stay_within_half_a_step():
    onnx_export = pytest.importorskip("onnx") and __import__(
        "entailment_lab.onnx_export", fromlist=["quantise"]
    )
    weight = np.random.default_rng(0).normal(size=(5, 40)).astype(np.float32)
    weight[2] = 0.0
    integers, scale = onnx_export.quantise(weight)
    assert integers.dtype == np.int8 and scale.shape == (5,)
    assert (np.abs(integers * scale[:, None] - weight) <= scale[:, None] * 0.5001).all()


def test_an_exported_model_answers_like_its_float_weights(tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    transformers = pytest.importorskip("transformers")
    import torch
    from entailment_lab.onnx_export import export, float_weights

    config = transformers.BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=32,
        num_labels=3,
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = transformers.BertForSequenceClassification(config).eval()
    path = export(model, tmp_path, temperature=2.0, metadata={"version": "tiny-1"})
    state = {name: torch.from_numpy(array) for name, array in float_weights(path).items()}
    model.load_state_dict(state, strict=True)
    options = runtime.SessionOptions()
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    assert session.get_modelmeta().custom_metadata_map["version"] == "tiny-1"
    rng = np.random.default_rng(2)
    batch = {"input_ids": rng.integers(1, 50, (3, 7)), "token_type_ids": rng.integers(0, 2, (3, 7))}
    batch["attention_mask"] = (np.arange(7) < np.array([[7], [4], [1]])).astype(np.int64)
    (logits,) = session.run(["logits"], batch)
    with torch.no_grad():
        expected = model(**{name: torch.from_numpy(array) for name, array in batch.items()}).logits.numpy()
    # The temperature is part of the exported classifier, so the way back holds it too.
    np.testing.assert_allclose(logits, expected, atol=1e-5)


def test_batches_hold_every_row_once_and_similar_lengths():
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from entailment_lab.training import bucketed

    lengths = [int(n) for n in np.random.default_rng(0).integers(5, 60, 1000)]
    batches = bucketed(lengths, 8, np.random.default_rng(1), shard=32)
    assert sorted(i for batch in batches for i in batch) == list(range(1000))
    spread = np.mean([max(lengths[i] for i in b) - min(lengths[i] for i in b) for b in batches])
    assert spread < 5


def test_long_lists_are_reported_as_tables():
    from entailment_lab.figures import markdown
    from entailment_lab.measures import proportion

    half = proportion(5, 10)
    step = {"min_equivalence": 0.8, "precision": proportion(0, 0), "recall": half}
    part = {"at_0.8": step, "curve": [step]}
    figures = {
        **dict.fromkeys(("snli_test", "cad_test", "monli_test"), half),
        "breaking_nli_held_out": {
            "three_way": {"all": half, "colors": half},
            "filters": {"alone": part, "with veto": part},
        },
    }
    table = markdown(figures)
    assert "| SNLI test, three-way | 0.500 | 0.237 to 0.763 | ≥ 0.79 |" in table
    assert "| 0.8 | none accepted, 0.500 | none accepted, 0.500 |" in table
    assert "| colors | 0.500 | 10 |" in table


@pytest.mark.parametrize("script", ["train_entailment.py", "entailment.py"])
def test_scripts_say_when_data_is_absent(run_python, script, tmp_path):
    done: SimpleNamespace = run_python(str(BENCHMARKS / script), "--data-dir", str(tmp_path))
    assert (done.returncode, done.stdout) == (
        0,
        "not run: data absent (give --data-dir or set RIF_DATA_DIR)\n",
    )
