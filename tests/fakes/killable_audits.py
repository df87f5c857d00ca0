"""Audits that a test may kill: this process has imported everything, and forks one for each line it reads.

``python -m fakes.killable_audits FOLDER METHOD`` works on the files of ``runner_world`` in ``FOLDER``. Each
line on stdin is a JSON object with ``out``, ``workers`` and ``cache``; the answer is a line with the process
id and, when the audit has ended, a line with its wait status.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

TESTS = Path(__file__).resolve().parent.parent


def main() -> None:
    from fakes.runner_world import write_candidates

    from rif_plugins.runner import Audit, AuditOptions, workers
    from rif_plugins.settings import Settings

    folder = Path(sys.argv[1])
    workers.START_METHOD = sys.argv[2]
    settings = {"proposer": f"table:{write_candidates(folder)}", "entailment": "none", "counterparts": 2}

    def run(command: dict[str, Any]) -> None:
        cache = {"cache": command["cache"], "cache_dir": folder / "cache"}
        options = AuditOptions(
            model=str(folder / "victim.py"),
            data=str(folder / "data.csv"),
            settings=Settings().updated(**settings, **cache),
        )
        Audit.prepare(options).run(
            Path(command["out"]), workers=command["workers"], resume=True, keep_records=False
        )

    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            code = 1
            try:
                run(json.loads(line))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(pid, flush=True)
        print(os.waitpid(pid, 0)[1], flush=True)


class KillableAudits:
    """The other end: starts audits and ends them at will."""

    def __init__(self, folder: Path, method: str = "spawn") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fakes.killable_audits", str(folder), method],
            cwd=TESTS,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> KillableAudits:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=60)

    def run(self, out: Path, wait: Callable[[int], None], *, workers: int = 1, cache: str = "off") -> int:
        """Begin an audit, or go on with it; ``wait`` gets its process id and may kill it.

        Returns:
            The wait status: 0, or the number of the signal that ended it.
        """
        assert self._process.stdin and self._process.stdout
        command = {"out": str(out), "workers": workers, "cache": cache}
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        wait(int(self._process.stdout.readline()))
        return int(self._process.stdout.readline())


if __name__ == "__main__":
    main()
