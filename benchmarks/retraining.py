"""Does teaching findings help? TF-IDF on SST-2: audit, `rif retrain`, before, after and a control.

    python benchmarks/retraining.py --data-dir DATA [--entailment embedded] [--seeds 1] --out out/retraining

``DATA`` (or ``RIF_DATA_DIR``) holds ``sst2/``. Trains on its train split, audits dev and test (gender), holds
out half of the audited examples. Prints the tables of `rif retrain` and writes its files into the folder.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "sst2_victims"))
from sst2 import read_split

from rif_plugins import audit
from rif_plugins.cli.retrain import text_of
from rif_plugins.examples.base import Example, ExampleSet, Naming
from rif_plugins.runner.fitting import TfidfFitter, TrainingRows
from rif_plugins.runner.retraining import RetrainPlan, retrain

NAMES = ("negative", "positive")


def examples(folder: Path, *splits: str) -> ExampleSet:
    """The sentences of splits of SST-2."""
    naming = Naming()
    rows = [row for split in splits for row in zip(*read_split(folder, split), strict=True)]
    return ExampleSet.of(
        [Example(naming.name(*row), *row) for row in rows], NAMES, f"SST-2 {'+'.join(splits)}"
    )


def main() -> int:
    """Audit, retrain, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("RIF_DATA_DIR"))
    parser.add_argument("--entailment", default="none")
    parser.add_argument("--limit", type=int, help="most audited sentences")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out") / "retraining")
    args = parser.parse_args()
    if args.data_dir is None or not (Path(args.data_dir) / "sst2").is_dir():
        print("retraining benchmark: not run: data absent (name --data-dir)")
        return 0
    folder, fitter = Path(args.data_dir), TfidfFitter(NAMES)
    train, audited = examples(folder, "train"), examples(folder, "dev", "test")
    rows = TrainingRows(
        tuple(e.text for e in train.examples),
        tuple(int(e.label) for e in train.examples if e.label is not None),
        (1.0,) * len(train),
    )
    victim = fitter.fit(rows, 0, None)
    options = {"entailment": args.entailment, "sensitive": "gender", "cache": "off", "limit": args.limit}
    run = audit(victim, audited, **{key: value for key, value in options.items() if value is not None})
    plan = RetrainPlan(seeds=args.seeds)
    result = retrain(
        run, train, fitter, plan, victim=victim, out=args.out, tell=lambda line: print(line, flush=True)
    )
    print(text_of(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
