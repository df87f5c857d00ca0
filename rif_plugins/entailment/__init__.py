"""The filter that decides which edits keep the meaning: entailment scorers, S_eq, probe, veto."""

from rif_plugins.entailment.base import EntailmentScorer, equivalence, equivalence_directions
from rif_plugins.entailment.cosine import CosineScorer
from rif_plugins.entailment.embedded import EmbeddedScorer
from rif_plugins.entailment.filter import EntailmentFilter, Verdict
from rif_plugins.entailment.hugging_face import HuggingFaceScorer
from rif_plugins.entailment.loading import load_scorer
from rif_plugins.entailment.probe import PROBE, probe
from rif_plugins.entailment.veto import LexiconVeto, Veto

__all__ = [
    "PROBE",
    "CosineScorer",
    "EmbeddedScorer",
    "EntailmentFilter",
    "EntailmentScorer",
    "HuggingFaceScorer",
    "LexiconVeto",
    "Verdict",
    "Veto",
    "equivalence",
    "equivalence_directions",
    "load_scorer",
    "probe",
]
