"""Hugging Face sequence classifiers: from a folder, from the hub, or inside an object of a user's file.

Texts are padded to the longest of their batch, not to the model's maximum (512 tokens for most), which
would cost about thirty times the work on short texts; on a processor a batch is cut where lengths differ
much.  The logits are the same, because the attention mask hides padding.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rif_plugins.core.length_batches import length_batches
from rif_plugins.errors import UsageError, VictimError
from rif_plugins.optional import require
from rif_plugins.victims.base import Victim, checked_label_names, one_line
from rif_plugins.victims.gradients import HuggingFaceGradients

_PURPOSE = "Hugging Face victims"
_UNLIMITED = int(1e30)
_DEFAULT_LENGTH = 512  # what TextAttack takes where the tokenizer names no maximum
_SAFE_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model.bin.index.json")


class DynamicPadding:
    """Predicts with a sequence classifier, padding each batch to its longest text.

    Args:
        model: A ``transformers`` model with a classification head; its device, precision and mode stay.
        tokenizer: Its tokenizer.  Without a padding token, texts are predicted one by one.
        max_length: Longer texts are cut to this many tokens; ``None`` takes the tokenizer's maximum, and
            512 where it has none, as TextAttack does.
    """

    def __init__(self, model: Any, tokenizer: Any, *, max_length: int | None = None) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self._max_length = max_length

    @property
    def max_length(self) -> int:
        """Most tokens of a text that the model reads, special tokens included."""
        if self._max_length is not None:
            return self._max_length
        known = int(self.tokenizer.model_max_length)
        return _DEFAULT_LENGTH if known >= _UNLIMITED else known

    def __call__(self, texts: list[str]) -> Any:
        """Logits of a batch, shape (n, k)."""
        import numpy as np

        if self.tokenizer.pad_token is None:
            return np.concatenate([self._logits([text], padding=False) for text in texts])
        if next(self.model.parameters()).device.type != "cpu":
            return self._logits(texts, padding=True)
        batches = length_batches([len(text) for text in texts], len(texts))
        rows = np.concatenate([self._logits([texts[i] for i in batch], padding=True) for batch in batches])
        return rows[np.argsort(np.concatenate(batches))]

    def _logits(self, texts: list[str], *, padding: bool) -> Any:
        torch = require("torch", purpose=_PURPOSE)
        inputs = self.tokenizer(
            texts,
            add_special_tokens=True,
            padding=padding,
            max_length=self.max_length,
            truncation=True,
            return_tensors="pt",
        )
        inputs = inputs.to(next(self.model.parameters()).device)
        with torch.no_grad():
            return self.model(**inputs).logits.float().cpu().numpy()

    def seen(self, text: str) -> int | None:
        """The character offset from which on ``text`` is cut off; ``None`` if all of it is read.

        A tokenizer that cuts off the beginning instead gives the length of the text.
        Where the tokenizer gives no offsets the longest prefix that fits is searched for.
        """
        limit = self.max_length
        if len(text) <= limit // 8 or self._n_tokens(text) <= limit:
            return None
        if getattr(self.tokenizer, "is_fast", False):
            offsets = self.tokenizer(
                text, max_length=limit, truncation=True, return_offsets_mapping=True, verbose=False
            )["offset_mapping"]
            return max((int(end) for _, end in offsets), default=0)
        low, high = 0, len(text)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._n_tokens(text[:middle]) <= limit else (low, middle)
        return low

    def _n_tokens(self, text: str) -> int:
        return len(self.tokenizer(text, add_special_tokens=True, verbose=False)["input_ids"])

    def __repr__(self) -> str:
        """Name the model's class."""
        return f"DynamicPadding({type(self.model).__name__}, max_length={self.max_length})"


def is_sequence_classifier(model: Any, tokenizer: Any) -> bool:
    """True for a ``transformers`` model, no encoder-decoder, whose tokenizer can pad.

    Imports nothing: where there is such a model, its package has been imported.
    """
    transformers = sys.modules.get("transformers")
    if transformers is None or not isinstance(model, transformers.PreTrainedModel):
        return False
    is_generator = bool(getattr(model.config, "is_encoder_decoder", False))
    return not is_generator and getattr(tokenizer, "pad_token", None) is not None


def is_host_wrapper(wrapper: Any) -> bool:
    """True for TextAttack's own Hugging Face wrapper (no subclass) around a sequence classifier."""
    kind = type(wrapper)
    return (
        kind.__name__ == "HuggingFaceModelWrapper"
        and kind.__module__.partition(".")[0] == "textattack"
        and is_sequence_classifier(wrapper.model, wrapper.tokenizer)
    )


def label_names_of(config: Any) -> tuple[str, ...] | None:
    """The names of the columns by a model's configuration; a single sigmoid gets "not NAME" before it."""
    names = [str(name) for _, name in sorted(config.id2label.items())]
    if len(names) == 1:
        return None if names[0].startswith("LABEL_") else (f"not {names[0]}", names[0])
    return checked_label_names(names, "id2label of the model's config.json")


def victim_of(
    name: str,
    model: Any,
    tokenizer: Any,
    *,
    max_length: int | None = None,
    labels: tuple[str, ...] | None = None,
) -> Victim:
    """A victim from a model and its tokenizer, as they are.

    Raises:
        VictimError: The model scores each label on its own, or its labels are not as many as ``labels``.
    """
    config = model.config
    if getattr(config, "problem_type", None) == "multi_label_classification":
        raise VictimError(
            f"{name} scores each label on its own (multi_label_classification), expected one class a text: "
            "audit one label through a file.py whose `model` returns rows of (1 - p, p)"
        )
    n_columns = max(2, len(config.id2label))
    if labels is not None and len(labels) != n_columns:
        raise VictimError(
            f"{name} has {n_columns} labels, got {len(labels)} names ({one_line(', '.join(labels), 80)}): "
            "name every label once, in the order of the columns"
        )
    predict = DynamicPadding(model, tokenizer, max_length=max_length)
    return Victim(
        name=name,
        predict=predict,
        output="logits",
        label_names=labels or label_names_of(config),
        token_gradients=_gradients(model, tokenizer, predict.max_length),
        max_length=predict.max_length,
        identity=predict,
        seen=predict.seen,
    )


def _gradients(model: Any, tokenizer: Any, max_length: int) -> HuggingFaceGradients | None:
    try:
        return HuggingFaceGradients(model, tokenizer, max_length=max_length)
    except UsageError:  # a slow tokenizer, or no token embedding: everything else works without
        return None


def load_hugging_face(
    name: str,
    *,
    device: str | None = None,
    max_length: int | None = None,
    labels: tuple[str, ...] | None = None,
) -> Victim:
    """Load a folder or a hub name for evaluation, in single precision.

    Args:
        name: A folder with ``config.json``, weights and tokenizer, or a name on the hub.
        device: Torch device; ``None`` takes CUDA where there is one.
        max_length: Most tokens of a text; ``None`` takes what tokenizer and model allow.
        labels: Names of the labels instead of those in ``config.json``.

    Raises:
        VictimError: Nothing is there, or it is no sequence classifier with a trained head.
    """
    folder = Path(name).expanduser()
    looks_local = name.startswith((".", "/", "~")) or folder.exists()
    if looks_local and not (folder / "config.json").is_file():
        raise VictimError(
            f"no model in the folder {name!r}: expected config.json, model.safetensors and a tokenizer; "
            "check the path or give a hub name"
        )
    model, tokenizer = _loaded(str(folder) if looks_local else name, name)
    torch = require("torch", purpose=_PURPOSE)
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        model = model.float().eval().to(chosen)
    except (RuntimeError, AssertionError) as error:
        raise VictimError(
            f"cannot move {name} to the device {chosen!r} ({one_line(error)}): use cpu or cuda"
        ) from error
    return victim_of(
        name, model, tokenizer, max_length=fitting_length(model, tokenizer, max_length), labels=labels
    )


def _loaded(source: str, name: str) -> tuple[Any, Any]:
    transformers = require("transformers", purpose=_PURPOSE)
    require("torch", purpose=_PURPOSE)
    safely = {"trust_remote_code": False}
    with _explained(name):
        config = transformers.AutoConfig.from_pretrained(source, **safely)
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **safely)
        is_safe = _has_file(source, _SAFE_WEIGHTS)
        is_pickled = not is_safe and _has_file(source, _PICKLED_WEIGHTS)
    if is_pickled:
        warnings.warn(
            f"the weights of {name} are a pickle file (pytorch_model.bin), which can run code when it is "
            "read: load it only if you trust its author, or save the model as safetensors",
            UserWarning,
            stacklevel=4,
        )
    with _explained(name):
        model, report = transformers.AutoModelForSequenceClassification.from_pretrained(
            source, config=config, use_safetensors=is_safe, output_loading_info=True, **safely
        )
    if missing := sorted(report["missing_keys"]):
        raise VictimError(
            f"the model {name!r} holds no weights for {missing[0]} ({len(missing)} missing in all), so it "
            "would answer at random: expected a model trained as a sequence classifier; use another"
        )
    return model, tokenizer


@contextlib.contextmanager
def _explained(name: str) -> Iterator[None]:
    """One line for whatever the libraries raise on a model that they cannot load."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        raise VictimError(
            f"cannot load the model {name!r}: expected a folder or a hub name of a sequence classifier, "
            f"got {one_line(error) or type(error).__name__}"
        ) from error


def _has_file(source: str, names: tuple[str, ...]) -> bool:
    from transformers.utils import cached_file

    for file in names:
        try:
            if cached_file(source, file) is not None:
                return True
        except OSError:
            continue
    return False


def fitting_length(model: Any, tokenizer: Any, wanted: int | None) -> int:
    """Most tokens that tokenizer and position embeddings take, and not more than ``wanted``.

    Raises:
        VictimError: ``wanted`` leaves no room for a word.
    """
    limits = [int(tokenizer.model_max_length)] if tokenizer.model_max_length < _UNLIMITED else []
    positions = getattr(model.config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        embeddings = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
        padding = getattr(embeddings, "padding_idx", None)  # RoBERTa counts positions from there on
        limits.append(positions - (0 if padding is None else int(padding) + 1))
    if wanted is not None:
        least = int(tokenizer.num_special_tokens_to_add()) + 1
        if wanted < least:
            raise VictimError(f"max_length must be {least} tokens or more for this model, got {wanted}")
        limits.append(wanted)
    return min(limits, default=_DEFAULT_LENGTH)
