"""A victim from a user's Python file: its variable ``model``, and ``label_names`` where it has one.

``model`` may be any callable from a list of texts to rows, TextAttack wrappers among them; a fitted
scikit-learn classifier of texts; a ``transformers`` pipeline or model (the model with a variable
``tokenizer`` beside it).  Objects are told apart by what they offer, so no host is imported for it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from rif_plugins.core.predictions import OutputKind
from rif_plugins.errors import RIFError, VictimError
from rif_plugins.victims.base import Victim, checked_label_names, one_line
from rif_plugins.victims.hugging_face import is_host_wrapper, is_sequence_classifier, victim_of

_CALLABLE = "any callable from a list of texts to rows of class probabilities or logits"


class EstimatorCall:
    """Predicts with a fitted scikit-learn classifier that takes texts."""

    def __init__(self, estimator: Any, method: str) -> None:
        self.estimator = estimator
        self.method = method

    def __call__(self, texts: list[str]) -> Any:
        """What ``predict_proba`` or ``decision_function`` returns."""
        return getattr(self.estimator, self.method)(texts)


def load_file(
    path: Path,
    *,
    output: OutputKind = "auto",
    max_length: int | None = None,
    labels: tuple[str, ...] | None = None,
) -> Victim:
    """Run ``path`` and take the victim from it.

    The file's folder is added to the end of ``sys.path``, so that it may import its neighbours.

    Args:
        path: The file; it is trusted, like every program that one runs.
        output: What ``model`` returns; known for scikit-learn and Hugging Face objects.
        max_length: Most tokens of a text, for Hugging Face objects; ``None`` takes their own.
        labels: Names of the classes instead of the file's ``label_names``.

    Raises:
        VictimError: The file is missing or raises (with the line), or has no usable ``model``.
    """
    module = run_file(path)
    if not hasattr(module, "model"):
        raise VictimError(
            f"{path.name} sets no variable `model`, found {_names_in(module)}: "
            f"set `model` to {_CALLABLE}, or to a TextAttack wrapper"
        )
    model = module.model
    if labels is None and getattr(module, "label_names", None) is not None:
        labels = checked_label_names(module.label_names, f"{path.name}, label_names")
    classifier = _sequence_classifier(model, getattr(module, "tokenizer", None))
    if classifier is not None:
        return victim_of(path.name, *classifier, max_length=max_length, labels=labels)
    if isinstance(model, type):
        raise VictimError(
            f"{path.name}: `model` is the class {model.__name__}, expected an object: "
            f"write `model = {model.__name__}(...)`"
        )
    predict, form = model, output
    if not callable(model):
        predict = _estimator_call(model, path.name)
        form = "probabilities" if predict.method == "predict_proba" else "logits"
    names = labels or _own_names(model)
    return Victim(name=path.name, predict=predict, output=form, label_names=names, identity=model)


def run_file(path: Path) -> ModuleType:
    """Run a user's Python file as a module.

    Raises:
        VictimError: The file is missing, or raises; the message names file, line and error.
    """
    source = path.resolve()
    if not source.is_file():
        raise VictimError(f"no file {str(path)!r}: expected a Python file with a variable `model`")
    name = f"rif_victim_{hashlib.blake2b(str(source).encode(), digest_size=8).hexdigest()}"
    spec = importlib.util.spec_from_file_location(name, source)
    if spec is None or spec.loader is None:
        raise VictimError(f"{path.name} is no Python file: expected a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    if str(source.parent) not in sys.path:
        sys.path.append(str(source.parent))
    sys.modules[name] = module  # dataclasses and typing look up the module of a class by its name
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        line = _line_of(error, str(source))
        where = path.name if line is None else f"{path.name}, line {line}"
        what = str(error) if isinstance(error, RIFError) else f"{type(error).__name__}: {error}"
        raise VictimError(f"{where}: {one_line(what)}: mend the file, it must run on its own") from error
    return module


def _line_of(error: BaseException, source: str) -> int | None:
    """The line of the file that raised, or through which the error came."""
    if isinstance(error, SyntaxError) and error.filename == source:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == source]
    return lines[-1] if lines else None


def _names_in(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if not name.startswith("_") and callable(value)]
    return one_line(", ".join(names), 100) if names else "nothing that can be called"


def _sequence_classifier(model: Any, tokenizer: Any) -> tuple[Any, Any] | None:
    """Model and tokenizer behind a TextAttack wrapper, a pipeline, or a bare model."""
    if is_host_wrapper(model):
        return model.model, model.tokenizer
    if getattr(model, "task", None) == "text-classification":
        inner, own = getattr(model, "model", None), getattr(model, "tokenizer", None)
        return (inner, own) if is_sequence_classifier(inner, own) else None
    if is_sequence_classifier(model, tokenizer):
        return model, tokenizer
    transformers = sys.modules.get("transformers")
    if transformers is not None and isinstance(model, transformers.PreTrainedModel):
        raise VictimError(
            f"`model` is a {type(model).__name__} without its tokenizer, expected {_CALLABLE}: set the "
            "variable `tokenizer` too, or give the model's folder instead of a file"
        )
    return None


def _estimator_call(model: Any, name: str) -> EstimatorCall:
    for method in ("predict_proba", "decision_function"):
        if callable(getattr(model, method, None)):
            return EstimatorCall(model, method)
    raise VictimError(f"{name}: `model` is a {type(model).__name__}, expected {_CALLABLE}: wrap it")


def _own_names(model: Any) -> tuple[str, ...] | None:
    """Names that the object carries: ``label_names`` of this package, ``classes_`` of scikit-learn."""
    found: Any = getattr(model, "label_names", None)
    if found is None:
        found = getattr(model, "classes_", None)
    if hasattr(found, "tolist"):
        found = found.tolist()
    if not isinstance(found, (list, tuple)) or len(found) < 2:
        return None
    if not all(isinstance(name, (str, int, float)) for name in found):
        return None
    if list(found) == list(range(len(found))) and not isinstance(found[0], bool):
        return None  # 0, 1, ... are the columns' own numbers and name nothing
    names = tuple(f"{name:g}" if isinstance(name, float) else str(name) for name in found)
    return names if len({name.casefold() for name in names}) == len(names) else None
