"""Models and data of a hub, with local folders in the place of their names."""

from __future__ import annotations

import argparse
import csv
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
for folder in (BENCHMARKS, BENCHMARKS / "sst2_victims"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

from paper_lab import hub, texts  # noqa: E402
from paper_lab.study import Study  # noqa: E402
from paper_lab.texts import NotRunError  # noqa: E402

# The reader of CSV files in `datasets` leaves them for the garbage collector to close.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

WORDS = ("good", "bad", "film", "he", "she", "saw", "a", "story", "made", "fine", "poor")
ROWS = [
    (f"{who} {verb} a {how} {what}", int(how in ("good", "fine")))
    for who in ("he", "she")
    for verb in ("saw", "made")
    for how in ("good", "bad", "fine", "poor")
    for what in ("film", "story")
]


def write(folder: Path, columns: tuple[str, str], **splits: list[tuple[str, int]]) -> Path:
    """A data set as a folder of CSV files, one a split."""
    folder.mkdir()
    for name, rows in splits.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([columns, *rows])
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    columns = ("sentence", "label")
    folder = tmp_path_factory.mktemp("hub") / "reviews"
    return write(folder, columns, train=ROWS, validation=ROWS[::3], test=[(text, -1) for text, _ in ROWS])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT without a head."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny") / "tiny-bert"
    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        config = BertConfig(vocab_size=len(words), max_position_embeddings=32, **sizes)
        BertModel(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def options(tmp_path: Path, *more: str) -> argparse.Namespace:
    words = ["--hub", "--out", str(tmp_path), "--cache-dir", str(tmp_path / "cache"), *more]
    return texts.parser("").parse_args(words)


def test_a_data_set_is_read_and_unlabelled_rows_are_dropped(data: Path, tmp_path: Path) -> None:
    args = options(tmp_path, "--hub-data", "sst2", str(data))
    ((key, one),) = hub.named_data(args).items()
    train, test, names = hub.read(key, one, args)
    assert list(zip(*train, strict=True)) == ROWS
    assert list(zip(*test, strict=True)) == ROWS[::3]  # the split `test` has no labels
    assert names == ("class 0", "class 1")


def test_without_a_labelled_test_split_half_of_the_rows_test(tmp_path: Path) -> None:
    folder = write(tmp_path / "toxic", ("comment_text", "toxic"), train=ROWS)
    args = options(tmp_path, "--hub-data", "jigsaw", str(folder))
    train, test, _ = hub.read("jigsaw", hub.named_data(args)["jigsaw"], args)
    assert not set(train[0]) & set(test[0])
    assert len(train[0]) + len(test[0]) == len(ROWS)


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    folder = write(tmp_path / "wrong", ("text", "label"), train=ROWS)
    args = options(tmp_path, "--hub-data", "sst2", str(folder))
    with pytest.raises(NotRunError, match=r"sst2: cannot load wrong \("):
        hub.read("sst2", hub.named_data(args)["sst2"], args)
    with pytest.raises(SystemExit, match="--hub-data imdb: expected one of bias_in_bios, sst2, jigsaw"):
        hub.named_data(options(tmp_path, "--hub-data", "imdb", "x"))


def test_the_publications_names_stand_where_nothing_else_is_said(tmp_path: Path) -> None:
    args = options(tmp_path)
    assert list(hub.named_models(args)) == ["bert", "roberta", "distilbert", "deberta"]
    assert list(hub.named_data(args)) == ["bias_in_bios", "sst2", "jigsaw"]
    assert (hub.MAX_TOKENS, hub.EPOCHS, hub.BATCH_SIZE, hub.RATE) == (128, 3, 32, 2e-5)


def test_without_a_hub_the_study_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not hub.is_reachable()  # tests are offline, and nothing is asked
    monkeypatch.setattr(hub, "is_reachable", lambda: False)
    with pytest.raises(NotRunError, match="no hub"):
        hub.subjects(options(tmp_path), Study("x", "X", "somewhere"))


def study_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"hub_{name}", BENCHMARKS / "paper" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_backbone_is_fine_tuned_kept_and_audited(
    data: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "RATE", 0.02)
    named = ["--hub-data", "sst2", str(data), "--hub-model", "tiny", str(model)]
    args, study = options(tmp_path, *named), Study("x", "X", "somewhere")
    (subject,) = texts.subjects(args, study)
    assert (subject.data.name, subject.victim.name) == ("sst2", "tiny")
    assert subject.victim.description.startswith("tiny-bert, fine-tuned; accuracy ")
    probabilities = subject.victim.predict(["he saw a good film", "she saw a bad film"])
    assert probabilities.sum(axis=1) == pytest.approx([1.0, 1.0])
    kept = hub.folder_of("sst2", "tiny", args, 0)
    assert (kept / "model.safetensors").is_file()
    monkeypatch.setattr(hub, "with_classes", None)  # the second time nothing is trained
    (again,) = texts.subjects(args, study)
    assert (again.victim.predict(["a good film"]) == subject.victim.predict(["a good film"])).all()
    run = texts.audited(subject, args, entailment="none")
    assert run.summary["n_examples"] == len(subject.data.cases)
    (course,) = study_script("text_retraining").courses(args, study)
    assert (course.name, course.fitter.name) == ("sst2, tiny, filter", "tiny")
