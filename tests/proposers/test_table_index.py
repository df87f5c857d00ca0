"""Large tables: rows stay in the file, and what is read again is what was read first."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.errors import DataError
from rif_plugins.proposers import TableProposer, TokenContext
from rif_plugins.proposers.table_rows import TableFile


def found(proposer: TableProposer, context: TokenContext) -> list[str]:
    (candidates,) = proposer.propose([context])
    return [candidate.text for candidate in candidates]


def table(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_rows_of_the_context_and_of_any_are_merged_in_file_order(tmp_path: Path) -> None:
    here = TokenContext("a good film", 7, 11)
    rows = [
        {"token": "film", "candidate": "movie", "context_hash": here.hash},
        {"token": "Film", "candidate": "picture"},
        {"token": "film", "candidate": "play", "context_hash": "0" * 16},
        {"token": "film", "candidate": "flick", "context_hash": here.hash},
    ]
    proposer = TableProposer(table(tmp_path / "t.jsonl", rows))
    assert found(proposer, here) == ["movie", "picture", "flick"]
    assert found(proposer, TokenContext("film", 0, 4)) == ["picture"]


@pytest.mark.parametrize("refused", [False, "false", "False"])
def test_refused_rows_are_left_out(tmp_path: Path, refused: object) -> None:
    rows = [
        {"token": "film", "candidate": "play", "accepted": refused, "score": 0.9},
        {"token": "film", "candidate": "movie", "accepted": True},
    ]
    assert found(TableProposer(table(tmp_path / "t.jsonl", rows)), TokenContext("film", 0, 4)) == ["movie"]


def test_columns_of_built_tables_are_allowed(tmp_path: Path) -> None:
    row = {"token": "film", "candidate": "movie", "cosine": -0.2, "sentence": "a film .", "forward": None}
    assert found(TableProposer(table(tmp_path / "t.jsonl", [row])), TokenContext("film", 0, 4)) == ["movie"]


def test_a_table_that_changes_under_a_run_is_told(tmp_path: Path) -> None:
    path = table(tmp_path / "t.jsonl", [{"token": "film", "candidate": "movie"}])
    proposer = TableProposer(path)
    table(path, [{"token": "play", "candidate": "drama"}, {"token": "film", "candidate": "picture"}])
    assert found(proposer, TokenContext("cat", 0, 3)) == []  # nothing is read for it
    with pytest.raises(DataError, match=r"t\.jsonl has changed since it was read: start again"):
        found(proposer, TokenContext("film", 0, 4))
    path.unlink()
    with pytest.raises(DataError, match="has changed since it was read"):
        found(proposer, TokenContext("film", 0, 4))


@pytest.mark.parametrize("data", [b'{"token": "fil', b"", b"\xff", b'"film"'])
def test_bytes_that_are_no_row(tmp_path: Path, data: bytes) -> None:
    for name in ("t.jsonl", "t.csv"):
        file = TableFile(tmp_path / name)
        with pytest.raises(DataError, match="has changed since it was read: start again"):
            file.row(data)


_CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6).filter(
    lambda text: text.strip()
)


@given(rows=st.lists(st.tuples(_CELL, _CELL), min_size=1, max_size=6), ending=st.sampled_from(["\n", "\r\n"]))
def test_every_row_of_any_kind_of_file_is_found_where_it_stands(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], ending: str
) -> None:
    folder = tmp_path_factory.mktemp("tables")

    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    lines = [json.dumps({"token": a, "candidate": b}, ensure_ascii=False) for a, b in rows]
    cells = ["token,candidate", *(f"{quoted(a)},{quoted(b)}" for a, b in rows)]
    (folder / "t.jsonl").write_bytes(("\ufeff" + ending.join(lines)).encode("utf-8"))
    (folder / "t.csv").write_bytes((ending.join(cells) + ending + ending).encode("utf-8"))
    for name in ("t.jsonl", "t.csv"):
        file = TableFile(folder / name)
        data = (folder / name).read_bytes()
        read = list(file.rows())
        assert [(row.token, row.candidate) for _, _, row in read] == [(a.strip(), b.strip()) for a, b in rows]
        assert [file.row(data[start:end]) for start, end, _ in read] == [row for _, _, row in read]


def test_a_row_over_several_lines_is_found(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('token,candidate,note\nfilm,movie,"two\nlines"\nplay,drama,\n')
    file = TableFile(tmp_path / "t.csv")
    data = (tmp_path / "t.csv").read_bytes()
    assert [file.row(data[start:end]).candidate for start, end, _ in file.rows()] == ["movie", "drama"]
    assert found(TableProposer(tmp_path / "t.csv"), TokenContext("play", 0, 4)) == ["drama"]


def test_phrases_of_the_table_are_found_in_texts(tmp_path: Path) -> None:
    text = "He left in spite of the heavy rain, in spite."
    here = TokenContext(text, 24, 34)
    assert here.token == "heavy rain"
    rows = [
        {"token": "in spite of", "candidate": "despite"},
        {"token": "In spite", "candidate": "still"},
        {"token": "heavy rain", "candidate": "downpour", "context_hash": here.hash},
        {"token": "left in", "candidate": "not", "accepted": False},
        {"token": "the heavy", "candidate": "x", "context_hash": "0" * 16},
    ]
    proposer = TableProposer(table(tmp_path / "t.jsonl", rows))
    found_phrases = [text[start:end] for start, end in proposer.phrases(text)]
    assert found_phrases == ["in spite of", "heavy rain", "in spite"]  # the longest, disjoint, in order
    assert [c.text for c in proposer.propose([here])[0]] == ["downpour"]
    assert proposer.phrases("Heavy rain.") == []
    rows = [*rows[3:4], {"token": "a", "candidate": "b"}]
    assert TableProposer(table(tmp_path / "u.jsonl", rows)).phrases("He left in a") == []


def test_memory_is_a_few_bytes_a_row(tmp_path: Path) -> None:
    number = 20_000
    path = tmp_path / "t.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for i in range(number):
            row = {"token": f"w{i % 50}", "candidate": f"candidate{i}", "context_hash": f"{i:016x}"}
            file.write(json.dumps(row) + "\n")
    tracemalloc.start()
    try:
        proposer = TableProposer(path)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 30 * number and peak < 80 * number
    assert path.stat().st_size > 70 * number
    assert "tokens=50" in repr(proposer)
