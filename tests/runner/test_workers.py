from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fakes.runner_world import audit_options, found, write_victim

from rif_plugins.core.results import Record
from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example
from rif_plugins.runner import Audit
from rif_plugins.runner.costs import Cost
from rif_plugins.runner.shards import SHARD, cut_into_shards

# More than two shards, so that two workers have something to do.
ROWS = [(f"{'He' if i % 2 else 'She'} cooked {i} good meals, a good meal.", 1) for i in range(2 * SHARD + 3)]


def records(folder: Path, workers: int, **changes: object) -> tuple[list[Record], dict]:
    result = Audit.prepare(audit_options(folder, ROWS, **changes)).run(
        folder / f"out{workers}", workers=workers
    )
    return list(result.records), dict(result.configuration["cost"])


def test_examples_are_dealt_out_in_order() -> None:
    examples = [Example(str(i), "He ran.", 1) for i in range(2 * SHARD + 1)]
    shards = list(cut_into_shards(examples, 1))
    assert [len(shard.examples) for shard in shards] == [SHARD, SHARD, 1]
    assert [shard.number for shard in shards] == [0, 1, 2]
    assert [example for shard in shards for example in shard.examples] == examples
    assert list(cut_into_shards([], 2)) == []
    assert [len(shard.examples) for shard in cut_into_shards(examples[:9], 2)] == [2, 2, 2, 2, 1]


def test_costs_add_up() -> None:
    a, b = Cost(1, 2, victim_seconds=0.5), Cost(10, entailment_rows=3)
    assert a + b == Cost(11, 2, entailment_rows=3, victim_seconds=0.5)
    assert (a + b) - b == a


def test_two_workers_write_what_one_writes(tmp_path: Path) -> None:
    one, cost = records(tmp_path, 1)
    two, shared = records(tmp_path, 2)
    assert list(map(found, two)) == list(map(found, one))
    assert any(record.status == "induced" for record in one)
    assert shared["victim_rows"] >= cost["victim_rows"] > 0
    assert shared["proposer_calls"] == cost["proposer_calls"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [{}, {"query_budget": 12}, {"entailment": "embedded", "saliency": "random"}]
)
def test_four_workers_write_what_one_writes(tmp_path: Path, change: dict[str, object]) -> None:
    cache = {"cache": "on", "cache_dir": tmp_path / "cache"}
    one, _ = records(tmp_path, 1, **change)
    four, _ = records(tmp_path, 4, **change, **cache)
    assert list(map(found, four)) == list(map(found, one))


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    options = audit_options(tmp_path, ROWS)
    given = f"{options.model!r}, {str(options.data)!r}, proposer={options.settings.proposer!r}"
    script = tmp_path / "script.py"
    script.write_text(
        f"from rif_plugins import audit\naudit({given}, workers=2, entailment='none', cache='off')\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 1
    assert "put the call of `audit` under `if __name__ == '__main__':`" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_worker_that_dies_is_said_in_one_line(tmp_path: Path) -> None:
    file = write_victim(tmp_path)
    with file.open("a", encoding="utf-8") as source:
        source.write("\nimport multiprocessing, os\n")
        source.write("if multiprocessing.parent_process() is not None:\n    os._exit(9)\n")
    with pytest.raises(UsageError, match="one of 2 worker processes ended before its work was done"):
        records(tmp_path, 2)
