"""What an audit keeps in memory hardly grows with the number of examples."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from fakes.runner_world import audit_options

from rif_plugins.core.result_files import StoredRecords
from rif_plugins.core.results import Record
from rif_plugins.runner import Audit

N = 80
N_TARGETS = 5


@pytest.fixture(autouse=True)
def _only_what_is_new() -> Iterator[None]:
    """Everything that other tests have left is passed over when objects are counted."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def n_alive() -> int:
    """Records that have come into memory and are still there."""
    return sum(type(thing) is Record for thing in gc.get_objects())


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_record_is_forgotten_once_it_is_written(tmp_path: Path, is_kept: bool) -> None:
    rows = [(f"{('He', 'She')[i % 2]} cooked {i} meals.", i % 2) for i in range(N)]
    audit = Audit.prepare(audit_options(tmp_path, rows))
    counts: list[int] = []

    def watched(batches: Iterable[list[Record]], total: int) -> Iterator[list[Record]]:
        for found in batches:
            yield found
            counts.append(n_alive())

    result = audit.run(tmp_path / "out", progress=watched, keep_records=is_kept)
    most = N * N_TARGETS if is_kept else N_TARGETS
    assert max(counts) == most
    assert n_alive() == (most if is_kept else 0)
    assert len(result.records) == N * N_TARGETS
    assert result.summary["n_records"] == N * N_TARGETS


def test_stored_records_keep_offsets_only(tmp_path: Path) -> None:
    audit = Audit.prepare(audit_options(tmp_path, [("He cooked a good meal.", 1), ("She was good.", 0)]))
    result = audit.run(tmp_path / "out", keep_records=False)
    assert isinstance(result.records, StoredRecords)
    everything = list(result.records)
    assert [result.records[i] for i in range(len(everything))] == everything
    assert result.records[-1] == everything[-1]
    assert list(result.records[::2]) == everything[::2]
    assert everything[0] in result.records
    with pytest.raises(IndexError):
        result.records[len(everything)]
    assert list(result.distinct()) == everything
