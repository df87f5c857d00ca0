from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.errors import DataError, UsageError
from rif_plugins.proposers import TableProposer, TokenContext, load_proposer
from rif_plugins.proposers.table import TableRow, read_table

ROWS = [
    {"token": "Doctor", "candidate": "physician", "score": 0.9},
    {"token": "doctor", "candidate": "medic", "score": 0.4, "source": "llm"},
    {"token": "doctor", "candidate": "TV doctor"},
    {"token": "film", "candidate": "movie"},
]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "table.jsonl", "\n\n".join(json.dumps(row) for row in ROWS) + "\n")


def texts(proposer: TableProposer, text: str, token: str) -> list[str]:
    start = text.index(token)
    (found,) = proposer.propose([TokenContext(text, start, start + len(token))])
    return [candidate.text for candidate in found]


def test_lookup_ignores_case_and_fits_it(table: Path) -> None:
    proposer = TableProposer(table)
    assert texts(proposer, "the doctor", "doctor") == ["physician", "medic", "TV doctor"]
    assert texts(proposer, "Doctor!", "Doctor") == ["Physician", "Medic", "TV doctor"]
    assert texts(proposer, "DOCTOR!", "DOCTOR") == ["PHYSICIAN", "MEDIC", "TV DOCTOR"]
    assert texts(proposer, "the cat", "cat") == []


def test_sources_scores_and_caps(table: Path) -> None:
    (found,) = TableProposer(table).propose([TokenContext("doctor", 0, 6)])
    assert [candidate.source for candidate in found] == ["table", "llm", "table"]
    assert texts(TableProposer(table, min_score=0.8), "doctor", "doctor") == ["physician", "TV doctor"]
    assert texts(TableProposer(table, max_candidates=1), "doctor", "doctor") == ["physician"]
    with pytest.raises(UsageError, match="min_score must be between 0 and 1, got 2"):
        TableProposer(table, min_score=2)


def test_a_row_for_one_context_is_used_there_only(tmp_path: Path) -> None:
    here, there = TokenContext("a bank of a river", 2, 6), TokenContext("a bank with money", 2, 6)
    row = {"token": "bank", "candidate": "shore", "context_hash": here.hash}
    proposer = TableProposer(write(tmp_path / "t.jsonl", json.dumps(row)))
    assert [len(found) for found in proposer.propose([here, there])] == [1, 0]


def test_the_guard_holds_for_tables_too(tmp_path: Path) -> None:
    rows = "boss,chairwoman boss,no-boss boss,two-bosses boss,owner boss,chief two,both happy,unhappy"
    path = write(tmp_path / "t.csv", "token,candidate\n" + rows.replace(" ", "\n"))
    proposer = load_proposer(f"table:{path}", protected=lambda word: word == "chairwoman")
    assert isinstance(proposer, TableProposer)
    assert texts(proposer, "a boss", "boss") == ["chief"]
    assert texts(proposer, "two", "two") == []
    assert texts(proposer, "happy", "happy") == []


@pytest.mark.parametrize(("suffix", "mark"), [(".csv", ","), (".tsv", "\t"), (".CSV", ",")])
def test_csv_and_tsv(tmp_path: Path, suffix: str, mark: str) -> None:
    lines = [
        "\ufeffscore,token,candidate,extra",
        '0.5,film,"moving picture",x',
        ",film,movie,",
        "1,Film,pic,y",
    ]
    path = write(tmp_path / f"t{suffix}", "\r\n".join(lines).replace(",", mark))
    rows = list(read_table(path))
    assert rows[0] == TableRow("film", "moving picture", score=0.5)
    assert [row.score for row in rows] == [0.5, None, 1.0]
    assert texts(TableProposer(path), "film", "film") == ["moving picture", "movie", "pic"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.jsonl", "", r"t\.jsonl has no rows; expected token and candidate"),
        ("t.csv", "", r"t\.csv has no rows"),
        ("t.csv", "token,candidate\n", r"t\.csv has no rows"),
        ("t.csv", "word,candidate\na,b\n", r"t\.csv line 1: the header lacks token; .*got word, candidate"),
        ("t.csv", "a,b\na,b\n", "line 1: the header lacks token and candidate"),
        ("t.csv", "token,candidate\nfilm,movie\nfilm\n", "line 3: expected 2 fields"),
        ("t.csv", "token,candidate\nfilm,movie,pic\n", "line 2: expected 2 fields"),
        ("t.csv", 'token,candidate\nfilm,"movie\n', "line 2: unexpected end of data"),
        ("t.csv", "token,candidate\nfilm,\n", "line 2: candidate must be a text, got ''"),
        ("t.jsonl", '{"token": "a", "candidate": "b"}\n{"token": \n', "line 2: broken JSON"),
        ("t.jsonl", "[" * 100000, "line 1: broken JSON"),
        ("t.jsonl", '["film", "movie"]\n', "line 1: expected an object with token and candidate, got list"),
        ("t.jsonl", '{"token": "film"}\n', "line 1: candidate must be a text, got None"),
        ("t.jsonl", '{"token": 5, "candidate": "b"}\n', "line 1: token must be a text, got 5"),
        (
            "t.jsonl",
            '{"token": "a", "candidate": "b", "source": 3}\n',
            "line 1: source must be a text, got 3",
        ),
        (
            "t.jsonl",
            '{"token": "a", "candidate": "b", "score": "high"}\n',
            "score must be a number from 0 to 1, got 'high'",
        ),
        (
            "t.jsonl",
            '{"token": "a", "candidate": "b", "forward": NaN}\n',
            "forward must be a number from 0 to 1, got nan",
        ),
        (
            "t.jsonl",
            '{"token": "a", "candidate": "b", "score": [1]}\n',
            r"score must be a number from 0 to 1, got \[1\]",
        ),
        ("t.jsonl", '{"token": "a", "candidate": "b\\u0000c"}', r"line 1: candidate holds the .* U\+0000"),
        ("t.jsonl", '\n{"token": "a\\u009fb", "candidate": "b"}', r"line 2: token holds the .* U\+009F"),
        ("t.jsonl", '{"token": "a\\nb", "candidate": "b"}', r"line 1: token holds the .* U\+000A"),
        ("t.csv", "token,candidate\nfilm,mo\x1bvie\n", r"line 2: candidate holds the .* U\+001B"),
        (
            "t.csv",
            f"token,candidate\nfilm,{'x' * 201}\n",
            "line 2: candidate may have 200 characters, got 201: put one word or a short phrase",
        ),
        ("t.csv", f"token,candidate\n{'x' * 201},film\n", "line 2: token may have 200 characters, got 201"),
        (
            "t.parquet",
            "PAR1",
            r"unknown kind '\.parquet'; expected a name that ends in \.jsonl, \.ndjson, \.csv, \.tsv",
        ),
    ],
)
def test_broken_tables(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        TableProposer(write(tmp_path / name, text))
    assert "\n" not in str(caught.value)


def test_a_text_of_the_greatest_length_is_read(tmp_path: Path) -> None:
    (row,) = read_table(write(tmp_path / "t.csv", f"token,candidate\nfilm,{'x' * 200}\n"))
    assert len(row.candidate) == 200


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read the candidate table .*absent\.csv: No such file"):
        TableProposer(tmp_path / "absent.csv")
    with pytest.raises(DataError, match=r"cannot read the candidate table .*absent\.jsonl: No such file"):
        load_proposer(f"table:{tmp_path / 'absent.jsonl'}")
    (tmp_path / "latin.csv").write_bytes("token,candidate\ncafé,bar\n".encode("latin-1"))
    with pytest.raises(DataError, match="is not UTF-8"):
        TableProposer(tmp_path / "latin.csv")


def test_it_reads_row_by_row(tmp_path: Path) -> None:
    good = json.dumps(ROWS[0])
    rows = read_table(write(tmp_path / "t.jsonl", f"{good}\nbroken\n"))
    assert next(rows).candidate == "physician"
    with pytest.raises(DataError, match="line 2"):
        next(rows)


def test_it_pickles_and_prints(table: Path) -> None:
    proposer = TableProposer(table)
    copy = pickle.loads(pickle.dumps(proposer))
    assert texts(copy, "doctor", "doctor") == texts(proposer, "doctor", "doctor")
    assert "tokens=2, max_candidates=12" in repr(proposer)


_FIELD = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10
).filter(lambda s: s.strip())


@given(st.lists(st.tuples(_FIELD, _FIELD), min_size=1, max_size=5))
def test_any_table_of_texts_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("tables") / "t.jsonl"
    write(path, "\n".join(json.dumps({"token": token, "candidate": candidate}) for token, candidate in rows))
    proposer = TableProposer(path)
    for token, _ in rows:
        (found,) = proposer.propose([TokenContext(token, 0, len(token))])
        assert token.casefold() not in {candidate.text.casefold() for candidate in found}
