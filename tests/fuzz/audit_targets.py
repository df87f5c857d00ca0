"""Whole audits of hostile texts with a victim that costs nothing."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import numpy as np
from fuzz import hostile
from fuzz.engine import Target
from hypothesis import strategies as st

from rif_plugins.core.outcomes import ALL_TARGETS
from rif_plugins.core.results import STATUSES, Record
from rif_plugins.entailment import EntailmentFilter, load_scorer
from rif_plugins.runner.api import audit

Asked = tuple[list[tuple[str, int]], dict[str, Any]]
_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"beam": 2, "saliency": "mask"},
    {"saliency": "random", "query_budget": 5},
    {"exhaustive": 1, "max_positions": 2},
    {"labels": "predicted", "controls": True, "sensitive": "gender,names"},
    {"targets": "robust_biased,fairness_only", "max_edits": 1, "counterparts": 2},
    {"sensitive": "gender*race", "protect": "film"},
)


def victim(texts: list[str]) -> Any:
    """Probabilities that depend on every character, steep enough to be flipped by one word."""
    sums = np.array([sum(map(ord, text)) % 17 for text in texts], dtype=np.float64)
    p = 1 / (1 + np.exp(8.5 - sums))
    return np.stack([1 - p, p], axis=1)


def check_audit(asked: Asked) -> None:
    rows, options = asked
    options = {"max_positions": 4, **options}
    run = audit(victim, rows, entailment="none", cache="off", max_candidates=3, **options)
    for record in run.records:
        assert record.status in STATUSES
        # Only a budget that is too small ends an example in an error here.
        assert record.status != "error" or "query_budget" in options, record.message
        assert record.target in (*ALL_TARGETS, "")
        data = json.loads(json.dumps(record.to_dict(), allow_nan=False))
        assert Record.from_dict(data) == record
        if record.is_found:
            found = [record.probabilities[f"perturbed_{side}"] for side in ("original", "similar")]
            again = victim([record.perturbed_original, record.perturbed_similar])
            assert np.allclose(found, again, atol=1e-7)
    json.dumps(run.summary, allow_nan=False)


def _asked(rng: random.Random) -> Asked:
    rows = [(hostile.text(rng, 9), rng.choice((0, 1, 1, 0, 2, -1))) for _ in range(rng.randint(1, 3))]
    return rows, rng.choice(_OPTIONS)


@cache
def _filter() -> EntailmentFilter:
    scorer = load_scorer("embedded")
    assert scorer is not None
    return EntailmentFilter(scorer)


def check_filter(texts: tuple[str, str]) -> None:
    forth, back, same = _filter().check_many([texts, texts[::-1], (texts[0], texts[0])])
    for verdict in (forth, back):
        assert 0 <= verdict.forward <= 1
        assert 0 <= verdict.backward <= 1
        assert 0 <= verdict.score <= 1
    assert same.accepted


def _two(rng: random.Random) -> tuple[str, str]:
    first = hostile.text(rng, 8)
    words = first.split(" ")
    words[rng.randrange(len(words))] = rng.choice((*hostile.PLAIN, *hostile.ODD))
    return first, " ".join(words)


_ROWS = st.lists(st.tuples(hostile.TEXTS, st.integers(0, 1)), min_size=1, max_size=2)
TARGETS = (
    Target("audit.texts", check_audit, _asked, st.tuples(_ROWS, st.sampled_from(_OPTIONS)), is_slow=True),
    Target(
        "audit.embedded filter", check_filter, _two, st.tuples(hostile.TEXTS, hostile.TEXTS), is_slow=True
    ),
)
