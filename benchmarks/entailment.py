"""Figures of the entailment model in the package: held-out sets, the filter, throughput against torch.

    python benchmarks/entailment.py --data-dir DIR [--out FILE.json]

``DIR`` (or ``RIF_DATA_DIR``) holds ``nli/`` and ``sst2/``. Without it the script prints that it did not run.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from entailment_lab.nli_sets import data_folder, test_sets

PACKAGES = ("numpy", "onnxruntime", "tokenizers", "torch", "transformers")


def _say(message: str) -> None:
    print(message, flush=True)


def speeds(folder: Path, data: Path, number: int, threads: int) -> dict[str, Any]:
    """Pairs a second in sorted batches of 64: the packaged scorer, and torch with its weights in float32."""
    import torch
    from entailment_lab.measures import throughput
    from entailment_lab.onnx_export import float_weights
    from entailment_lab.training import load_tokenizer, predict
    from transformers import BertConfig, BertForSequenceClassification

    from rif_plugins.entailment import EmbeddedScorer

    torch.set_num_threads(threads)
    state = {name: torch.from_numpy(array) for name, array in float_weights(folder / "model.onnx").items()}
    config = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, num_labels=3
    )
    model = BertForSequenceClassification(config)
    model.load_state_dict(state, strict=False)
    tokenizer = load_tokenizer(folder, 256)
    pairs = [(row.premise, row.hypothesis) for row in test_sets(data)["snli_test"][:number]]
    scorer = EmbeddedScorer(folder, threads=threads)
    gap = float(abs(scorer.probabilities(pairs[:256]) - predict(model, tokenizer, pairs[:256])).max())
    result = {
        "pairs": number,
        "threads": threads,
        "embedded": round(throughput(scorer.probabilities, pairs), 1),
        "torch_float32": round(throughput(lambda p: predict(model, tokenizer, p), pairs), 1),
        "largest_difference_of_probabilities": gap,
    }
    _say(
        f"throughput: embedded {result['embedded']} pairs/s, "
        f"torch float32 {result['torch_float32']} pairs/s, largest difference {gap:.1e}"
    )
    return result


def batch_gap(scorer: Any, data: Path, number: int = 256) -> float:
    """Largest change of S_eq between batches of 1 and of 64."""
    from rif_plugins.entailment import equivalence

    pairs = [(row.premise, row.hypothesis) for row in test_sets(data)["cad_test"][:number]]
    alone = [equivalence(scorer, [pair])[0] for pair in pairs]
    return float(abs(equivalence(scorer, pairs) - alone).max())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", help="folder with nli/ and sst2/ (default: RIF_DATA_DIR)")
    parser.add_argument("--model", type=Path, help="folder with model.onnx (default: the package's)")
    parser.add_argument("--out", type=Path, default=Path("out") / "entailment.json")
    parser.add_argument("--pairs", type=int, default=2000, help="pairs for the throughput")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    data = data_folder(options.data_dir)
    if data is None:
        _say("not run: data absent (give --data-dir or set RIF_DATA_DIR)")
        return 0
    from entailment_lab.figures import held_out, markdown
    from entailment_lab.measures import provenance, sha256

    from rif_plugins.entailment import EmbeddedScorer
    from rif_plugins.entailment.embedded import DATA_FOLDER

    folder = options.model or DATA_FOLDER
    scorer = EmbeddedScorer(folder)
    figures = held_out(scorer.probabilities, data, _say)
    figures["batch_gap"] = batch_gap(scorer, data)
    _say(f"largest change of S_eq between batches of 1 and 64: {figures['batch_gap']:.1e}")
    figures["throughput"] = speeds(folder, data, options.pairs, options.threads)
    record = {
        "model": {"version": scorer.version, "sha256": sha256(folder / "model.onnx")},
        "figures": figures,
        "provenance": provenance(data, PACKAGES),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    table = markdown(figures)
    options.out.with_suffix(".md").write_text(table, encoding="utf-8")
    _say(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
