"""The gradient search on tokens as a TextAttack search method."""

from __future__ import annotations

from typing import Any, Literal

from rif_plugins.core.pair_search import PairSearchResult
from rif_plugins.core.pairs import SIDES, Pair
from rif_plugins.core.predictions import OutputKind
from rif_plugins.core.sides import align_tokens
from rif_plugins.errors import UsageError
from rif_plugins.settings import Settings
from rif_plugins.text.goal_functions import PairGoalFunction
from rif_plugins.text.host_side import HostSide, HostState
from rif_plugins.text.search_methods import DecoupledPairSearch
from rif_plugins.text.shared_edits import SharedGradientSearch
from rif_plugins.text.token_gradients import gradients_of
from rif_plugins.victims.embedding_gradients import EmbeddingGradients


class GradientPairSearch(DecoupledPairSearch):
    """White-box search over a pair: the same edits on both sides, chosen by the embedding gradient.

    Needs a pair goal such as ``RobustBiased`` and a victim with gradients: a Hugging Face classifier, or a
    torch model with ``get_input_embeddings()``. A step costs two rows for the gradient and two for the
    edited pair.

    Args:
        max_steps: Most steps of one search.
        max_positions: Positions looked at in a step, those of largest gradient norm.
        max_edits: Most edits a side; None is unlimited, ``"settings"`` reads the setting.
        n_wrong_labels: More than two classes: how many wrong labels to aim at, the runner-up first.
        seed: Run seed, written into the records.
        victim_output: What a torch victim returns; a Hugging Face victim returns logits.

    Arguments that are None are read from the settings.
    """

    def __init__(
        self,
        max_steps: int = 10,
        max_positions: int | None = None,
        max_edits: int | Literal["settings"] | None = "settings",
        n_wrong_labels: int | None = None,
        seed: int | None = None,
        victim_output: OutputKind | None = None,
    ) -> None:
        super().__init__(
            positions="coupled",
            max_positions=max_positions,
            max_edits=max_edits,
            saliency="delete",
            filter_order="victim-first",
            seed=seed,
        )
        if max_steps < 1:
            raise UsageError(f"max_steps must be 1 or more, got {max_steps}")
        self.max_steps = max_steps
        settings = Settings.load()
        self.n_wrong_labels = settings.n_wrong_labels if n_wrong_labels is None else n_wrong_labels
        self.victim_output: OutputKind = victim_output or settings.victim_output
        self._gradients: tuple[Any, EmbeddingGradients] | None = None

    @property
    def is_black_box(self) -> bool:
        """Gradients are needed."""
        return False

    def _search(self, goal: PairGoalFunction, pair: Pair) -> PairSearchResult[HostState]:
        alignment = align_tokens(pair)
        first, second = (
            HostSide(self._attack, pair, side, alignment, goal.pair_source.sensitive_spans(pair.text(side)))
            for side in SIDES
        )
        goal.reserve_confirmation()
        search = SharedGradientSearch(
            (first, second),
            self._victim_gradients(goal),
            goal.score_texts,
            goal.budget,
            label=goal.ground_truth_output,
            target=goal.target,
            max_steps=self.max_steps,
            max_positions=self.max_positions,
            max_edits=self.max_edits,
            n_wrong_labels=self.n_wrong_labels,
        )
        return search.run()

    def _victim_gradients(self, goal: PairGoalFunction) -> EmbeddingGradients:
        if self._gradients is None or self._gradients[0] is not goal.model:
            self._gradients = (goal.model, gradients_of(goal.model, output=self.victim_output))
        return self._gradients[1]

    def extra_repr_keys(self) -> list[str]:
        """Fields shown in the host's print of the attack."""
        return ["max_steps", "max_positions", "max_edits"]

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the hold on the victim's parts; they are found again."""
        return {**self.__dict__, "_gradients": None}
