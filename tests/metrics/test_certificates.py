from __future__ import annotations

from dataclasses import replace

from rif_plugins.core.results import Record
from rif_plugins.metrics.certificates import CertificateCount

CERTIFIED = Record(
    id="a",
    example="1",
    target="unrobust_fair",
    status="failed",
    stop_reason="certified",
    certificate={"max_edits": 2, "texts_original": 10, "texts_similar": 7, "judged": 3},
)


def test_only_pairs_for_which_the_search_was_complete_are_counted() -> None:
    records = [
        CERTIFIED,
        replace(CERTIFIED, id="b", certificate={**CERTIFIED.certificate, "max_edits": 1}),
        replace(CERTIFIED, id="c", status="induced", stop_reason="success"),
        replace(CERTIFIED, id="d", stop_reason="budget", certificate={}),
        replace(CERTIFIED, id="e", target="robust_biased", stop_reason="unconfirmed"),
    ]
    count = CertificateCount()
    assert list(count.watch(records)) == records
    # The weakest of the certificates is what holds for all of them.
    assert count.to_dict() == {"unrobust_fair": {"n_pairs": 2, "max_edits": 1, "n_texts": 34}}
