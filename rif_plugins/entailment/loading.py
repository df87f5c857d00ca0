"""From the value of ``--entailment`` to a scorer."""

from __future__ import annotations

from rif_plugins.entailment.base import EntailmentScorer
from rif_plugins.entailment.cosine import CosineScorer
from rif_plugins.entailment.embedded import EmbeddedScorer
from rif_plugins.entailment.hugging_face import HuggingFaceScorer
from rif_plugins.entailment.probe import probe
from rif_plugins.errors import UsageError


def load_scorer(spec: str) -> EntailmentScorer | None:
    """Make the scorer that ``spec`` names, load it, and run the start-up probe.

    Args:
        spec: ``"embedded"``; ``"hf:NAME"`` or ``"hf:FOLDER"``; ``"cosine:NAME"`` or
            ``"cosine:FOLDER"``, the ablation; ``"none"`` for no filter at all.

    Returns:
        The scorer, or None for ``"none"``.

    Raises:
        UsageError: Unknown ``spec``.
        ScorerError: The model cannot be loaded, its labels are not those of an inference model, or the probe
            finds them swapped.
    """
    kind, colon, value = spec.strip().partition(":")
    scorer: EntailmentScorer
    if kind == "none" and not colon:
        return None
    if kind == "embedded" and not colon:
        scorer = EmbeddedScorer()
    elif kind == "hf" and colon:
        scorer = HuggingFaceScorer(value.strip())
    elif kind == "cosine" and colon:
        # It knows no entailment, so the probe does not apply; what cannot be loaded is told now.
        ablation = CosineScorer(value.strip())
        ablation.cosine([("A man is eating.", "A man eats.")])
        return ablation
    else:
        raise UsageError(
            f"unknown entailment scorer {spec!r}: expected embedded, hf:NAME, hf:FOLDER, cosine:NAME, "
            "cosine:FOLDER or none"
        )
    probe(scorer)
    return scorer
