"""Train the entailment model that ships with rif-plugins and print its figures on the held-out sets.

    python benchmarks/train_entailment.py --data-dir DIR [--out FOLDER] [--install]

``DIR`` (or ``RIF_DATA_DIR``) holds ``nli/`` and ``sst2/``. Without it the script prints that it did not run.
The same seed, number of threads and library versions give the same model.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from entailment_lab.nli_sets import LABELS, Row, data_folder, sentences, training_rows

VERSION = "minilm-nli-1"
PACKAGES = ("lemminflect", "numpy", "onnx", "onnxruntime", "tokenizers", "torch", "transformers")


def _say(message: str) -> None:
    print(message, flush=True)


def epochs_of_rows(folder: Path, base: Path, options: argparse.Namespace) -> list[list[Row]]:
    """The labelled rows with fresh one-word pairs for each epoch."""
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


def export_and_measure(checkpoint: Path, data: Path, out: Path, temperature: float) -> dict[str, Any]:
    """Write ``model.onnx`` and ``tokenizer.json`` into ``out`` and measure them."""
    from entailment_lab.figures import held_out
    from entailment_lab.onnx_export import export
    from entailment_lab.training import load_model, load_tokenizer

    from rif_plugins.entailment import EmbeddedScorer

    metadata = {"version": VERSION, "labels": ",".join(LABELS), "temperature": str(temperature)}
    export(load_model(checkpoint), out, temperature=temperature, metadata=metadata)
    load_tokenizer(checkpoint).save(str(out / "tokenizer.json"), pretty=False)
    return held_out(EmbeddedScorer(out).probabilities, data, _say)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", help="folder with nli/ and sst2/ (default: RIF_DATA_DIR)")
    parser.add_argument(
        "--base-model", help="folder of the MiniLM-L6 weights (default: the installed package)"
    )
    parser.add_argument("--out", type=Path, default=Path("out") / "entailment_model")
    parser.add_argument("--checkpoint", type=Path, help="export and measure this checkpoint, train nothing")
    parser.add_argument("--install", action="store_true", help="copy the model into the package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--scale", type=float, default=0.62, help="number of one-word pairs, relative")
    parser.add_argument("--temperature", type=float, default=0.85, help="divides the logits at export")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=int, default=0, help="about this many pairs an epoch: a smoke run")
    options = parser.parse_args()
    data = data_folder(options.data_dir)
    if data is None:
        _say("not run: data absent (give --data-dir or set RIF_DATA_DIR)")
        return 0
    from entailment_lab.measures import provenance, sha256
    from entailment_lab.training import Settings, base_model_folder, train

    from rif_plugins.entailment.embedded import DATA_FOLDER

    started = time.monotonic()
    settings = Settings(seed=options.seed, epochs=options.epochs, threads=options.threads)
    checkpoint = options.checkpoint or options.out / "checkpoint"
    if options.checkpoint is None:
        base = base_model_folder(options.base_model)
        train(epochs_of_rows(data, base, options), base, checkpoint, settings, _say)
        _say(f"trained in {(time.monotonic() - started) / 60:.1f} minutes")
    figures = export_and_measure(checkpoint, data, options.out, options.temperature)
    record = {
        "model": {"version": VERSION, "sha256": sha256(options.out / "model.onnx")},
        "settings": {**asdict(settings), "scale": options.scale, "temperature": options.temperature},
        "minutes": round((time.monotonic() - started) / 60, 1),
        "figures": figures,
        "provenance": provenance(data, PACKAGES),
    }
    (options.out / "figures.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if options.install:
        for name in ("model.onnx", "tokenizer.json"):
            shutil.copy(options.out / name, DATA_FOLDER / name)
        _say("installed into the package")
    return 0


if __name__ == "__main__":
    sys.exit(main())
