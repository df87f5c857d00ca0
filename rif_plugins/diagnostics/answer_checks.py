"""Checks of what a victim answers: its form, and whether a text's answer is its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.predictions import OutputKind
from rif_plugins.diagnostics.victim_check import VictimCheck

FloatArray = NDArray[np.float64]
_SUM_TOLERANCE = 1e-3
_NOISE = 1e-4  # sums in another order, as with other padding
_CHANGE = 1e-2
_CONSTANT = 1e-9


def check_output_form(raw: Any, output: OutputKind = "auto") -> VictimCheck:
    """Does the victim return what it is taken to return?

    Probabilities and logits are told apart by their values: all in [0, 1] with rows that sum to one are
    probabilities.  Two forms are easily mistaken.  One column of values in [0, 1] is taken as a probability,
    though a logit may lie there too; the objective would then be wrong near the border between the classes.
    Several columns in [0, 1] that do not sum to one are scores of independent labels; taken as logits they
    lie so close together that every prediction seems unsure, and no difference between two individuals
    seems large.
    """
    values = _matrix(raw)
    is_unit = bool(values.min() >= -1e-6 and values.max() <= 1 + 1e-6)
    if values.shape[1] == 1:
        return _single_column_form(is_unit, output)
    sums_to_one = is_unit and bool((np.abs(values.sum(axis=1) - 1) < _SUM_TOLERANCE).all())
    name = "output_form"
    if sums_to_one and output == "logits":
        return VictimCheck(
            name, "warn", "declared as logits, but every row is a distribution: declare probabilities"
        )
    if sums_to_one:
        return VictimCheck(name, "pass", "probabilities: every row lies within 0 to 1 and sums to 1")
    if output == "probabilities":
        return VictimCheck(
            name, "fail", "declared as probabilities, but the rows do not sum to 1: declare logits"
        )
    if is_unit:
        return VictimCheck(
            name,
            "warn",
            "values within 0 to 1 whose rows do not sum to 1, read as logits: they look like scores of "
            "independent labels; return one distribution over the classes",
        )
    return VictimCheck(name, "pass", "logits, turned into probabilities by softmax")


def _single_column_form(is_unit: bool, output: OutputKind) -> VictimCheck:
    name = "output_form"
    if output == "probabilities" and not is_unit:
        return VictimCheck(
            name, "fail", "declared as a probability, but values lie outside 0 to 1: declare logits"
        )
    if output == "auto" and is_unit:
        return VictimCheck(
            name,
            "warn",
            "one value a text, all within 0 to 1: taken as a probability; declare logits if it is one",
        )
    form = "a probability" if output == "probabilities" else "a logit"
    return VictimCheck(name, "pass", f"one value a text, read as {form}")


def _matrix(raw: Any) -> FloatArray:
    """Arrays, lists, tensors and lists of tensors as (n, k)."""
    if isinstance(raw, (list, tuple)):
        raw = [_array(item) for item in raw]
    values = np.asarray(_array(raw), dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values


def _array(raw: Any) -> Any:
    raw = raw.detach() if hasattr(raw, "detach") else raw
    return raw.cpu().numpy() if hasattr(raw, "cpu") else raw


def check_deterministic(first: FloatArray, second: FloatArray) -> VictimCheck:
    """Does the same text get the same answer twice?

    A search keeps an edit because the answer moved.  Where answers move by themselves (dropout left on, a
    sampling language model, a service that changes models) it collects noise: findings cannot be replayed
    and rates come out too high, because the worst of many noisy answers is taken.
    """
    size, flips = _difference(first, second)
    name = "deterministic"
    if size <= _NOISE and not flips:
        return VictimCheck(name, "pass", f"the same {len(first)} texts twice: same answers")
    return VictimCheck(
        name,
        "fail" if flips or size > _CHANGE else "warn",
        f"the same {len(first)} texts twice: probabilities move by up to {size:.2g}, {flips} predictions "
        "change; put the model into evaluation mode and switch sampling off",
    )


def check_batch_independent(together: FloatArray, alone: FloatArray) -> VictimCheck:
    """Does a text get the same answer alone and in a batch?

    Batches are formed by length and from what the cache does not know, so a text meets other neighbours
    each time.  Where padding or batch statistics leak into the answer (a missing attention mask, batch
    normalisation in training mode) a run depends on the batch size and a finding may vanish on its own.
    """
    size, flips = _difference(together, alone)
    name = "batch_independent"
    if size <= _NOISE and not flips:
        return VictimCheck(name, "pass", f"{len(alone)} texts alone and in a batch: same answers")
    return VictimCheck(
        name,
        "fail" if flips or size > _CHANGE else "warn",
        f"{len(alone)} texts alone and in a batch: probabilities move by up to {size:.2g}, {flips} "
        "predictions change; pass the attention mask, or use a batch size of 1",
    )


def check_constant(rows: FloatArray) -> VictimCheck:
    """Does the answer depend on the text at all?

    A victim that answers the same on every text is perfectly robust and perfectly fair, and useless.  The
    usual reasons are a model that was never trained, texts that do not reach it (a wrong key in a request),
    or a vocabulary that knows none of their words.
    """
    name = "constant_output"
    if len(rows) < 2:
        return VictimCheck(name, "warn", "one text only: give at least two to see whether answers differ")
    spread = float(np.ptp(rows, axis=0).max())
    if spread <= _CONSTANT:
        return VictimCheck(
            name,
            "fail",
            f"all {len(rows)} texts get the same probabilities: check that the texts reach the model and "
            "that it is trained",
        )
    return VictimCheck(name, "pass", f"probabilities of {len(rows)} texts differ by up to {spread:.2g}")


def _difference(first: FloatArray, second: FloatArray) -> tuple[float, int]:
    """Largest difference of a probability, and how many predictions change."""
    flips = int((first.argmax(axis=1) != second.argmax(axis=1)).sum())
    size = float(np.abs(first - second).max(initial=0.0))
    # Two classes on a par may change places through noise alone.
    return size, flips if size > _NOISE else 0
