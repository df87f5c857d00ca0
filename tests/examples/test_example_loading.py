from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.errors import DataError, UsageError
from rif_plugins.examples import cells, sentences
from rif_plugins.examples.base import Example, ExampleSet, Naming
from rif_plugins.examples.loading import load_examples
from rif_plugins.victims import EmbeddedVictim

ROWS = [("He is good.", "pos"), ("She is bad.", "neg"), ("He is good.", "pos"), ("He is good.", "neg")]
NAMES = ("neg", "pos")


def write_rows(path: Path, rows: list[tuple[Any, Any]] = ROWS) -> str:
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        import pyarrow
        from pyarrow import parquet

        table = {"text": [text for text, _ in rows], "label": [label for _, label in rows]}
        parquet.write_table(pyarrow.table(table), path, row_group_size=2)
    elif path.suffix == ".jsonl":
        lines = [json.dumps({"text": text, "label": label}) for text, label in rows]
        path.write_text("\n".join(lines), encoding="utf-8")
    else:
        sign = {".csv": ",", ".tsv": "\t"}[path.suffix]
        lines = [f"text{sign}label", *(f"{text}{sign}{label}" for text, label in rows)]
        path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_every_kind_of_file_gives_the_same_examples(tmp_path: Path, kind: str) -> None:
    found = load_examples(write_rows(tmp_path / f"data.{kind}"), label_names=NAMES)
    assert [(example.text, example.label) for example in found.examples] == [
        ("He is good.", 1),
        ("She is bad.", 0),
        ("He is good.", 1),
        ("He is good.", 0),
    ]
    assert (found.source, found.label_names, len(found)) == (f"data.{kind}", NAMES, 4)
    other = load_examples(write_rows(tmp_path / "other.csv"), label_names=NAMES)
    assert (found.sha256, list(found.examples)) == (other.sha256, list(other.examples))
    assert len(found.sha256) == 64


def test_ids_are_stable_and_number_equal_rows(tmp_path: Path) -> None:
    first, second, third, fourth = load_examples(write_rows(tmp_path / "d.csv"), label_names=NAMES).examples
    assert third.id == f"{first.id}-2"
    assert len({first.id, second.id, third.id, fourth.id}) == 4
    assert first.id == Naming().name("He is good.", 1)
    assert first.id == "8282dcfc1f11"  # records of earlier runs are found by it


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize(("offset", "limit"), [(0, 1), (1, 2), (3, 9), (2, None)])
def test_limit_and_offset(tmp_path: Path, kind: str, offset: int, limit: int | None) -> None:
    spec = write_rows(tmp_path / f"data.{kind}")
    found = load_examples(spec, label_names=NAMES, offset=offset, limit=limit)
    expected = ROWS[offset:] if limit is None else ROWS[offset : offset + limit]
    assert [(example.text, NAMES[example.label or 0]) for example in found.examples] == expected


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_no_row_beyond_the_limit_is_looked_at(tmp_path: Path, kind: str) -> None:
    spec = write_rows(tmp_path / f"data.{kind}", [*ROWS, ("x", "no such class")])
    assert len(load_examples(spec, label_names=NAMES, limit=4)) == 4
    with pytest.raises(DataError, match=rf"data\.{kind} row 5.*: the label 'no such class' is no class"):
        load_examples(spec, label_names=NAMES)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, kind: str) -> None:
    spec = write_rows(tmp_path / f"data.{kind}", [("word " * 200, number % 2) for number in range(8000)])
    assert Path(spec).stat().st_size > 8_000_000
    tracemalloc.start()
    try:
        assert len(load_examples(spec, offset=7000, limit=10)) == 10
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_labels_predicted_reads_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("Review,rating\nfine,?\n", encoding="utf-8")
    (example,) = load_examples(path, label_names=NAMES, labels="predicted").examples
    assert (example.text, example.label) == ("fine", None)
    with pytest.raises(
        DataError, match=r"no column is called label or labels; it has 'Review', 'rating': name "
    ):
        load_examples(path, label_names=NAMES)


def test_columns_can_be_named_and_similar_texts_given(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,y\nhe,she,1\nI,,0\n", encoding="utf-8")
    found = load_examples(path, text_column="a", similar_column="b", label_column="y").examples
    assert [(e.text, e.similar, e.label) for e in found] == [("he", "she", 1), ("I", None, 0)]
    with pytest.raises(
        DataError, match=r"pairs\.csv: no column 'c' for --similar-column; it has 'a', 'b', 'y'"
    ):
        load_examples(path, text_column="a", similar_column="c", label_column="y")
    with pytest.raises(
        DataError, match=r"no column is called text, sentence, review or alike; it has 'a', 'b'"
    ):
        load_examples(path)


@pytest.mark.parametrize(
    "header", ["text,label", "Sentence,Label", "id,label,text", "tweet,class", "labels,review"]
)
def test_usual_columns_are_found(tmp_path: Path, header: str) -> None:
    path = tmp_path / "d.csv"
    values = ["1" if name.lower() in ("label", "labels", "class") else "words" for name in header.split(",")]
    path.write_text(f"{header}\n{','.join(values)}\n", encoding="utf-8")
    (example,) = load_examples(path).examples
    assert (example.text, example.label) == ("words", 1)


def test_semicolons_are_recognised_in_the_error(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("text;label\na;1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"separated by semicolons: save the file with commas"):
        load_examples(path)


def test_many_columns_make_no_endless_message(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(",".join(f"column{number}" * 20 for number in range(500)) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"\(500 in all\)") as caught:
        load_examples(path)
    assert len(str(caught.value)) < 1000


def test_label_maps_from_file_and_mapping(tmp_path: Path) -> None:
    spec = write_rows(tmp_path / "d.csv")
    (tmp_path / "map.toml").write_text('pos = "good"\nneg = 0\n', encoding="utf-8")
    for label_map in (tmp_path / "map.toml", str(tmp_path / "map.toml"), {"pos": 1, "neg": "bad"}):
        found = load_examples(spec, label_names=("bad", "good"), label_map=label_map)
        assert [example.label for example in found.examples] == [1, 0, 1, 0]
    with pytest.raises(
        DataError, match=r"d\.csv row 1 \(line 2\): the label 'pos' is no class of the victim"
    ):
        load_examples(spec, label_names=("bad", "good"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a\0b", r"d\.jsonl row 1 \(line 1\): column 'text' holds a NUL character"),
        ("a\ud800b", r"column 'text' holds U\+D800, half of a surrogate pair and no character: take it out"),
        ("\udfff", r"holds U\+DFFF"),
        (None, r"column 'text' is empty, expected a text"),
        (3, r"column 'text' holds 3 \(int\), expected a text: name another column"),
        (["a"], r"column 'text' holds \['a'\] \(list\)"),
    ],
)
def test_texts_that_no_model_can_read(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load_examples(write_rows(tmp_path / "d.jsonl", [(value, 1)]))
    assert "\n" not in str(caught.value)


def test_hostile_texts_that_are_texts(tmp_path: Path) -> None:
    texts = ["<script>alert(1)</script>", "\u202eright to left", "x" * 1_000_000, "", "\U0001f600", "a\x1bb"]
    found = load_examples(write_rows(tmp_path / "d.jsonl", [(text, 0) for text in texts])).examples
    assert [example.text for example in found] == texts


def test_texts_are_not_endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "MAX_CHARACTERS", 10)
    with pytest.raises(DataError, match=r"holds 11 characters, expected 10 at most: shorten the text"):
        load_examples(write_rows(tmp_path / "d.jsonl", [("x" * 11, 0)]))


def test_embedded() -> None:
    found = load_examples("embedded", label_names=EmbeddedVictim.label_names)
    own = sentences.load_examples()
    assert [(e.id, e.text, e.label) for e in found.examples] == [(e.id, e.text, e.label) for e in own]
    assert found.label_names == EmbeddedVictim.label_names == load_examples("embedded").label_names
    some = load_examples("embedded", offset=2, limit=3, labels="predicted").examples
    assert [(e.id, e.label) for e in some] == [(e.id, None) for e in own[2:5]]
    swapped = load_examples("embedded", label_names=("offensive", "not offensive"), limit=5).examples
    assert [e.label for e in swapped] == [1 - e.label for e in own[:5]]


@pytest.mark.parametrize(
    ("spec", "options", "error", "message"),
    [
        ("embedded", {"text_column": "x"}, UsageError, r"--data embedded has no columns and splits"),
        (
            "embedded",
            {"labels": "guessed"},
            UsageError,
            r"--labels must be given or predicted, got 'guessed'",
        ),
        ("embedded", {"limit": 0}, UsageError, r"--limit must be 1 or more, got 0"),
        ("embedded", {"offset": -1}, UsageError, r"offset must be 0 or more, got -1"),
        ("embedded", {"offset": 9999}, DataError, r"embedded has no rows after the first 9999"),
        ("./none.csv", {}, DataError, r"no file '\./none\.csv': check the path"),
        ("./none", {}, DataError, r"no file or folder '\./none': check the path"),
        (" ", {}, UsageError, r"--data is empty: expected a file, a folder, a name on the hub, or embedded"),
    ],
)
def test_what_cannot_be_loaded(
    spec: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        load_examples(spec, **options)


def test_files_of_unknown_kind_and_options_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "d.xlsx").write_bytes(b"PK")
    with pytest.raises(
        DataError, match=r"'d\.xlsx' is of no known kind: expected a name that ends in \.csv, "
    ):
        load_examples(tmp_path / "d.xlsx")
    with pytest.raises(UsageError, match=r"--split goes with data sets of the hub, not with the file d\.csv"):
        load_examples(write_rows(tmp_path / "d.csv"), split="test")
    (tmp_path / "header.csv").write_text("text,label\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"header\.csv has no rows: expected one example a row"):
        load_examples(tmp_path / "header.csv")


TEXTS = st.text(max_size=10)


@given(st.lists(st.tuples(TEXTS, st.none() | st.integers(0, 3)), max_size=12))
def test_ids_are_unique_and_the_digest_tells_sets_apart(rows: list[tuple[str, int | None]]) -> None:
    naming = Naming()
    examples = [Example(naming.name(text, label), text, label) for text, label in rows]
    assert len({example.id for example in examples}) == len(rows)
    found = ExampleSet.of(examples, None, "here")
    assert found == ExampleSet.of(iter(examples), None, "here")
    assert found.sha256 != ExampleSet.of([*examples, Example("x", "", None)], None, "here").sha256
