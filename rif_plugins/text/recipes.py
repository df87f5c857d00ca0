"""RIFair recipes: find violations of robust individual fairness.

Li et al., "Perturbation Effects on Robustness and Individual Fairness", KDD 2026.

Every number below is a setting (``rif.toml`` or ``RIF_*``), with the paper's value as its default
where the paper or its released scripts give one:

* ``max_positions = 20``: their scripts attack the top 10 or 20 positions by occlusion saliency.
* ``min_equivalence = 0.8``: their scripts' threshold of ``S_eq``. They score the bare words off-line;
  we score the sentence that holds the edits, as the paper defines it (``scope = "word"`` is theirs).
* ``max_candidates = 12``: they ask a language model for 10 to 20 substitutes a token. The default
  proposer here is a WordNet lexicon, which needs no model.
* ``max_edits``: unlimited, as theirs.
"""

from __future__ import annotations

from typing import Any, ClassVar

from textattack import Attack
from textattack.attack_recipes import AttackRecipe
from textattack.constraints.pre_transformation import RepeatModification
from textattack.search_methods import SearchMethod

from rif_plugins.core.pair_search import PositionMode
from rif_plugins.settings import Settings
from rif_plugins.text import host
from rif_plugins.text.constraints import BidirectionalEntailment, SensitiveTokenProtection
from rif_plugins.text.goal_functions import PairGoalFunction, RobustBiased, UnrobustBiased, UnrobustFair
from rif_plugins.text.pairing import PairSource
from rif_plugins.text.reach_search import ReachSearch
from rif_plugins.text.search_methods import DecoupledPairSearch
from rif_plugins.text.sweep_goals import AnyViolation, FairnessOnly, RobustnessOnly
from rif_plugins.text.transformations import ProposedWordSwap


class RIFairRecipe(AttackRecipe):
    """Base of the recipes: decoupled edits on both sides of a pair, one target outcome.

    Attributes:
        goal_function_class: The goal.
        positions: A mode that is fixed whatever the settings say; None reads the settings.
    """

    goal_function_class: ClassVar[type[PairGoalFunction]]
    positions: ClassVar[PositionMode | None] = None

    @classmethod
    def build(cls, model_wrapper: Any, **kwargs: Any) -> Attack:
        """Build the attack.

        Args:
            model_wrapper: The victim.
            **kwargs: Settings that override ``rif.toml`` and ``RIF_*``, such as ``min_equivalence=0.9``.

        Raises:
            UsageError: A keyword is no setting, or something that the settings name cannot be used.
        """
        host.register()
        settings = Settings.load().updated(**kwargs)
        source = PairSource.from_settings(settings)
        goal_function = cls.goal_function_class(
            model_wrapper,
            pair_source=source,
            model_batch_size=settings.batch_size,
            results=settings.results,
            victim_output=settings.victim_output,
            seed=settings.seed,
        )
        transformation = ProposedWordSwap(lexicon=source.lexicon, settings=settings)
        constraints = [
            RepeatModification(),
            SensitiveTokenProtection(source.lexicon),
            BidirectionalEntailment(
                settings.entailment,
                min_equivalence=settings.min_equivalence,
                scope=settings.scope,
                veto=settings.veto,
            ),
        ]
        return Attack(goal_function, constraints, transformation, cls.search_method(settings))

    @classmethod
    def search_method(cls, settings: Settings) -> SearchMethod:
        """The search of this recipe."""
        return DecoupledPairSearch(
            positions=cls.positions or settings.positions,
            max_positions=settings.max_positions,
            max_edits=settings.max_edits,
            saliency=settings.saliency,
            filter_order=settings.filter_order,
            seed=settings.seed,
        )


class RIFairRobustBiased(RIFairRecipe):
    """The original keeps the right label, the similar text flips."""

    goal_function_class = RobustBiased


class RIFairUnrobustFair(RIFairRecipe):
    """Both texts flip to the same wrong label."""

    goal_function_class = UnrobustFair


class RIFairUnrobustBiased(RIFairRecipe):
    """The original flips, the similar text does not follow."""

    goal_function_class = UnrobustBiased


class RIFairCoupledRobustBiased(RIFairRobustBiased):
    """As ``rifair-robust-biased``, with the same edits on both sides (ablation)."""

    positions = "coupled"


class RIFairCoupledUnrobustFair(RIFairUnrobustFair):
    """As ``rifair-unrobust-fair``, with the same edits on both sides (ablation)."""

    positions = "coupled"


class RIFairCoupledUnrobustBiased(RIFairUnrobustBiased):
    """As ``rifair-unrobust-biased``, with the same edits on both sides (ablation)."""

    positions = "coupled"


class RIFair(RIFairRecipe):
    """All three targets in one sweep: one search a text answers every pair and target."""

    goal_function_class = AnyViolation

    @classmethod
    def search_method(cls, settings: Settings) -> SearchMethod:
        """One search a text."""
        return ReachSearch(
            max_positions=settings.max_positions,
            max_edits=settings.max_edits,
            beam=settings.beam,
            saliency=settings.saliency,
            exhaustive=settings.exhaustive,
            filter_order=settings.filter_order,
            seed=settings.seed,
        )


class RobustnessOnlyBaseline(RIFair):
    """Flip the original and never look at the pair: what a robustness check does."""

    goal_function_class = RobustnessOnly


class FairnessOnlyBaseline(RIFair):
    """Make the two predictions differ with the same edits: what an individual-fairness check does."""

    goal_function_class = FairnessOnly


__all__ = [
    "FairnessOnlyBaseline",
    "RIFair",
    "RIFairCoupledRobustBiased",
    "RIFairCoupledUnrobustBiased",
    "RIFairCoupledUnrobustFair",
    "RIFairRecipe",
    "RIFairRobustBiased",
    "RIFairUnrobustBiased",
    "RIFairUnrobustFair",
    "RobustnessOnlyBaseline",
]
