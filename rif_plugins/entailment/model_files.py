"""Loading what lies in a folder or on the hub: config, tokenizer, model, version, longest input."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rif_plugins.errors import ScorerError
from rif_plugins.optional import require

_SAFE_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model.bin.index.json")
# These count positions from the padding token on, so two fewer are free.
_OFFSET_POSITIONS = ("camembert", "longformer", "mpnet", "roberta", "xlm-roberta")


def is_local(source: str) -> bool:
    """Whether ``source`` is meant as a folder and not as a hub name."""
    folder = Path(source)
    return source.startswith((".", "/", "~")) or folder.is_absolute() or folder.exists()


def load_pretrained(
    source: str,
    class_name: str,
    *,
    kind: str,
    purpose: str,
    check: Callable[[Any], None] | None = None,
) -> tuple[Any, Any, Any]:
    """Config, tokenizer and model of a folder or hub name.

    Args:
        source: Folder or hub name.
        class_name: Class of transformers that loads the model, such as ``"AutoModel"``.
        kind: What the model should be, for the message.
        purpose: See ``optional.require``.
        check: Called with the config before anything heavy is loaded.

    Raises:
        ScorerError: There is no such model, or ``check`` raised it.
    """
    transformers = require("transformers", purpose=purpose)
    require("torch", purpose=purpose)
    folder = Path(source).expanduser()
    if is_local(source) and not (folder / "config.json").is_file():
        raise ScorerError(
            f"no model in the folder {source!r}: expected config.json, model.safetensors and a "
            "tokenizer; check the path or give a hub name"
        )
    place = str(folder) if is_local(source) else source
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = transformers.AutoConfig.from_pretrained(place, trust_remote_code=False)
            if check is not None:
                check(config)
            tokenizer = transformers.AutoTokenizer.from_pretrained(place, trust_remote_code=False)
            is_safe = _has_file(place, _SAFE_WEIGHTS)
            is_pickled = not is_safe and _has_file(place, _PICKLED_WEIGHTS)
        if is_pickled:
            warnings.warn(
                f"the weights of {source} are a pickle file (pytorch_model.bin), which can run code when "
                "it is read: load it only if you trust its author, or save the model as safetensors",
                UserWarning,
                stacklevel=4,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(transformers, class_name).from_pretrained(
                place, config=config, use_safetensors=is_safe, trust_remote_code=False
            )
    except (ScorerError, UserWarning):
        raise
    except Exception as error:  # a damaged or refused pickle raises what it likes
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise ScorerError(
            f"cannot load the model {source!r}: expected a folder or a hub name of {kind}, got {reason}"
        ) from error
    return config, tokenizer, model


def _has_file(source: str, names: tuple[str, ...]) -> bool:
    cached_file = require("transformers.utils", purpose="models").cached_file
    for name in names:
        try:
            if cached_file(source, name) is not None:
                return True
        except OSError:
            continue
    return False


def model_version(config: Any, folder: Path) -> str:
    """Hub commit, or the first 12 digits of the SHA-256 of the weights in ``folder``, or ``"unknown"``."""
    commit = getattr(config, "_commit_hash", None)
    if commit:
        return str(commit)
    for name in ("model.safetensors", "pytorch_model.bin"):
        if (folder / name).is_file():
            digest = hashlib.sha256()
            with (folder / name).open("rb") as handle:
                while block := handle.read(1 << 20):
                    digest.update(block)
            return f"sha256:{digest.hexdigest()[:12]}"
    return "unknown"


def token_ids(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """The tokens of each text, uncut and without special ones."""
    # Not verbose: these texts are not meant for the model, so their length is no reason to warn.
    found: list[list[int]] = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
    return found


def token_limit(config: Any, tokenizer: Any, max_tokens: int) -> int:
    """The most tokens of one input: as asked for, at most what tokenizer and model can take."""
    limits = [max_tokens, tokenizer.model_max_length]
    positions = getattr(config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        limits.append(positions - 2 if getattr(config, "model_type", "") in _OFFSET_POSITIONS else positions)
    return int(min(limits))
