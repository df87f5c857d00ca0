"""Files that would fill the memory are refused: endless lines, huge files, packed bombs, deep nesting."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rif_plugins.cli.report import load_run
from rif_plugins.core.result_files import read_records
from rif_plugins.core.run_result import read_json
from rif_plugins.errors import RIFError
from rif_plugins.examples.labels import read_label_map
from rif_plugins.examples.loading import load_examples
from rif_plugins.metrics.attack_logs import read_attack_results
from rif_plugins.proposers import TableProposer
from rif_plugins.runner.gates import read_baseline
from rif_plugins.runner.tabular_input import TabularOptions, read_table
from rif_plugins.settings import Settings
from rif_plugins.similar import Lexicon
from rif_plugins.tables import TableSchema

Read = Callable[[Path], Any]


def examples(path: Path) -> Any:
    return load_examples(str(path), labels="predicted")


def rows(path: Path) -> Any:
    return read_table(TabularOptions(Path("m.py"), path))


READERS: dict[str, Read] = {
    "lexicon.tsv": Lexicon.load,
    "candidates.jsonl": TableProposer,
    "candidates.csv": TableProposer,
    "candidates.tsv": TableProposer,
    "examples.jsonl": examples,
    "examples.csv": examples,
    "examples.tsv": examples,
    "map.json": read_label_map,
    "map.toml": read_label_map,
    "baseline.txt": read_baseline,
    "rif.toml": Settings.load,
    "schema.toml": TableSchema.from_toml,
    "table.csv": rows,
    "log.csv": lambda path: list(read_attack_results(path)),
    "results.jsonl": lambda path: list(read_records(path)),
    "run.json": read_json,
}


@pytest.mark.parametrize("name", READERS)
def test_a_line_without_an_end_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(80 << 20)  # holes: the disk holds nothing
    with pytest.raises(RIFError, match=r"(larger|more) than|longer than|too (long|large)"):
        READERS[name](path)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("name", [name for name in READERS if name.endswith(("json", "jsonl"))])
def test_json_that_is_nested_too_deeply_is_refused(tmp_path: Path, name: str, opening: str) -> None:
    path = tmp_path / name
    path.write_text(opening * 100_000 + "\n", encoding="utf-8")
    with pytest.raises(RIFError):
        READERS[name](path)


@pytest.mark.parametrize("name", [name for name in READERS if name.endswith("toml")])
def test_toml_that_is_nested_too_deeply_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("a = " + "[" * 100_000 + "\n", encoding="utf-8")
    with pytest.raises(RIFError):
        READERS[name](path)


# The results of a run that was killed end in half a line, which is left out.
@pytest.mark.parametrize("name", [name for name in READERS if name != "results.jsonl"])
def test_packed_files_are_not_unpacked(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"a" * (1 << 20)))
    with pytest.raises(RIFError):
        READERS[name](path)


@pytest.mark.parametrize("name", ["run.json", "summary.json"])
def test_numbers_without_an_end_are_refused(tmp_path: Path, name: str) -> None:
    run = {"schema": "rif-run/1", "settings": {}}
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    (tmp_path / "results.jsonl").write_text("", encoding="utf-8")
    (tmp_path / name).write_text(
        '{"schema": "rif-run/1", "n_examples": ' + "9" * 100_000 + "}", encoding="utf-8"
    )
    with pytest.raises(RIFError, match="broken JSON"):
        load_run(tmp_path)


@pytest.fixture
def bomb(tmp_path: Path) -> Path:
    """A kilobyte that stands for 22 GB of text."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    text = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["x" * 11_000_000]))
    table = pa.table({"text": text, "sex": text, "label": pa.array([0, 1] * 1000)})
    parquet.write_table(table, tmp_path / "bomb.parquet", compression="zstd", store_schema=False)
    assert (tmp_path / "bomb.parquet").stat().st_size < 4096
    return tmp_path / "bomb.parquet"


def test_a_parquet_bomb_is_not_unpacked(bomb: Path) -> None:
    with pytest.raises(RIFError, match="11000000 characters"):
        examples(bomb)
    with pytest.raises(RIFError, match="text of 11000000 characters"):
        rows(bomb)


def test_nested_columns_are_refused_before_they_are_read(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"text": [["a"], ["b"]], "label": [0, 1]}), tmp_path / "x.parquet")
    with pytest.raises(RIFError, match=r"column 'text' holds 'list<.*expected texts"):
        examples(tmp_path / "x.parquet")
