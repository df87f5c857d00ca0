"""From the value of ``--model`` to something that can be trained again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rif_plugins.errors import UsageError
from rif_plugins.victims.base import Victim

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """What a model is trained on: the data, then the augmented rows.

    Attributes:
        texts, labels, weights: One entry a row.
        n_augmented: How many of them, the last ones, are augmented.
    """

    texts: tuple[str, ...]
    labels: tuple[int, ...]
    weights: tuple[float, ...]
    n_augmented: int = 0


class Fitter(Protocol):
    """Trains a fresh model; equal rows and seed give an equal model where the model's own code does."""

    @property
    def name(self) -> str:
        """What to call the model."""
        ...  # pragma: no cover

    def fit(self, rows: TrainingRows, seed: int, folder: Path | None) -> Victim:
        """Train, keep the model in ``folder`` where the kind of model can be kept, and return it."""
        ...  # pragma: no cover


@dataclass(frozen=True)
class TfidfFitter:
    """A TF-IDF linear classifier like the embedded one, fitted to the training data alone."""

    label_names: tuple[str, ...]
    name: str = "TF-IDF linear"

    def fit(self, rows: TrainingRows, seed: int, folder: Path | None) -> Victim:
        """Deterministic; the seed plays no part. Writes ``model.npz``."""
        from rif_plugins.victims.tfidf_fitting import fit_tfidf

        if len(self.label_names) != 2:
            raise UsageError(
                f"the embedded kind of model has two classes, the run has {len(self.label_names)}: "
                "give --model a file.py with a function `fit`, or a Hugging Face model"
            )
        first, second = self.label_names
        model = fit_tfidf(rows.texts, rows.labels, rows.weights, label_names=(first, second))
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            model.save(folder / "model.npz")
        return Victim(
            name=self.name,
            predict=model,
            output="probabilities",
            label_names=self.label_names,
            identity=model,
        )


@dataclass(frozen=True)
class FunctionFitter:
    """A user's function ``fit(texts, labels, ...)`` that returns a callable from texts to rows.

    ``weights`` and ``seed`` are handed over by name where the function takes them.
    """

    name: str
    function: Callable[..., Any]
    label_names: tuple[str, ...]

    def fit(self, rows: TrainingRows, seed: int, folder: Path | None) -> Victim:
        """Call the function.

        Raises:
            UsageError: It raises, or returns nothing that predicts.
        """
        known = inspect.signature(self.function).parameters
        takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
        offered = {"weights": list(rows.weights), "seed": seed}
        extra = {name: value for name, value in offered.items() if takes_all or name in known}
        try:
            model = self.function(list(rows.texts), list(rows.labels), **extra)
        except Exception as error:
            line = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise UsageError(f"{self.name}: fit raised {line}: mend the function") from error
        return _victim_of(model, self.name, self.label_names)


@dataclass(frozen=True)
class EstimatorFitter:
    """A scikit-learn classifier of texts: a clone of it is fitted each time."""

    name: str
    estimator: Any
    label_names: tuple[str, ...]

    def fit(self, rows: TrainingRows, seed: int, folder: Path | None) -> Victim:
        """Fit a clone; weights reach the last step of a pipeline, the seed every ``random_state``.

        Raises:
            UsageError: The estimator cannot be fitted to the rows.
        """
        from sklearn.base import clone

        model = clone(self.estimator)
        names = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
        model.set_params(**dict.fromkeys(names, seed))
        weights = np.asarray(rows.weights)
        extra: dict[str, Any] = {}
        if len(set(rows.weights)) > 1:
            steps = getattr(model, "steps", None)
            extra = {f"{steps[-1][0]}__sample_weight" if steps else "sample_weight": weights}
        try:
            model.fit(list(rows.texts), np.asarray(rows.labels), **extra)
        except (TypeError, ValueError) as error:
            line = " ".join(str(error).split())[:200]
            raise UsageError(f"{self.name}: the estimator cannot be fitted ({line})") from error
        return _victim_of(model, self.name, self.label_names)


@dataclass(frozen=True)
class FineTuner:
    """A Hugging Face classifier, trained further by TextAttack's trainer from its present weights."""

    name: str
    model: str
    label_names: tuple[str, ...]
    epochs: int = 3
    learning_rate: float = 2e-5
    batch_size: int = 32
    max_length: int | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            UsageError: One is.
        """
        for name, value in (("epochs", self.epochs), ("train-batch-size", self.batch_size)):
            if value < 1:
                raise UsageError(f"--{name} must be a whole number from 1, got {value}")
        if not 0 < self.learning_rate < float("inf"):
            raise UsageError(f"--learning-rate must be a number above 0, got {self.learning_rate}")

    def fit(self, rows: TrainingRows, seed: int, folder: Path | None) -> Victim:
        """Train further; the model stays in ``folder/last_model``, which `rif audit --model` takes."""
        import tempfile

        from rif_plugins.text.retraining import FineTuning, fine_tune
        from rif_plugins.victims.hugging_face import load_hugging_face

        settings = FineTuning(self.epochs, self.learning_rate, self.batch_size, self.max_length)
        n = len(rows.texts) - rows.n_augmented
        weight = rows.weights[n] if rows.n_augmented else 1.0
        where = folder or Path(tempfile.mkdtemp(prefix="rif-retrain-"))
        kept = fine_tune(
            self.model,
            rows.texts[:n],
            rows.labels[:n],
            (rows.texts[n:], rows.labels[n:], weight),
            where,
            n_labels=len(self.label_names),
            settings=settings,
            seed=seed,
        )
        victim = load_hugging_face(str(kept), device=self.device, max_length=self.max_length, labels=None)
        return replace(victim, name=f"{self.name}, retrained")


def load_fitter(
    spec: str,
    label_names: tuple[str, ...],
    *,
    epochs: int = 3,
    learning_rate: float = 2e-5,
    batch_size: int = 32,
    max_length: int | None = None,
    device: str | None = None,
) -> Fitter:
    """What trains the model that ``spec`` names.

    Args:
        spec: As for `rif audit`: ``"embedded"``, a ``file.py`` with a function ``fit`` or a scikit-learn
            ``model``, or a Hugging Face folder or name.
        label_names: The run's class names, in order.
        epochs: Passes over the data, for Hugging Face models, like all that follows.
        learning_rate: Largest rate.
        batch_size: Rows a step.
        max_length: Most tokens of a text; None takes the tokenizer's own.
        device: Torch device of the trained model.

    Raises:
        UsageError: Such a model cannot be trained here.
    """
    if spec == EMBEDDED:
        return TfidfFitter(label_names)
    if spec.startswith(("llm:", "http://", "https://")):
        raise UsageError(
            f"--model {spec.split('?')[0]}: a model behind an address cannot be retrained: expected "
            "embedded, a file.py with a function `fit`, or a Hugging Face folder or name"
        )
    if not spec.endswith(".py"):
        name = Path(spec).name or spec
        return FineTuner(name, spec, label_names, epochs, learning_rate, batch_size, max_length, device)
    from rif_plugins.victims.python_file import run_file

    path = Path(spec).expanduser()
    module = run_file(path)
    if callable(getattr(module, "fit", None)):
        return FunctionFitter(path.name, module.fit, label_names)
    model = getattr(module, "model", None)
    if callable(getattr(model, "fit", None)) and hasattr(model, "get_params"):
        return EstimatorFitter(path.name, model, label_names)
    raise UsageError(
        f"{path.name} has no function `fit(texts, labels)` and no scikit-learn `model`: expected one "
        "of them, so that the model can be trained again"
    )


def _victim_of(model: Any, name: str, label_names: Sequence[str]) -> Victim:
    from rif_plugins.victims.python_file import EstimatorCall

    predict = model
    output = "auto"
    if not callable(model):
        method = next((m for m in ("predict_proba", "decision_function") if hasattr(model, m)), None)
        if method is None:
            raise UsageError(
                f"{name}: fit returned a {type(model).__name__}, expected a callable from a list of texts to "
                "class probabilities, or a fitted scikit-learn classifier"
            )
        predict = EstimatorCall(model, method)
        output = "probabilities" if method == "predict_proba" else "logits"
    return Victim(
        name=f"{name}, retrained",
        predict=predict,
        output=output,  # type: ignore[arg-type]
        label_names=tuple(label_names),
        identity=model,
    )
