"""Bring any callable victim into TextAttack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from textattack.models.wrappers import ModelWrapper

from rif_plugins.core.predictions import OutputKind, PredictionReader
from rif_plugins.errors import VictimError


class CallableModelWrapper(ModelWrapper):
    """A TextAttack model wrapper around any callable from a list of texts to class scores.

    ``predict`` may return probabilities or logits, ``(n, classes)``, or ``(n,)`` or ``(n, 1)`` for one
    sigmoid, as lists, arrays or tensors; TextAttack and its goal functions get probabilities.

    Example:
        >>> from rif_plugins.victims import EmbeddedVictim
        >>> CallableModelWrapper(EmbeddedVictim())(["Hello there."]).shape
        (1, 2)
    """

    def __init__(self, predict: Callable[[list[str]], Any], *, output: OutputKind = "auto") -> None:
        """Wrap ``predict``.

        Args:
            predict: The victim.
            output: What it returns: ``"auto"``, ``"probabilities"`` or ``"logits"``.

        Raises:
            VictimError: ``predict`` cannot be called.
        """
        if not callable(predict):
            raise VictimError(
                f"a victim must be callable with a list of texts, got {type(predict).__name__}: "
                "pass a function or an object with __call__"
            )
        self.model = predict  # the name under which the host's goal functions look for the model
        self._reader = PredictionReader(output=output)

    def __call__(self, text_input_list: Sequence[str], **kwargs: Any) -> NDArray[np.float64]:
        """Class probabilities, shape (n, classes); the host's keywords (``batch_size``) are ignored.

        Raises:
            VictimError: ``predict`` returned something that is not a prediction.
        """
        texts = list(text_input_list)
        return self._reader.read(self.model(texts), len(texts))

    def __repr__(self) -> str:
        """Name the wrapped callable."""
        return f"CallableModelWrapper({self.model!r})"
