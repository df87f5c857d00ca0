"""How sure a victim is of its answers that does not repeat them, as far as a record tells.

The standard error ``s = sqrt(p (1 - p) / n)`` is that of the probability ``p`` of the predicted class. Moving
``s`` from it to the next class takes ``2 s`` off its lead, so an answer whose lead is at most ``2 s`` is
*within its standard error*: it could as well have been the next class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rif_plugins.core.results import Record

_FINAL = ("perturbed_original", "perturbed_similar")


@dataclass(slots=True)
class Sureness:
    """Counts over the records of one target that tell it.

    Attributes:
        n, n_within: Evaluated records, and those with a final text within its standard error.
        n_found, n_found_within: The same of the findings alone.
        n_asked_again: Records whose final texts were asked again.
        agreement: Sum over these of the lower share of askings that agree.
    """

    target: str
    n: int = 0
    n_within: int = 0
    n_found: int = 0
    n_found_within: int = 0
    n_asked_again: int = 0
    agreement: float = 0.0

    def add(self, record: Record) -> None:
        """Count one record; one that tells nothing of its final texts is passed over."""
        if not any(True for _ in _final(record)):
            return
        is_within = is_within_standard_error(record) is True
        self.n += 1
        self.n_within += is_within
        self.n_found += record.is_found
        self.n_found_within += is_within and record.is_found
        agreement = lowest_agreement(record)
        if agreement is not None:
            self.n_asked_again += 1
            self.agreement += agreement


def is_within_standard_error(record: Record) -> bool | None:
    """Whether a final text of a record is within its standard error; None where no text has one."""
    found = [
        _lead(record.probabilities.get(name) or ()) <= 2 * values["standard_error"]
        for name, values in _final(record)
        if "standard_error" in values
    ]
    return any(found) if found else None


def largest_standard_error(record: Record) -> float | None:
    """The largest standard error of the final texts."""
    return max((v["standard_error"] for _, v in _final(record) if "standard_error" in v), default=None)


def lowest_agreement(record: Record) -> float | None:
    """The lowest share of repeated askings that agree, of the final texts."""
    return min((v["agreement"] for _, v in _final(record) if "agreement" in v), default=None)


def _final(record: Record) -> Iterator[tuple[str, Mapping[str, float]]]:
    return ((name, record.uncertainty[name]) for name in _FINAL if record.uncertainty.get(name))


def _lead(row: list[float] | tuple[float, ...]) -> float:
    """The largest probability less the next one; 1 where there is no other class."""
    ranked = sorted(row, reverse=True)
    return ranked[0] - ranked[1] if len(ranked) > 1 else 1.0
