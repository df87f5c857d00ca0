"""What the package costs when it is not used: `import rif_plugins`, and the start-up file.

Each number is the median over fresh Python processes; the quartiles show the machine's noise. Bytecode is
cached first, as pip does when it installs a wheel.
Run: `python benchmarks/import_cost.py --out out/import_cost.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rif_plugins import __version__

LIMITS_MS = {"import_rif_plugins": 50.0, "startup_file": 2.0}
IMPORT = "import time; t = time.perf_counter(); import rif_plugins; print(time.perf_counter() - t)"
STARTUP_FILE = Path(__file__).resolve().parent.parent / "rif_plugins_autoload.pth"
# The environment switches the installed file off; the timed line switches it on again for itself.
STARTUP = (
    "import os, time; os.environ['RIF_PLUGINS_AUTOLOAD'] = '1'; t = time.perf_counter(); exec({line!r}); "
    "print(time.perf_counter() - t)"
)


def measure(code: str, runs: int, cache: str) -> dict[str, float]:
    """Milliseconds of ``code``, each time in a new process that has not loaded the package."""
    environment = {**os.environ, "RIF_PLUGINS_AUTOLOAD": "0", "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", code]
    values = []
    for _ in range(runs + 1):
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        values.append(1000 * float(result.stdout))
    low, middle, high = statistics.quantiles(values[1:], n=4)  # the first run fills the bytecode cache
    return {"median_ms": round(middle, 3), "quartile_1_ms": round(low, 3), "quartile_3_ms": round(high, 3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=31, help="processes for each number")
    parser.add_argument("--out", type=Path, help="file to write the JSON to, besides printing it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        line = STARTUP_FILE.read_text(encoding="utf-8").strip()
        results = {
            "import_rif_plugins": measure(IMPORT, options.runs, cache),
            "startup_file": measure(STARTUP.format(line=line), options.runs, cache),
        }
    report = {
        "benchmark": "import_cost",
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "cpus": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d"),
        "runs": options.runs,
        "results": results,
        "limits_ms": LIMITS_MS,
        "within_limits": all(results[name]["median_ms"] < limit for name, limit in LIMITS_MS.items()),
    }
    text = json.dumps(report, indent=2)
    print(text)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text + "\n", encoding="utf-8")
    return 0 if report["within_limits"] else 1


if __name__ == "__main__":
    sys.exit(main())
