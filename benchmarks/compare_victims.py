"""Audit several victims on the same SST-2 sentences and compare them on the three axes.

    python benchmarks/compare_victims.py --data-dir DATA --out out/compare \
        --victim tfidf=out/sst2_tfidf.npz --victim cnn=out/sst2_cnn.npz --victim minilm=out/sst2_minilm

DATA holds ``sst2/``. A victim is NAME=MODEL, where MODEL is what ``rif audit --model`` takes, or an ``.npz``
that ``benchmarks/sst2_victims/tfidf.py`` or ``cnn.py`` (then NAME starts with cnn) has written. Runs
``rif audit`` for each and ``rif compare`` over all, as a user would, and prints what ``rif compare`` says.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
from pathlib import Path

from rif_plugins.similar import PairSource

LABELS = ("negative", "positive")


def write_sentences(data_dir: Path, file: Path, limit: int) -> int:
    """The sentences of SST-2 dev and test that have a gender token, as a CSV with a header."""
    source = PairSource(attributes=["gender"])
    rows = [
        line.rstrip("\n").split("\t")
        for part in ("dev", "test")
        for line in (data_dir / "sst2" / f"{part}.tsv").read_text(encoding="utf-8").splitlines()
    ]
    kept = [(text, LABELS[int(label)]) for text, label in rows if source.pairs_of(text)][:limit]
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["text", "label"])
        writer.writerows(kept)
    return len(kept)


_LOADER = """\
import sys

sys.path.insert(0, {folder!r})
from {module} import {name}

model = {name}.load({path!r})
"""


def model_of(name: str, model: str, out: Path) -> str:
    """The value of ``--model``: a saved array becomes a file with a variable ``model``."""
    if not model.endswith(".npz"):
        return model
    kind = ("cnn", "WordCNN") if name.startswith("cnn") else ("rif_plugins.victims", "TfidfLinearModel")
    folder = str(Path(__file__).resolve().parent / "sst2_victims")
    file = out / f"{name}.py"
    path = str(Path(model).resolve())
    text = _LOADER.format(folder=folder, module=kind[0], name=kind[1], path=path)
    file.write_text(text, encoding="utf-8")
    return str(file)


def rif(*arguments: str) -> None:
    """Run one command of the project and stop where it fails."""
    print("rif", *arguments, flush=True)
    done = subprocess.run([sys.executable, "-m", "rif_plugins.cli.main", *arguments], check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(done.returncode)


def main() -> int:
    """Audit each victim, then compare."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    place = os.environ.get("RIF_DATA_DIR")
    parser.add_argument("--data-dir", type=Path, default=Path(place) if place else None)
    parser.add_argument("--victim", action="append", required=True, metavar="NAME=MODEL")
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("out/compare"))
    args = parser.parse_args()
    if args.data_dir is None:
        raise SystemExit("not run: data absent; say where it is with --data-dir or RIF_DATA_DIR")
    args.out.mkdir(parents=True, exist_ok=True)
    data = args.out / "sst2_gender.csv"
    print(write_sentences(args.data_dir, data, args.limit), "sentences")
    folders = []
    for victim in args.victim:
        name, _, model = victim.partition("=")
        folder = args.out / name
        folders.append(str(folder))
        options = ["--sensitive", "gender", "--label-names", ",".join(LABELS), "--quiet", "--resume"]
        rif(
            "audit",
            "--model",
            model_of(name, model, args.out),
            "--data",
            str(data),
            "--out",
            str(folder),
            *options,
        )
    names = ",".join(Path(folder).name for folder in folders)
    rif("compare", *folders, "--names", names, "--out", str(args.out / "comparison"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
