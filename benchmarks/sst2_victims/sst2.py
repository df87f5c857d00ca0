"""Read SST-2 from a folder that the user names; nothing of it is part of the package."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

SPLITS = ("train", "dev", "test")


def add_data_dir(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add ``--data-dir``, which defaults to the environment variable ``RIF_DATA_DIR``."""
    default = os.environ.get("RIF_DATA_DIR")
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path(default) if default else None,
        required=required and default is None,
        help="folder with sst2/train.tsv, dev.tsv and test.tsv (default: RIF_DATA_DIR)",
    )


def read_split(data_dir: Path, split: str) -> tuple[list[str], list[int]]:
    """Sentences and labels (1 positive) of ``sst2/<split>.tsv``: sentence, tab, label; no header."""
    path = data_dir / "sst2" / f"{split}.tsv"
    if not path.is_file():
        raise SystemExit(f"{path} does not exist: --data-dir names the folder that holds sst2/{split}.tsv")
    rows = [line.rsplit("\t", 1) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return [sentence for sentence, _ in rows], [int(label) for _, label in rows]
