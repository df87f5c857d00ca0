"""One short table out of several results of benchmarks/search.py.

PYTHONPATH=benchmarks python -m search_lab.summary out/search_*.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from search_lab.contenders import TARGET_NAMES

_COLUMNS = (
    "data, victim, filter",
    "search",
    *TARGET_NAMES,
    "victim rows a pair",
    "NLI rows a pair",
    "rows per induced finding",
    "seconds a pair",
)


def rows(blocks: Sequence[dict[str, Any]]) -> list[list[str]]:
    """One row a block and contender."""
    table = []
    for block in blocks:
        name = f"{block['data']}, {block['victim']}, {'filter' if block['filter'] else 'no filter'}"
        for contender, found in block["contenders"].items():
            counts = found.get("counts")
            if counts is None:
                continue
            shares = [f"{counts['targets'][t]['success']['value']:.3f}" for t in TARGET_NAMES]
            timing = found.get("timing")
            seconds = f"{timing['seconds_per_pair']:.3g}" if timing else "–"
            per_finding = counts["rows_per_induced"]
            table.append(
                [
                    f"{name} ({counts['pairs']} pairs)",
                    contender,
                    *shares,
                    f"{counts['victim_rows_per_pair']:.1f}",
                    f"{counts['nli_rows_per_pair']:.1f}",
                    "–" if per_finding is None else f"{per_finding:.0f}",
                    seconds,
                ]
            )
    return table


def main() -> int:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="+")
    blocks = [
        block
        for path in parser.parse_args().results
        for block in json.loads(path.read_text(encoding="utf-8"))["blocks"]
    ]
    print("| " + " | ".join(_COLUMNS) + " |\n" + "|---" * len(_COLUMNS) + "|")
    for row in rows(blocks):
        print("| " + " | ".join(row) + " |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
