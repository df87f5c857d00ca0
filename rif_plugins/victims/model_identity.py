"""Digests of what machine-learning packages hold: arrays, tensors, networks, tokenizers, sessions.

None of these packages is imported here: who has an object of theirs has imported them.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.victims.code_identity import UnknownIdentityError, Walk, is_code, joined, library, text

_MAX_FILE = 2**32
_MODULE_INTERNALS = {
    "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "_is_full_backward_hook",
    "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks_with_kwargs",
    "config", "generation_config", "name_or_path", "warnings_issued",
}  # fmt: skip
_LOCATION_KEYS = {"_name_or_path", "name_or_path", "_commit_hash"}
_TOKENIZER_SETTINGS = (
    "model_max_length", "padding_side", "truncation_side", "special_tokens_map", "model_input_names",
    "clean_up_tokenization_spaces", "split_special_tokens", "do_lower_case",
)  # fmt: skip


def model_digest(value: Any, walk: Walk) -> bytes | None:
    """The digest of an object of numpy, scipy, torch, transformers, tokenizers or onnxruntime, else None."""
    if isinstance(value, np.ndarray):
        return array_digest(value, walk)
    if isinstance(value, np.generic):
        return joined(b"scalar", array_digest(np.asarray(value), walk))
    if isinstance(value, np.dtype):
        return text("dtype", value.str, value.descr)
    root = type(value).__module__.partition(".")[0]
    sparse = sys.modules.get("scipy.sparse")
    if root == "scipy" and sparse is not None and sparse.issparse(value):
        entries = value.tocoo()
        return walk.digest((value.format, value.shape, entries.row, entries.col, entries.data), "matrix")
    torch = sys.modules.get("torch")
    if torch is not None:
        if isinstance(value, torch.Tensor):
            return tensor_digest(value)
        if isinstance(value, torch.nn.Module):
            return joined(*_network_parts(value, walk))
        if isinstance(value, (torch.device, torch.dtype)):
            return text(type(value).__name__, value)
    if root == "tokenizers" and not hasattr(value, "__dict__"):
        content = value.to_str() if hasattr(value, "to_str") else repr(value)
        return text("tokenizers", library("tokenizers"), content)
    if hasattr(value, "backend_tokenizer") and hasattr(value.backend_tokenizer, "to_str"):
        return _fast_tokenizer_digest(value, walk)
    if hasattr(value, "serialized_model_proto"):
        return joined(b"sentencepiece", value.serialized_model_proto())
    if root == "onnxruntime" and hasattr(value, "get_providers"):
        return _session_digest(value)
    return None


def array_digest(array: NDArray[Any], walk: Walk) -> bytes:
    """Type, shape and content of an array."""
    if array.dtype.names is not None:  # field by field: the bytes between fields are arbitrary
        return joined(*(walk.digest((name, array[name]), name) for name in array.dtype.names))
    if array.dtype.hasobject:
        return joined(b"objects", walk.digest((array.shape, array.ravel().tolist()), "array"))
    content = np.ascontiguousarray(array)
    digest = hashlib.blake2b(text("array", array.dtype.str, array.shape), digest_size=16)
    digest.update(content.reshape(-1).view(np.uint8).data if content.size else b"")
    return digest.digest()


def tensor_digest(tensor: Any) -> bytes:
    """Type, shape and content of a torch tensor, wherever it lies."""
    torch = sys.modules["torch"]
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    digest = hashlib.blake2b(text("tensor", tensor.dtype, tuple(tensor.shape)), digest_size=16)
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    if flat.numel():
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.digest()


def _network_parts(network: Any, walk: Walk) -> Iterator[bytes]:
    """Structure, settings, weights and configuration of a network."""
    for name, part in network.named_modules():
        origin = library(type(part).__module__)
        yield text(name, part.training, origin and part.extra_repr())
        yield walk.digest(type(part), name)
        for attribute in sorted(vars(part)):
            value = vars(part)[attribute]
            # Modules of libraries are described by their representation and plain settings.
            if attribute not in _MODULE_INTERNALS and (
                origin is None or _is_setting(value) or is_code(value)
            ):
                yield text(attribute)
                yield walk.digest(value, f"{name}.{attribute}" if name else attribute)
        for hooks in (part._forward_hooks, part._forward_pre_hooks):
            yield walk.digest(list(hooks.values()), "hook")
    state = network.state_dict()
    for name, value in (*state.items(), *((n, b) for n, b in network.named_buffers() if n not in state)):
        yield text(name)
        yield walk.digest(value, name)
    config = getattr(network, "config", None)
    if config is not None:
        values = config.to_dict() if hasattr(config, "to_dict") else config
        if isinstance(values, dict):
            values = {key: item for key, item in values.items() if key not in _LOCATION_KEYS}
        yield walk.digest(values, "config")


def _is_setting(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(_is_setting(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _fast_tokenizer_digest(tokenizer: Any, walk: Walk) -> bytes:
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    for changed_by_calls in ("truncation", "padding"):
        content.pop(changed_by_calls, None)
    settings = [(name, str(getattr(tokenizer, name, None))) for name in _TOKENIZER_SETTINGS]
    return joined(
        walk.digest(type(tokenizer), "tokenizer"),
        text(json.dumps(content)),
        walk.digest(settings, "tokenizer"),
    )


def _session_digest(session: Any) -> bytes:
    content = getattr(session, "_model_bytes", None)
    path = getattr(session, "_model_path", None)
    if content is None and path is not None and Path(path).is_file():
        return joined(b"session", file_digest(Path(path)), text(session.get_providers()))
    if not isinstance(content, bytes):
        raise UnknownIdentityError(f"a {type(session).__name__} whose model cannot be read")
    return joined(b"session", content, text(session.get_providers()))


def file_digest(path: Path) -> bytes:
    """The content of a file.

    Raises:
        UnknownIdentityError: The file is larger than 4 GB or cannot be read.
    """
    digest = hashlib.blake2b(b"file", digest_size=16)
    try:
        if path.stat().st_size > _MAX_FILE:
            raise UnknownIdentityError(f"the name of a file larger than {_MAX_FILE >> 30} GB")
        with path.open("rb") as handle:
            while block := handle.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise UnknownIdentityError(f"the name of a file that cannot be read ({error.strerror})") from error
    return digest.digest()
