"""Train the entailment model that ships with rif-plugins and print its figures on the held-out sets.

    python benchmarks/train_entailment.py --data-dir DIR --out FOLDER [--install]

``DIR`` (or ``RIF_DATA_DIR``) holds ``nli/`` and ``sst2/``. Without it the script prints that it did not run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]

from entailment_lab.nli_sets import Row, data_folder, sentences, training_rows


def _say(message: str) -> None:
    print(message, flush=True)


def _epochs(folder: Path, base: Path, options: argparse.Namespace) -> list[list[Row]]:
    from entailment_lab.generator import Generator
    from entailment_lab.training import load_tokenizer

    tokenizer = load_tokenizer(base)

    def pieces(word: str) -> int:
        return len(tokenizer.encode(word, add_special_tokens=False).ids)

    human = training_rows(folder)
    generator = Generator(sentences(folder), pieces, seed=options.seed)
    epochs = []
    for epoch in range(options.epochs):
        made = generator.rows(options.seed * 1000 + epoch, scale=options.scale)
        rows = human + made
        epochs.append(rows[:: max(1, len(rows) // options.limit)] if options.limit else rows)
        _say(f"epoch {epoch + 1}: {len(human)} labelled pairs, {len(made)} one-word pairs")
    return epochs


def main() -> int:
    """Train, export, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder with nli/ and sst2/ (default: RIF_DATA_DIR)")
    parser.add_argument("--base-model", help="folder of the MiniLM-L6 weights (default: the installed package)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0, help="number of one-word pairs, relative")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=int, default=0, help="about this many pairs an epoch: a smoke run")
    options = parser.parse_args()
    folder = data_folder(options.data_dir)
    if folder is None:
        _say("not run: data absent (give --data-dir or set RIF_DATA_DIR)")
        return 0
    from entailment_lab.training import Settings, base_model_folder, train

    started = time.monotonic()
    base = base_model_folder(options.base_model)
    settings = Settings(seed=options.seed, epochs=options.epochs, threads=options.threads)
    epochs = _epochs(folder, base, options)
    train(epochs, base, options.out, settings, _say)
    _say(f"trained in {(time.monotonic() - started) / 60:.1f} minutes")
    (options.out / "seconds.json").write_text(json.dumps({"seconds": time.monotonic() - started}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
