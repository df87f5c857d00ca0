from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.victim import VictimEngine
from rif_plugins.errors import DataError
from rif_plugins.metrics import Rate, rif_text_table
from rif_plugins.metrics.attack_logs import read_attack_results, unmarked

# Class 1 is right for every text here. "she dull" alone is wrong when the film is "nice".
WRONG = {"he awful", "she awful", "she nice", "he dull"}


def predict(texts: list[str]) -> np.ndarray:
    return np.array([[0.9, 0.1] if text in WRONG else [0.2, 0.8] for text in texts])


def counterparts(text: str) -> list[str]:
    words = text.split()
    if words and words[0] in ("he", "she"):
        return [" ".join([{"he": "she", "she": "he"}[words[0]], *words[1:]])]
    return []


RESULTS: list[tuple[str, str, int]] = [
    ("he good", "he nice", 1),  # she nice is wrong: both -> TB; original_only: she good is right -> TF
    ("he good", "he awful", 1),  # both: FF; original_only: FB
    ("he dull", "he dull", 1),  # clean FB (she dull is right), unchanged
    ("it works", "it fails", 1),  # no sensitive token
    ("he good", "it awful", 1),  # the attack removed the sensitive token: right there, no pair in `both`
]


def test_quadrants_by_hand() -> None:
    table = rif_text_table(predict, RESULTS, counterparts)
    assert (table.n_texts, table.n_without_counterpart) == (5, 1)
    assert (table.n_unchanged, table.n_changed_sensitive) == (1, 1)
    assert table.stages["clean"].counts == (3, 0, 0, 1)
    assert table.stages["original_only"].counts == (2, 0, 0, 2)
    assert table.stages["both"].counts == (0, 1, 1, 1)
    assert table.stages["original_only"].induced == Rate(1, 3)
    assert table.stages["both"].induced == Rate(2, 2)
    both = table.stages["both"]
    assert both.robustness_rate == Rate(1, 3)
    assert both.fairness_rate == Rate(1, 3)
    assert both.rif_rate == Rate(0, 3)
    assert both.rate(Outcome.UNROBUST_FAIR) == Rate(1, 3)
    assert both.fair_f1_score.value == 0.0
    # he/she good, nice, awful, dull; "it awful"; the text without a counterpart is not asked about.
    assert table.victim_rows == 9


def test_several_counterparts_and_three_classes() -> None:
    rows = {"x1 a": 0, "x2 a": 0, "x3 a": 0, "x1 b": 1, "x2 b": 2, "x3 b": 1}

    def three(texts: list[str]) -> list[list[float]]:
        return [[float(rows[text] == k) for k in range(3)] for text in texts]

    def others(text: str) -> list[str]:
        return [f"x{k}{text[2:]}" for k in (1, 2, 3) if text[:2] != f"x{k}"]

    table = rif_text_table(three, [("x1 a", "x1 b", 0)], others)
    assert table.stages["clean"].counts == (2, 0, 0, 0)
    assert table.stages["both"].counts == (0, 0, 1, 1)  # x2 b has another wrong label
    assert table.stages["original_only"].counts == (0, 0, 0, 2)
    with pytest.raises(DataError, match="result 1 has label 3, expected 0 to 2: the victim has 3 classes"):
        rif_text_table(three, [("x1 a", "x1 b", 3)], others)


def test_nothing_to_measure() -> None:
    table = rif_text_table(predict, [], counterparts)
    assert table.n_texts == 0
    assert table.stages["clean"].rif_rate.value is None
    assert json.loads(json.dumps(table.to_dict(), allow_nan=False))["both"]["fair_f1_score"]["value"] is None
    assert "no pairs" in table.to_text()


def test_an_engine_and_many_results_keep_their_order() -> None:
    engine = VictimEngine(predict)
    results = [RESULTS[index % 3] for index in range(200)]
    table = rif_text_table(engine, iter(results), counterparts)
    assert table.n_texts == 200
    assert table.stages["both"].counts == (0, 67, 67, 66)
    assert table.victim_rows == engine.rows == 8  # repeats come from the cache


def test_text_and_plain_values() -> None:
    table = rif_text_table(predict, RESULTS, counterparts)
    text = table.to_text()
    assert "same edit on both sides" in text
    assert "33.3%" in text
    assert "sensitive tokens changed by it 1" in text
    data = table.to_dict()
    assert data["both"]["outcomes"]["robust_biased"] == 1
    assert data["clean"]["rif_rate"]["successes"] == 3
    assert data["clean"]["induced_rate"]["value"] is None


def write_log(path: Path, rows: list[dict[str, Any]]) -> Path:
    names = ["original_text", "perturbed_text", "original_score", "ground_truth_output", "result_type"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, quoting=csv.QUOTE_NONNUMERIC)
        writer.writeheader()
        writer.writerows({"original_score": 0.1, "result_type": "Successful", **row} for row in rows)
    return path


def row(original: str, perturbed: str, label: Any = 1.0) -> dict[str, Any]:
    return {"original_text": original, "perturbed_text": perturbed, "ground_truth_output": label}


def test_a_log_of_the_host_gives_the_same_table(tmp_path: Path) -> None:
    log = write_log(
        tmp_path / "log.csv",
        [
            row("he [[good]]", "he [[nice]]"),
            row("he [[good]]", "he [[awful]]"),
            row("he dull", "he dull"),
            row("it [[works]]", "it [[fails]]", 1),
            row("[[he]] [[good]]", "[[it]] [[awful]]"),
        ],
    )
    for source in (log, str(log)):
        assert rif_text_table(predict, source, counterparts) == rif_text_table(predict, RESULTS, counterparts)


def test_line_breaks_quotes_and_long_words(tmp_path: Path) -> None:
    long = "x" * 200_000
    limit = csv.field_size_limit()
    log = write_log(tmp_path / "log.csv", [row(f'a "[[b]]",<SPLIT>{long}', f'a "[[c]]",<SPLIT>{long}', 0.0)])
    (found,) = read_attack_results(log)
    assert found == (f'a "b",\n{long}', f'a "c",\n{long}', 0)
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        (("a [[b]] c", "a [[x]] c"), ("a b c", "a x c")),
        (("see [[link]] and [[b]]", "see [[link]] and [[x]]"), ("see [[link]] and b", "see [[link]] and x")),
        (("see [[[[link]]]]", "see [[[[page]]]]"), ("see [[link]]", "see [[page]]")),
        (("[[a]] [[b]]", "[[b]] [[a]]"), ("a b", "b a")),
        (("a [[very]] good", "a good"), ("a very good", "a good")),
        (("a good", "a [[very]] good"), ("a good", "a very good")),
        (("[[x]] a [[very]] b", "[[x]] a  b"), ("[[x]] a very b", "[[x]] a  b")),
        (("[[two words]]", "[[two words]]"), ("[[two words]]", "[[two words]]")),
        (("", ""), ("", "")),
    ],
)
def test_marks_are_taken_out_and_brackets_of_the_text_stay(
    marked: tuple[str, str], plain: tuple[str, str]
) -> None:
    assert unmarked(*marked) == plain


letters = st.text("abc", min_size=1, max_size=3)
brackets = st.sampled_from(["", "[", "[[", "]", "]]", "(", "[[a]]"])
piece = st.tuples(brackets, letters, letters, brackets)


@given(st.lists(piece, max_size=6))
def test_substitutions_come_back_whatever_else_the_text_holds(
    pieces: list[tuple[str, str, str, str]],
) -> None:
    def marked(word: str, other: str) -> str:
        return word if word == other else f"[[{word}]]"

    before = " ".join(f"{left}{marked(a, b)}{right}" for left, a, b, right in pieces)
    after = " ".join(f"{left}{marked(b, a)}{right}" for left, a, b, right in pieces)
    expected = (
        " ".join(f"{left}{a}{right}" for left, a, _, right in pieces),
        " ".join(f"{left}{b}{right}" for left, _, b, right in pieces),
    )
    assert unmarked(before, after) == expected


def test_results_in_memory() -> None:
    def side(text: str) -> Any:
        return SimpleNamespace(attacked_text=SimpleNamespace(text=text), ground_truth_output=1)

    result = SimpleNamespace(original_result=side("he [[good]]"), perturbed_result=side("he nice"))
    assert list(read_attack_results([result])) == [("he [[good]]", "he nice", 1)]
    for wrong, message in (
        (3, "result 1 is int, expected"),
        (("a", "b"), "result 1 is tuple, expected"),
        (("a", None, 1), "result 1 holds no two texts"),
        (("a", "b", 0.5), r"result 1: the label is 0.5, expected a class number"),
        (("a", "b", float("nan")), "the label is nan"),
        (("a", "b", -1), "the label is -1"),
    ):
        with pytest.raises(DataError, match=message):
            list(read_attack_results([wrong]))


def test_logs_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        list(read_attack_results(tmp_path / "absent.csv"))
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(
        DataError, match="has no column 'original_text', expected a log of `textattack attack"
    ):
        list(read_attack_results(other))
    empty = tmp_path / "empty.csv"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="has no column"):
        list(read_attack_results(empty))
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"original_text\xff\n")
    with pytest.raises(DataError, match="is no CSV file in UTF-8"):
        list(read_attack_results(binary))
    log = write_log(tmp_path / "log.csv", [row("a", "b"), row("a", "b", "positive")])
    with pytest.raises(DataError, match=r"log\.csv, line 3: the label is 'positive'"):
        list(read_attack_results(log))
    log = write_log(tmp_path / "pairs.csv", [row("[[[[Original]]]]: a<SPLIT>[[[[Similar]]]]: b", "x")])
    with pytest.raises(DataError, match="the text has several fields"):
        list(read_attack_results(log))
    short = tmp_path / "short.csv"
    short.write_text("original_text,perturbed_text,ground_truth_output\na\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: the row has too few cells"):
        list(read_attack_results(short))
