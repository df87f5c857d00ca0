from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rif_plugins.errors import DataError
from rif_plugins.examples import cells, text_files
from rif_plugins.examples.text_files import CsvTable, JsonLinesTable, TsvTable

KINDS = {".csv": CsvTable, ".tsv": TsvTable, ".jsonl": JsonLinesTable}
REUSES_TMP_PATH = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read(path: Path, data: bytes | str, names: tuple[str, ...] = ("text", "label"), offset: int = 0) -> list:
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
    return [(where, list(row)) for where, row in KINDS[path.suffix](path).rows(names, offset)]


@pytest.mark.parametrize(
    "data",
    [
        'text,label\n"a, ""b""\nc",1\n\nd,0\n',
        '\ufeff text ,label\r\n"a, ""b""\nc",1\r\n\r\nd,0',
        'id,label,text\nx,1,"a, ""b""\nc"\n\ny,0,d',
    ],
)
def test_csv(tmp_path: Path, data: str) -> None:
    rows = read(tmp_path / "d.csv", data)
    assert rows == [("d.csv row 1 (line 3)", ['a, "b"\nc', "1"]), ("d.csv row 2 (line 5)", ["d", "0"])]


def test_lines_that_end_with_a_carriage_return_only(tmp_path: Path) -> None:
    assert [row for _, row in read(tmp_path / "d.csv", "text,label\ra,1\rb,0\r")] == [["a", "1"], ["b", "0"]]


def test_tsv_keeps_quotes_that_are_text(tmp_path: Path) -> None:
    data = 'text\tlabel\n"so" good\t1\n"whole ""cell"""\t0\n"open\t1\n'
    rows = [row for _, row in read(tmp_path / "d.tsv", data)]
    assert rows == [['"so" good', "1"], ['whole "cell"', "0"], ['"open', "1"]]


def test_json_lines(tmp_path: Path) -> None:
    data = '{"text": "a", "label": 1}\n\n{"label": null, "text": "b", "more": []}'
    assert read(tmp_path / "d.jsonl", data) == [
        ("d.jsonl row 1 (line 1)", ["a", 1]),
        ("d.jsonl row 2 (line 3)", ["b", None]),
    ]


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".jsonl"])
def test_offset_keeps_the_numbers_of_the_rows(tmp_path: Path, kind: str) -> None:
    data = {
        ".csv": "text,label\na,1\nb,0\n",
        ".tsv": "text\tlabel\na\t1\nb\t0\n",
        ".jsonl": '{"text": "a", "label": "1"}\n{"text": "b", "label": "0"}\n',
    }[kind]
    path = tmp_path / f"d{kind}"
    ((where, row),) = read(path, data, offset=1)
    assert where.startswith(f"d{kind} row 2 ") and row == ["b", "0"]
    assert read(path, data, offset=9) == []


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("d.csv", "", r"d\.csv is empty: expected a header"),
        ("d.jsonl", "\n\n", r"d\.jsonl is empty: expected one JSON object a line"),
        ("d.csv", "text,label,text\n", r"d\.csv: two columns are called 'text': give each a name of its own"),
        (
            "d.csv",
            "text,label\na,1\nb\n",
            r"d\.csv row 2 \(line 3\): expected 2 cells as in the header, got 1",
        ),
        (
            "d.csv",
            "text,label\na,b,1\n",
            r"d\.csv row 1 \(line 2\): expected 2 cells as in the header, got 3",
        ),
        ("d.csv", 'text,label\n"a"b,1\n', r"d\.csv row 1 \(line 2\): broken CSV .*double the quotes inside"),
        (
            "d.csv",
            'text,label\na,1\n"b,1\n',
            r"d\.csv row 2 \(line 3\): broken CSV \(unexpected end of data\)",
        ),
        (
            "d.csv",
            "text,label\na,1\nb\0,1\n",
            r"d\.csv row 2 \(line 3\): a NUL character, expected text in UTF",
        ),
        ("d.csv", b"text,label\na,1\n\xe9,1\n", r"d\.csv row 2 \(line 3\): byte 1 of the line is no UTF-8"),
        ("d.csv", "text,label\na,1\n".encode("utf-16"), r"d\.csv line 1: .*save the file as UTF-8"),
        ("d.tsv", "text\tlabel\na\n", r"d\.tsv row 1 \(line 2\): expected 2 cells as in the header, got 1"),
        (
            "d.tsv",
            b"text\tlabel\n\xed\xa0\x80\t1\n",
            r"d\.tsv row 1 \(line 2\): byte 1 of the line is no UTF-8",
        ),
        ("d.jsonl", '{"text": "a"\n', r"d\.jsonl row 1 \(line 1\): broken JSON"),
        ("d.jsonl", "[1]\n", r"d\.jsonl row 1 \(line 1\): \[1\], expected a JSON object such as \{\"text\""),
        ("d.jsonl", '{"text": "a", "text": "b"}', r"row 1 \(line 1\): two values are called 'text'"),
        (
            "d.jsonl",
            '{"text":"a","label":1}\n\n{"text":"b"}',
            r"row 2 \(line 3\): no 'label', which the first",
        ),
        ("d.jsonl", '{"text":"a","label":1}\n' + "[" * 100_000, r"row 2 \(line 2\): broken JSON"),
        ("d.jsonl", '{"text":"a","label":' + "1" * 9999 + "}", r"row 1 \(line 1\): broken JSON"),
    ],
)
def test_broken_files_name_the_row(tmp_path: Path, name: str, data: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path / name, data)
    assert "\n" not in str(caught.value)


def test_nameless_columns_may_repeat(tmp_path: Path) -> None:
    assert [row for _, row in read(tmp_path / "d.csv", "text,label,,\na,1,,\n")] == [["a", "1"]]


def test_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read 'none\.csv' \(No such file or directory\)"):
        CsvTable(tmp_path / "none.csv")


def test_long_cells_are_read_and_endless_ones_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = csv.field_size_limit()
    ((_, (text, _)),) = read(tmp_path / "d.csv", f"text,label\n{'x' * 1_000_000},1\n")
    assert len(text) == 1_000_000
    monkeypatch.setattr(text_files, "MAX_CHARACTERS", 50)
    with pytest.raises(
        DataError, match=r"d\.csv row 1 \(line \d+\): broken CSV \(field larger than field limit \(50\)\)"
    ):
        read(tmp_path / "d.csv", 'text,label\n"never closed,1\n' + "more,0\n" * 99)
    monkeypatch.setattr(text_files, "MAX_LINE_BYTES", 50)
    first = {"d.csv": "text,label", "d.tsv": "text\tlabel", "d.jsonl": '{"text": "a", "label": 0}'}
    for name, line in first.items():
        with pytest.raises(DataError, match=r"row [12] \(line 2\): a line of more than 50 bytes"):
            read(tmp_path / name, line + "\n" + "y" * 60)
    assert csv.field_size_limit() == before


def test_rows_are_read_one_by_one(tmp_path: Path) -> None:
    # A broken row behind the last one that is asked for does no harm.
    for name, good, bad in (
        ("d.csv", "text,label\na,1\n", "b\n"),
        ("d.tsv", "text\tlabel\na\t1\n", "b\n"),
        ("d.jsonl", '{"text": "a", "label": 1}\n', "{\n"),
    ):
        path = tmp_path / name
        path.write_text(good + bad, encoding="utf-8")
        rows = KINDS[path.suffix](path).rows(("text",))
        assert list(next(rows)[1]) == ["a"]
        with pytest.raises(DataError, match=r"row 2 \(line [23]\)"):
            next(rows)


PLAIN = st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)


@REUSES_TMP_PATH
@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_csv_gives_back_what_was_written(tmp_path: Path, rows: list[tuple[str, str]], end: str) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([("text", "label"), *rows])
    found = read(tmp_path / "d.csv", buffer.getvalue())
    assert [tuple(row) for _, row in found] == rows


@REUSES_TMP_PATH
@given(st.lists(st.tuples(PLAIN, st.integers()), min_size=1, max_size=5))
def test_json_lines_give_back_what_was_written(tmp_path: Path, rows: list[tuple[str, int]]) -> None:
    data = "\n".join(json.dumps({"text": text, "label": label}, ensure_ascii=False) for text, label in rows)
    assert [tuple(row) for _, row in read(tmp_path / "d.jsonl", data)] == rows


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(KINDS)),
    st.binary(max_size=60)
    | st.text(alphabet='text,label"\t\r\n{}:\0\ud7ffé', max_size=60).map(lambda text: text.encode("utf-8")),
    st.booleans(),
)
def test_any_bytes_give_rows_or_one_line(tmp_path: Path, kind: str, data: bytes, has_header: bool) -> None:
    header = {".csv": b"text,label\n", ".tsv": b"text\tlabel\n", ".jsonl": b'{"text": "", "label": 0}\n'}[
        kind
    ]
    path = tmp_path / f"any{kind}"
    path.write_bytes(header + data if has_header else data)
    try:
        table = KINDS[kind](path)
        rows = list(table.rows(table.columns[:2]))
    except DataError as error:
        assert "\n" not in str(error)
    else:
        assert all(len(row) == len(table.columns[:2]) for _, row in rows)


def test_limits_of_one_cell() -> None:
    assert text_files.MAX_CHARACTERS == cells.MAX_CHARACTERS >= 2_000_000
