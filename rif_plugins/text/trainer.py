"""Found pairs as training rows of the host's adversarial training."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from textattack.shared import AttackedText

from rif_plugins.text.pairing import is_pair_text, side_strings


def as_training_results(results: Iterable[Any]) -> list[Any]:
    """Every result of a pair as two results of one text each, with the original's label.

    The host builds its training rows from the columns of a result, and a pair has other columns than
    the training set. Both sides are the same person's text but for the sensitive words, so both get
    the label of the original. Other results pass unchanged.
    """
    expanded = []
    for result in results:
        final = getattr(result, "perturbed_result", None)
        if final is None or not is_pair_text(final.attacked_text):
            expanded.append(result)
            continue
        for text in side_strings(final.attacked_text):
            one = copy.copy(result)
            one.perturbed_result = copy.copy(final)
            one.perturbed_result.attacked_text = AttackedText(text)
            expanded.append(one)
    return expanded
