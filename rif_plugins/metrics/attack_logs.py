"""Results of any TextAttack attack as (original text, perturbed text, label): a CSV log, or result objects.

The CSV log marks changed words as ``[[word]]`` and writes line breaks as ``<SPLIT>``; both are undone. A text
may hold such brackets itself: then they stand in both columns, with the same content, and are kept.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from rif_plugins.errors import DataError

COLUMNS = ("original_text", "perturbed_text", "ground_truth_output")
_MARK = re.compile(r"(\[\[[^\[\]\s]+\]\])")
_FIELD_KEY = re.compile(r"\[\[\[\[[^\[\]]+\]\]\]\]: ")
_LINE_BREAK = "<SPLIT>"
_MAX_FIELD = 10_000_000  # characters of a cell
_MAX_LINE = 64 << 20  # characters of a line


class AttackedText(NamedTuple):
    """One result: the text before and after the attack, and the right label."""

    original: str
    perturbed: str
    label: int


def read_attack_results(results: Path | str | Iterable[Any]) -> Iterator[AttackedText]:
    """Read attack results, one by one.

    Args:
        results: The path of a TextAttack CSV log; or triples (original text, perturbed text, label); or
            TextAttack's own result objects.

    Raises:
        DataError: The file or a row of it is not what TextAttack writes for attacks on single texts with
            class labels.
    """
    if isinstance(results, (str, Path)):
        yield from _read_log(Path(results))
        return
    for number, result in enumerate(results, start=1):
        yield _from_result(result, f"result {number}")


def _read_log(path: Path) -> Iterator[AttackedText]:
    before = csv.field_size_limit(_MAX_FIELD)
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = csv.DictReader(_bounded(lines, path))
            missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
            if missing:
                raise DataError(
                    f"{path} has no column {missing[0]!r}, expected a log of `textattack attack --log-to-csv`"
                )
            for row in rows:
                yield _from_row(row, f"{path}, line {rows.line_num}")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): expected a TextAttack CSV log") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path} is no CSV file in UTF-8 ({error}): expected a TextAttack CSV log") from error
    finally:
        csv.field_size_limit(before)


def _bounded(lines: TextIO, path: Path) -> Iterator[str]:
    """The lines, none of which may fill the memory."""
    while line := lines.readline(_MAX_LINE + 1):
        if len(line) > _MAX_LINE:
            raise DataError(f"{path} has a line of more than {_MAX_LINE} characters, expected a CSV log")
        yield line


def _from_row(row: dict[str, Any], where: str) -> AttackedText:
    original, perturbed, label = (row[name] for name in COLUMNS)
    if original is None or perturbed is None:
        raise DataError(f"{where}: the row has too few cells, expected one for every column")
    if _FIELD_KEY.match(original):
        raise DataError(
            f"{where}: the text has several fields, expected single texts: a RIFair recipe's results are in "
            "its results.jsonl, and counterparts are built of single texts only"
        )
    before, after = unmarked(original, perturbed)
    return AttackedText(
        before.replace(_LINE_BREAK, "\n"), after.replace(_LINE_BREAK, "\n"), _label(label, where)
    )


def _from_result(result: Any, where: str) -> AttackedText:
    if hasattr(result, "original_result") and hasattr(result, "perturbed_result"):
        before, after = result.original_result, result.perturbed_result
        texts = before.attacked_text.text, after.attacked_text.text
        return AttackedText(*texts, _label(before.ground_truth_output, where))
    try:
        original, perturbed, label = result
    except (TypeError, ValueError):
        raise DataError(
            f"{where} is {type(result).__name__}, expected (original text, perturbed text, label) or a "
            "result of TextAttack"
        ) from None
    if not isinstance(original, str) or not isinstance(perturbed, str):
        raise DataError(f"{where} holds no two texts, expected (original text, perturbed text, label)")
    return AttackedText(original, perturbed, _label(label, where))


def _label(value: Any, where: str) -> int:
    try:
        number = float(value)
        if number == int(number) and number >= 0:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError(
        f"{where}: the label is {value!r}, expected a class number from 0 on: only attacks on classifiers "
        "have outcomes"
    )


def unmarked(original: str, perturbed: str) -> tuple[str, str]:
    """Take the marks of changed words out of both texts.

    A ``[[word]]`` is a mark where the other text has something else in its place, and part of the text where
    both have the same. With as many of them in both texts (substitutions) they are compared in turn; else
    both texts are aligned first.
    """
    first, second = _MARK.split(original), _MARK.split(perturbed)
    if len(first) == len(second):
        pairs = list(zip(first, second, strict=True))
        plain = [a == b for a, b in pairs]
        return _joined(first, plain), _joined(second, plain)
    kept_first, kept_second = [False] * len(first), [False] * len(second)
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            kept_first[block.a + offset] = kept_second[block.b + offset] = True
    return _joined(first, kept_first), _joined(second, kept_second)


def _joined(pieces: list[str], is_plain: list[bool]) -> str:
    """Odd pieces are ``[[word]]``: without brackets unless they are plain text."""
    return "".join(
        piece[2:-2] if index % 2 and not plain else piece
        for index, (piece, plain) in enumerate(zip(pieces, is_plain, strict=True))
    )
