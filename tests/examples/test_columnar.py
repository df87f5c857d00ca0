from __future__ import annotations

from pathlib import Path

import pytest

from rif_plugins.errors import DataError
from rif_plugins.examples.columnar import ParquetTable
from rif_plugins.examples.loading import load_examples

pyarrow = pytest.importorskip("pyarrow")
datasets = pytest.importorskip("datasets")
from pyarrow import parquet  # noqa: E402

TEXTS = ["he is good", "she is bad", "it is so-so"]


def write(path: Path, columns: dict[str, object]) -> Path:
    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_parquet_reads_only_the_columns_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "d.parquet", {"text": TEXTS, "more": [b"\xff"] * 3, "label": [0, 1, 2]})
    table = ParquetTable(path)
    assert table.columns == ("text", "more", "label")
    assert [tuple(row) for _, row in table.rows(("label", "text"), 1)] == [
        (1, "she is bad"),
        (2, "it is so-so"),
    ]
    assert [where for where, _ in table.rows(("text",), 2)] == ["d.parquet row 3"]


def test_parquet_labels_with_gaps_are_floats_with_nan(tmp_path: Path) -> None:
    path = write(tmp_path / "d.parquet", {"text": TEXTS, "label": pyarrow.array([1.0, None, 0.0])})
    assert load_examples(path, limit=1).examples[0].label == 1
    with pytest.raises(DataError, match=r"d\.parquet row 2: the label is empty"):
        load_examples(path)


def test_parquet_categories_and_booleans(tmp_path: Path) -> None:
    labels = pyarrow.array(["pos", "neg", "pos"]).dictionary_encode()
    path = write(tmp_path / "d.parquet", {"text": TEXTS, "label": labels})
    assert [e.label for e in load_examples(path, label_names=("neg", "pos")).examples] == [1, 0, 1]
    path = write(tmp_path / "b.parquet", {"text": TEXTS, "label": [True, False, True]})
    assert [e.label for e in load_examples(path).examples] == [1, 0, 1]


def test_broken_parquet_files(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    path.write_bytes(b"PAR1 is not enough")
    with pytest.raises(DataError, match=r"cannot read 'd\.parquet' as Parquet"):
        ParquetTable(path)
    whole = write(path, {"text": ["x" * 5000], "label": [0]}).read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 60 + whole[64:])
    with pytest.raises(DataError, match=r"d\.parquet row 1: damaged") as caught:
        load_examples(path)
    assert "\n" not in str(caught.value)
    twice = pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], names=["text", "text"])
    parquet.write_table(twice, path)
    with pytest.raises(DataError, match=r"d\.parquet: two columns are called 'text'"):
        ParquetTable(path)


def test_parquet_text_that_is_no_utf8_names_its_row(tmp_path: Path) -> None:
    raw = pyarrow.array([b"fine", b"\xff\xfe"], pyarrow.binary())
    text = pyarrow.StringArray.from_buffers(2, raw.buffers()[1], raw.buffers()[2])
    path = write(tmp_path / "d.parquet", {"text": text, "label": [0, 1]})
    with pytest.raises(DataError, match=r"d\.parquet row 2: damaged \(.*utf-8"):
        load_examples(path)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    features = datasets.Features(
        {"sentence": datasets.Value("string"), "label": datasets.ClassLabel(names=["Positive", "Negative"])}
    )
    part = datasets.Dataset.from_dict({"sentence": TEXTS, "label": [0, 1, 1]}, features=features)
    part.save_to_disk(str(tmp_path / "one"))
    datasets.DatasetDict({"train": part, "test": part.select([2])}).save_to_disk(str(tmp_path / "two"))
    return tmp_path


def test_a_saved_data_set(saved: Path) -> None:
    found = load_examples(saved / "one", label_names=("negative", "positive"))
    assert [e.label for e in found.examples] == [1, 0, 0]  # the names decide, not the numbers
    assert (found.source, found.label_names) == ("one", ("negative", "positive"))
    assert load_examples(saved / "one").label_names == ("Positive", "Negative")
    assert [e.text for e in load_examples(saved / "one", offset=1, limit=1).examples] == ["she is bad"]
    with pytest.raises(DataError, match=r"one has no rows after the first 3"):
        load_examples(saved / "one", offset=3)


def test_splits(saved: Path) -> None:
    found = load_examples(saved / "two", split="test")
    assert ([e.text for e in found.examples], found.source) == (["it is so-so"], "two test")
    with pytest.raises(DataError, match=r"two needs --split: expected one of 'train', 'test'"):
        load_examples(saved / "two")
    with pytest.raises(DataError, match=r"two has no split 'dev': expected one of 'train', 'test'"):
        load_examples(saved / "two", split="dev")
    with pytest.raises(
        DataError, match=r"one is one split \(without a name\), got --split test: leave it out"
    ):
        load_examples(saved / "one", split="test")


@pytest.mark.parametrize("is_offline", [False, True])
@pytest.mark.parametrize("limit", [None, 2])
def test_the_hub_is_streamed_with_a_limit(
    saved: Path, limit: int | None, is_offline: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def load_dataset(name: str, configuration: str | None, *, streaming: bool) -> object:
        asked.append((name, configuration, streaming))
        found = datasets.load_from_disk(str(saved / "two"))
        if streaming:
            return datasets.IterableDatasetDict({k: part.to_iterable_dataset() for k, part in found.items()})
        return found

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", is_offline)
    found = load_examples("glue:sst2", split="train", limit=limit, offset=1)
    assert [(e.text, e.label) for e in found.examples] == [("she is bad", 1), ("it is so-so", 1)]
    assert (found.source, found.label_names) == ("glue:sst2 train", ("Positive", "Negative"))
    assert asked == [("glue", "sst2", limit is not None and not is_offline)]


@pytest.mark.parametrize("limit", [None, 2])
def test_a_folder_of_files(tmp_path: Path, limit: int | None) -> None:
    (tmp_path / "files").mkdir()
    write(tmp_path / "files" / "train.parquet", {"text": TEXTS, "label": [0, 1, 0]})
    found = load_examples(tmp_path / "files", limit=limit, offset=1)
    assert [e.text for e in found.examples] == TEXTS[1:]


def test_names_that_nobody_has() -> None:
    with pytest.raises(
        DataError, match=r"cannot load the data set 'nobody/nothing:x' \(.*\): expected a CSV"
    ):
        load_examples("nobody/nothing:x", limit=1)
