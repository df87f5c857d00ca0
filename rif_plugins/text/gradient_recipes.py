"""White-box recipes: the same edits of both texts, chosen by the victim's embedding gradient.

Li et al., "RIFair", January 2026: the method that came before the decoupled search of KDD 2026, and differs
from it in three points: both sides share their edits, at most T = 10 of them, and positions and candidates
are chosen by the gradient. Candidates come from the proposer and pass the entailment filter, in place of the
nearest words in embedding space, among which are antonyms and words of other people.
"""

from __future__ import annotations

from typing import Any

from textattack import Attack

from rif_plugins.settings import Settings
from rif_plugins.text.goal_functions import RobustBiased, UnrobustBiased, UnrobustFair
from rif_plugins.text.gradient_search import GradientPairSearch
from rif_plugins.text.recipes import RIFairRecipe
from rif_plugins.text.token_gradients import gradients_of

MAX_STEPS = 10


class RIFairGradientRecipe(RIFairRecipe):
    """Base of the three white-box recipes: the parts of a RIFair recipe with the gradient search."""

    @classmethod
    def build(cls, model_wrapper: Any, **kwargs: Any) -> Attack:
        """Build the attack.

        Args:
            model_wrapper: The victim, with gradients.
            **kwargs: Settings that override ``rif.toml`` and ``RIF_*``, such as ``min_equivalence=0.9``.

        Raises:
            UsageError: The victim has no gradients, a keyword is no setting, or something that the settings
                name cannot be used.
        """
        settings = Settings.load().updated(**kwargs)
        gradients_of(model_wrapper)  # a victim without gradients is refused before anything is loaded
        parts = super().build(model_wrapper, **kwargs)
        search = GradientPairSearch(
            max_steps=MAX_STEPS,
            max_positions=settings.max_positions,
            max_edits=settings.max_edits,
            n_wrong_labels=settings.n_wrong_labels,
            seed=settings.seed,
            victim_output=settings.victim_output,
        )
        constraints = [*parts.pre_transformation_constraints, *parts.constraints]
        return Attack(parts.goal_function, constraints, parts.transformation, search)


class RIFairGradientRobustBiased(RIFairGradientRecipe):
    """The original keeps the right label, the similar text flips, under the same edits."""

    goal_function_class = RobustBiased


class RIFairGradientUnrobustFair(RIFairGradientRecipe):
    """Both texts flip to the same wrong label under the same edits."""

    goal_function_class = UnrobustFair


class RIFairGradientUnrobustBiased(RIFairGradientRecipe):
    """The original flips, the similar text does not follow, under the same edits."""

    goal_function_class = UnrobustBiased


__all__ = [
    "RIFairGradientRecipe",
    "RIFairGradientRobustBiased",
    "RIFairGradientUnrobustBiased",
    "RIFairGradientUnrobustFair",
]
