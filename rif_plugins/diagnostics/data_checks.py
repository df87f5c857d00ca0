"""Checks of a victim on the data of a run: classes, order of the labels, what it sees and what is covered."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import comb

import numpy as np
from numpy.typing import NDArray

from rif_plugins.diagnostics.victim_check import VictimCheck

FloatArray = NDArray[np.float64]
_MAX_PERMUTED_CLASSES = 6
_SURE = 1e-3
_LIKELY = 0.05


def check_balance(
    rows: FloatArray, labels: Sequence[int | None], label_names: Sequence[str] | None = None
) -> VictimCheck:
    """Does the victim use all of its classes?

    A victim that nearly always predicts one class looks robust and fair for the same reason as a constant
    one, and its findings all point one way.  Where the labels are as one-sided as the predictions, that is
    the data's nature and no fault; then mind that rates speak about one class only.
    """
    name = "class_balance"
    predictions = rows.argmax(axis=1)
    counts = np.bincount(predictions, minlength=rows.shape[1])
    top = int(counts.argmax())
    share = float(counts[top] / len(rows))
    own = [label for label in labels if label is not None]
    given = own.count(top) / len(own) if own else None
    what = f"{counts[top]} of {len(rows)} texts are predicted as {_name(top, label_names)}"
    if len(rows) >= 10 and share > 0.95 and (given is None or given < 0.8):
        beside = "" if given is None else f", {own.count(top)} of {len(own)} are labelled so"
        return VictimCheck(name, "warn", f"{what}{beside}: rates will speak about this class only")
    return VictimCheck(name, "pass", f"{what}, the most frequent class")


def check_label_order(
    rows: FloatArray, labels: Sequence[int | None], label_names: Sequence[str] | None = None
) -> VictimCheck:
    """Do the columns of the victim stand in the order of the data's labels?

    Swapped labels are the commonest mistake, and nothing else shows them: every outcome changes its name,
    robust pairs count as wrong ones and the search runs the wrong way.  An accuracy below chance that is
    no accident (binomial tail ``P(X <= hits)`` at ``1 / k``) fails.  With several classes, two swapped ones
    may leave the accuracy above chance; another order that is right far more often is named as a warning.
    """
    name = "label_order"
    pairs = [
        (int(p), label) for p, label in zip(rows.argmax(axis=1), labels, strict=True) if label is not None
    ]
    n, k = len(pairs), rows.shape[1]
    if any(not 0 <= label < k for _, label in pairs):
        wrong = next(label for _, label in pairs if not 0 <= label < k)
        return VictimCheck(
            name, "fail", f"label {wrong} is no class: the victim has 0 to {k - 1}; map labels"
        )
    hits = sum(prediction == label for prediction, label in pairs)
    what = f"{hits} of {n} predictions agree with the labels, chance is 1 of {k}"
    tail = sum(comb(n, i) * (k - 1) ** (n - i) for i in range(hits + 1)) / k**n
    if tail < _LIKELY:
        return VictimCheck(
            name,
            "fail" if tail < _SURE else "warn",
            f"{what}: labels may stand in another order than the columns; check label names or map them",
        )
    best, order = _best_order(pairs, k)
    if n >= 10 and best - hits >= 0.3 * n:
        names = ", ".join(_name(column, label_names) for column in order)
        return VictimCheck(
            name, "warn", f"{what}, but {best} would with the columns read as {names}: check label names"
        )
    return VictimCheck(name, "pass", what)


def check_truncation(is_cut: Sequence[bool], edits_unseen: tuple[int, int] | None = None) -> VictimCheck:
    """How much of the data and of the edits does the victim not see?

    Models read a limited number of tokens.  Edits, and sensitive tokens, beyond it change nothing: such
    pairs stand for no reason of fairness, and raise the rates.
    """
    cut = sum(is_cut)
    parts = [f"{cut} of {len(is_cut)} texts are longer than the victim reads"]
    unseen = 0
    if edits_unseen is not None and edits_unseen[1]:
        unseen = edits_unseen[0]
        parts.append(f"{unseen} of {edits_unseen[1]} edits stand where it cannot see them")
    if not cut and not unseen:
        return VictimCheck("truncation", "pass", "the victim reads all texts to their end")
    return VictimCheck(
        "truncation", "warn", f"{'; '.join(parts)}: what stands there changes nothing, shorten the texts"
    )


def check_coverage(n_covered: int, n_examples: int) -> VictimCheck:
    """How many examples speak about a sensitive attribute?

    Only they have similar individuals; all others are skipped.  Rates are shares of the pairs, so a run over
    a thousand texts of which ten have a sensitive token is a run over ten.
    """
    what = f"{n_covered} of {n_examples} examples have a sensitive token"
    if n_covered == 0:
        return VictimCheck("coverage", "fail", f"{what}: nothing to audit; give other texts or a lexicon")
    if n_covered < 0.1 * n_examples or n_covered < 10:
        return VictimCheck("coverage", "warn", f"{what}: rates rest on these alone")
    return VictimCheck("coverage", "pass", what)


def _best_order(pairs: Sequence[tuple[int, int]], k: int) -> tuple[int, tuple[int, ...]]:
    """The order of the columns that agrees with most labels, and with how many."""
    identity = tuple(range(k))
    if k > _MAX_PERMUTED_CLASSES or len({prediction for prediction, _ in pairs}) < 2:
        return 0, identity
    counts = np.zeros((k, k), dtype=np.int64)
    for prediction, label in pairs:
        counts[prediction, label] += 1
    best = max(permutations(range(k)), key=lambda order: int(counts[range(k), order].sum()))
    return int(counts[range(k), best].sum()), best


def _name(column: int, label_names: Sequence[str] | None) -> str:
    if label_names is not None and column < len(label_names):
        return repr(label_names[column][:40])
    return f"class {column}"
