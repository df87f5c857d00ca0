"""RIF quadrants and rates of any TextAttack attack's log, with the counterparts of an audit."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from rif_plugins.core.pairs import Pair
from rif_plugins.metrics.attack_logs import read_attack_results
from rif_plugins.metrics.text_table import RIFTextTable, rif_text_table
from rif_plugins.runner.building import build_parts
from rif_plugins.runner.options import AuditOptions


@dataclass(frozen=True)
class Score:
    """What a log says in RIF terms.

    Attributes:
        table: Quadrants and rates.
        model: Name of the model.
        fingerprint: Its fingerprint; None where it has none.
        label_names: Names of its classes, where something names them.
    """

    table: RIFTextTable
    model: str
    fingerprint: str | None
    label_names: tuple[str, ...] | None


def score_log(log: Path, options: AuditOptions) -> Score:
    """Measure a TextAttack CSV log in RIF terms.

    Args:
        log: What ``textattack attack --log-to-csv`` wrote.
        options: Model, lexicon, attributes, counterparts, seed and cache; the rest is not used.

    Raises:
        DataError: The log cannot be read, or its labels are not the model's.
        UsageError: The model or an option cannot be used.
    """
    # A mistake in the log should not wait for the model.
    for _ in read_attack_results(log):
        break
    limit = None if options.settings.counterparts == "all" else int(options.settings.counterparts)
    settings = options.settings.updated(entailment="none", saliency="delete", counterparts="all")
    parts = build_parts(replace(options, settings=settings))
    seed = settings.seed

    def counterparts(text: str) -> list[str]:
        pairs = parts.source.pairs_of(text) if text.strip() else []
        return [pair.similar for pair in matched_sample(pairs, limit, seed)]

    try:
        table = rif_text_table(parts.engine, log, counterparts, seed=seed)
    finally:
        parts.close()
    return Score(table, parts.victim.name, parts.fingerprint.value, parts.victim.label_names)


def matched_sample(pairs: list[Pair], limit: int | None, seed: int) -> list[Pair]:
    """At most ``limit`` pairs, drawn by what changes into what and not by the text.

    An attack changes the text; the same counterparts must be drawn before and after, or pairs could not be
    matched. The attributes take turns; the order of the pairs stays.
    """
    if limit is None or len(pairs) <= limit:
        return pairs
    turns: dict[str, int] = {}
    keyed: list[tuple[int, int, int]] = []
    for place in sorted(range(len(pairs)), key=lambda place: _draw(pairs[place], seed)):
        attribute = pairs[place].attribute
        turns[attribute] = turns.get(attribute, 0) + 1
        keyed.append((turns[attribute], len(keyed), place))
    return [pairs[place] for place in sorted(place for _, _, place in sorted(keyed)[:limit])]


def _draw(pair: Pair, seed: int) -> str:
    key = "\x1f".join((str(seed), pair.attribute, pair.value_from, pair.value_to))
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
