"""From a user's model to an ART classifier: scikit-learn, torch, ART's own, or any function of rows.

A model has gradients where ART or torch gives them; every other one becomes a black box, which attacks
differentiate by differences of its outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from art.estimators.classification import PyTorchClassifier, SklearnClassifier
from art.estimators.classification.classifier import ClassGradientsMixin, ClassifierMixin
from art.estimators.estimator import BaseEstimator
from numpy.typing import NDArray

from rif_plugins.core.predictions import PredictionReader
from rif_plugins.errors import UsageError, VictimError
from rif_plugins.tables import FieldLayout, TableEncoder
from rif_plugins.tables.inference import label_of
from rif_plugins.tabular.embedding_space import EmbeddingSpace
from rif_plugins.tabular.gradients import model_dtype, prediction_source
from rif_plugins.tabular.row_estimator import RowEstimator

FloatArray = NDArray[np.float64]
Reads = Literal["auto", "array", "frame"]
_EXPECTED = (
    "a fitted scikit-learn classifier, a torch module that returns logits, a classifier of ART, "
    "or a function from rows (n, d) to class probabilities (n, classes)"
)
_PROBE_ROWS = 8


@dataclass(frozen=True)
class Estimator:
    """A model as attacks take it.

    Attributes:
        plain: ART classifier of rows of the encoder's schema.
        packed: ART classifier of packed rows ``[index | value]``, where the model follows the embedding
            protocol.
        n_labels: Number of classes.
        class_names: The model's own names of its classes (``classes_``), where it has any.
        reads: What the model is called with: ``"array"``, ``"frame"`` (raw values) or ``"packed"``.
    """

    plain: Any
    packed: Any
    n_labels: int
    class_names: tuple[str, ...] | None
    reads: str


def as_estimator(model: Any, encoder: TableEncoder, x: FloatArray, *, reads: Reads = "auto") -> Estimator:
    """Make a model an ART classifier of the encoder's rows.

    Args:
        model: See the module.
        encoder: How raw rows became the array.
        x: Some rows of the array ``(n, d)``, to try the model on.
        reads: Whether a scikit-learn classifier or a function takes the encoded array or a DataFrame of raw
            values. ``"auto"``: a DataFrame where the classifier was fitted on one.

    Raises:
        VictimError: The model is none of these, or does not answer the rows.
    """
    if isinstance(model, type):
        raise VictimError(
            f"`model` is the class {model.__name__}, expected an object: "
            f"write `model = {model.__name__}(...)`"
        )
    probe = np.asarray(x[:_PROBE_ROWS], dtype=np.float64)
    if isinstance(model, ClassifierMixin) and isinstance(model, BaseEstimator):
        return Estimator(model, None, _checked(model, probe), None, "array")
    if callable(getattr(model, "named_parameters", None)) and callable(getattr(model, "forward", None)):
        return _torch(model, encoder, probe)
    method = next((name for name in ("predict_proba", "decision_function") if hasattr(model, name)), None)
    if method is not None:
        return _scikit(model, method, encoder, probe, reads)
    if not callable(model):
        raise VictimError(f"`model` is a {type(model).__name__}, expected {_EXPECTED}")
    function = in_frames(model, encoder) if reads == "frame" else model
    plain = _black_box(function, encoder, probe)
    return Estimator(plain, None, plain.nb_classes, None, "frame" if reads == "frame" else "array")


def in_frames(function: Callable[[Any], Any], encoder: TableEncoder) -> Callable[[FloatArray], Any]:
    """A function of DataFrames as a function of array rows; features are put on their nearest values first.

    Args:
        function: Takes raw rows as a DataFrame.
        encoder: Decodes the array.
    """
    names = getattr(getattr(function, "__self__", None), "feature_names_in_", None)
    columns = list(encoder.raw.names) if names is None else [str(name) for name in names]
    absent = [name for name in columns if name not in encoder.raw.names]
    if absent:
        raise VictimError(
            f"the model was fitted on the column {absent[0]!r}, which the schema does not have: it has "
            f"{', '.join(encoder.raw.names)}"
        )

    def answer(rows: FloatArray) -> Any:
        # Gradients by differences and ART's attacks ask between two codes too.
        return function(encoder.decode(nearest_rows(rows, encoder))[columns])

    return answer


def nearest_rows(rows: FloatArray, encoder: TableEncoder) -> FloatArray:
    """Rows ``(n, d)`` with every column at its nearest allowed value, sensitive ones included."""
    out = np.array(rows, dtype=np.float64)
    for column in encoder.schema.columns:
        part = encoder.schema.slice_of(column.name)
        out[:, part] = column.nearest(out[:, part])
    return out


def _scikit(model: Any, method: str, encoder: TableEncoder, probe: FloatArray, reads: Reads) -> Estimator:
    names = tuple(label_of(value) for value in np.asarray(getattr(model, "classes_", ())).tolist()) or None
    wants_frame = reads == "frame" or (reads == "auto" and hasattr(model, "feature_names_in_"))
    if not wants_frame:
        white = _white_box(model, probe)
        if white is not None:
            return Estimator(white, None, _checked(white, probe), names, "array")
    call = getattr(model, method)
    try:
        plain = _black_box(in_frames(call, encoder) if wants_frame else call, encoder, probe)
    except VictimError as error:
        asked = "a DataFrame of raw values" if wants_frame else "the encoded array"
        raise VictimError(
            f"{error} (it was given {asked}: say what it reads with --reads frame or --reads array)"
        ) from error
    return Estimator(plain, None, plain.nb_classes, names, "frame" if wants_frame else "array")


def _white_box(model: Any, probe: FloatArray) -> Any:
    """ART's own wrapper where it has gradients that work, else None."""
    try:
        wrapped = SklearnClassifier(model)
        if not isinstance(wrapped, ClassGradientsMixin):
            return None
        gradient = np.asarray(wrapped.class_gradient(probe))
    except Exception:
        return None  # ART reads attributes that newer releases of scikit-learn no longer have
    return wrapped if gradient.shape[0] == len(probe) and np.isfinite(gradient).all() else None


def _torch(model: Any, encoder: TableEncoder, probe: FloatArray) -> Estimator:
    has_embedding = EmbeddingSpace.is_offered(model)
    layout = FieldLayout(encoder.schema)
    rows = layout.pack(probe) if has_embedding else probe
    wrapped = _torch_classifier(model, rows)
    n_labels = _checked(wrapped, rows)
    if not has_embedding:
        return Estimator(wrapped, None, n_labels, None, "array")

    source = prediction_source(wrapped)
    source.probabilities(rows)

    def unpacked(plain_rows: FloatArray) -> FloatArray:
        return source.probabilities(layout.pack(nearest_rows(plain_rows, encoder)))

    plain = RowEstimator(unpacked, encoder.schema.n_features, n_labels)
    return Estimator(plain, wrapped, n_labels, None, "packed")


def _torch_classifier(model: Any, rows: FloatArray) -> Any:
    import torch

    model.eval()
    kinds = [(p.dtype, p.device) for p in model.parameters() if p.is_floating_point()]
    kind, device = kinds[0] if kinds else (torch.float32, torch.device("cpu"))
    try:
        with torch.no_grad():
            outputs = model(torch.as_tensor(rows, dtype=kind, device=device))
        width = 1 if outputs.ndim == 1 else int(outputs.shape[1])
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise VictimError(
            f"the torch model raised {what} on rows of shape {rows.shape}: it must take the encoded array "
            "(see --scaling and --one-hot) and return logits (n, classes)"
        ) from error
    return PyTorchClassifier(
        model=model,
        loss=torch.nn.CrossEntropyLoss(),
        input_shape=(rows.shape[1],),
        nb_classes=max(2, width),
        device_type="cpu" if device.type == "cpu" else "gpu",
    )


def _black_box(function: Callable[[FloatArray], Any], encoder: TableEncoder, probe: FloatArray) -> Any:
    trial = RowEstimator(function, encoder.schema.n_features, 2)
    return RowEstimator(function, encoder.schema.n_features, _checked(trial, probe))


def _checked(estimator: Any, probe: FloatArray) -> int:
    """The number of classes that the answers to some rows show."""
    shape = getattr(estimator, "input_shape", None)
    if shape and tuple(shape) != probe.shape[1:]:
        raise UsageError(
            f"the model takes rows of shape {tuple(shape)}, the encoded table has {probe.shape[1:]}: "
            "encode as it was trained (--scaling, --one-hot, or a variable `encoder` in the model's file)"
        )
    reader = PredictionReader()
    try:
        answer = estimator.predict(probe.astype(model_dtype(estimator)))
    except VictimError:
        raise
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise VictimError(f"the model raised {what} on encoded rows of shape {probe.shape}") from error
    return reader.read(answer, len(probe)).shape[1]
