"""Random generators that do not depend on the order of work.

The seed of an example is a function of the run's seed and the example's id alone, so results are the
same for any batch size, number of workers and order of examples.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np


def example_id(text: str, label: int | None) -> str:
    """The name of a data row: twelve digits of a digest of its text and label."""
    key = json.dumps([text, label]).encode("ascii")
    return hashlib.blake2b(key, digest_size=6).hexdigest()


def example_seed(run_seed: int, example_id: str) -> int:
    """A 64-bit seed for one example."""
    digest = hashlib.sha256(f"{run_seed}\x1f{example_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")


def example_generator(run_seed: int, example_id: str) -> np.random.Generator:
    """A fresh generator for one example."""
    return np.random.default_rng(example_seed(run_seed, example_id))
