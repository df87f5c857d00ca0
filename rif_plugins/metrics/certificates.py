"""What exhaustive searches have shown not to exist, counted by target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rif_plugins.core.results import Record


class CertificateCount:
    """Counts the certificates of records that pass through.

    A certificate says: no admissible edit of at most ``max_edits`` tokens a side, out of the candidates of
    this pair, reaches the target.
    """

    def __init__(self) -> None:
        self.targets: dict[str, dict[str, int]] = {}

    def watch(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records, counted."""
        for record in records:
            self.add(record)
            yield record

    def add(self, record: Record) -> None:
        """Count one record."""
        found = record.certificate
        if not found or record.status != "failed" or record.stop_reason != "certified":
            return
        known = self.targets.setdefault(
            record.target, {"n_pairs": 0, "max_edits": found["max_edits"], "n_texts": 0}
        )
        known["n_pairs"] += 1
        known["max_edits"] = min(known["max_edits"], found["max_edits"])
        known["n_texts"] += found["texts_original"] + found["texts_similar"]

    def to_dict(self) -> dict[str, Any]:
        """By target: pairs certified, edits a side, texts examined for them."""
        return {target: dict(values) for target, values in sorted(self.targets.items())}
