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
            if record.certificate and record.status == "failed" and record.stop_reason == "certified":
                known = self.targets.setdefault(
                    record.target,
                    {"n_pairs": 0, "max_edits": record.certificate["max_edits"], "n_texts": 0},
                )
                known["n_pairs"] += 1
                known["max_edits"] = min(known["max_edits"], record.certificate["max_edits"])
                known["n_texts"] += record.certificate["texts_original"] + record.certificate["texts_similar"]
            yield record

    def to_dict(self) -> dict[str, Any]:
        """By target: pairs certified, edits a side, texts examined for them."""
        return {target: dict(values) for target, values in sorted(self.targets.items())}
