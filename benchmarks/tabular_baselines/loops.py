"""The two published searches as loops over seeds, steps and similar rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rif_plugins.tabular.row_random import RowRandom
from tabular_baselines.one_row import OneRowModel, Seen, choose, inverse_weights

Gradients = Callable[[OneRowModel, np.ndarray, Seen], tuple[np.ndarray, np.ndarray]]
FEATURE, SIGN = 0, 1


@dataclass
class LoopResult:
    """Distinct discriminatory rows, tested rows, seconds."""

    found: set[bytes]
    n_tested: int
    seconds: float


def adf_gradients(model: OneRowModel, row: np.ndarray, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of the cross-entropy of each side's own label."""
    g, other = eidig_gradients(model, row, seen)
    return -g / max(seen.confidence, 1e-12), -other / max(seen.similar_confidence, 1e-12)


def eidig_gradients(model: OneRowModel, row: np.ndarray, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of the probability of each side's own label."""
    return (
        model.class_gradient(row, seen.label).astype(np.float64),
        model.class_gradient(seen.similar, seen.similar_label).astype(np.float64),
    )


def adf(model: OneRowModel, seeds: np.ndarray, **settings: int) -> LoopResult:
    """ADF: along the signs that both losses share."""
    return _search(model, seeds, adf_gradients, decay=0.0, sign=1.0, refresh=1, **settings)


def eidig(model: OneRowModel, seeds: np.ndarray, *, refresh: int = 1000, **settings: int) -> LoopResult:
    """EIDIG: against the signs that both momenta share."""
    return _search(model, seeds, eidig_gradients, decay=0.5, sign=-1.0, refresh=refresh, **settings)


def _search(
    model: OneRowModel,
    seeds: np.ndarray,
    gradients: Gradients,
    *,
    decay: float,
    sign: float,
    refresh: int,
    n_global: int = 10,
    n_local: int = 1000,
    seed: int = 0,
) -> LoopResult:
    started = time.perf_counter()
    found: dict[bytes, tuple[np.ndarray, Seen]] = {}
    n_tested = 0
    for row in seeds:
        hit, tested = _global(model, row, gradients, decay, sign, n_global, seed)
        n_tested += tested
        if hit is not None:
            found.setdefault(hit[0].tobytes(), hit)
    everything = set(found)
    for base, seen in found.values():
        rows, tested = _local(model, base, seen, gradients, refresh, n_local, seed)
        n_tested += tested
        everything |= rows
    return LoopResult(everything, n_tested, time.perf_counter() - started)


def _global(
    model: OneRowModel,
    row: np.ndarray,
    gradients: Gradients,
    decay: float,
    sign: float,
    n_global: int,
    seed: int,
) -> tuple[tuple[np.ndarray, Seen] | None, int]:
    random = RowRandom(seed, row[None])
    m, m_other = np.zeros(len(row)), np.zeros(len(row))
    x, seen = row, model.look(row)
    for step in range(1, n_global + 1):
        if seen.is_biased:
            return (x, seen), step - 1
        g, other = gradients(model, x, seen)
        m, m_other = decay * m + g, decay * m_other + other
        direction = np.zeros(len(row))
        for column in model.free:
            if np.sign(m[column]) == np.sign(m_other[column]):
                direction[column] = sign * np.sign(m[column])
        if not direction.any():
            free = np.zeros(len(row))
            free[model.free] = 1.0
            column = choose(free, random.uniform(step, FEATURE)[0])
            direction[column] = random.signs(step, SIGN)[0]
        x = model.move(x, direction)
        seen = model.look(x)
    return ((x, seen) if seen.is_biased else None), n_global


def _local(
    model: OneRowModel,
    base: np.ndarray,
    base_seen: Seen,
    gradients: Gradients,
    refresh: int,
    n_local: int,
    seed: int,
) -> tuple[set[bytes], int]:
    random = RowRandom(seed, base[None])
    steps = np.arange(1, n_local + 1)
    features, signs = random.uniform(steps, FEATURE), random.signs(steps, SIGN)
    found = set()
    x, seen = base, base_seen
    weights = np.zeros(len(base))
    for step in range(n_local):
        if step % refresh == 0:
            weights = inverse_weights(*gradients(model, x, seen), model.free)
        direction = np.zeros(len(base))
        direction[choose(weights, features[step])] = signs[step]
        x = model.move(x, direction)
        seen = model.look(x)
        if seen.is_biased:
            found.add(x.tobytes())
        else:
            x, seen = base, base_seen
    return found, n_local
