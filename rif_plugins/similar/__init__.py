"""Who counts as similar: sensitive lexicons, spans, the swap, the mask M and I(v)."""

from __future__ import annotations

from rif_plugins.similar.alignment import pair_from_texts
from rif_plugins.similar.controls import control_texts
from rif_plugins.similar.counterparts import Plan, apply_plan, similar_texts, transpositions
from rif_plugins.similar.lexicon import EMBEDDED, OPTIONAL, Lexicon
from rif_plugins.similar.masking import PLACEHOLDER, mask
from rif_plugins.similar.pair_source import PairSource
from rif_plugins.similar.spans import SensitiveSpan, find_spans

__all__ = [
    "EMBEDDED",
    "OPTIONAL",
    "PLACEHOLDER",
    "Lexicon",
    "PairSource",
    "Plan",
    "SensitiveSpan",
    "apply_plan",
    "control_texts",
    "find_spans",
    "mask",
    "pair_from_texts",
    "similar_texts",
    "transpositions",
]
