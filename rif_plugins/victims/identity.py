"""Digests of Python objects by what they hold, the same in every process, for the identity of a victim.

Two objects with one digest answer alike as far as their data and code decide it. What cannot be looked into
(open files, connections, running generators) has no digest, and neither has what holds it.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import logging
import os
import re
import struct
import threading
import types
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any

from rif_plugins.core.predictions import PredictionReader
from rif_plugins.victims.code_identity import UnknownIdentityError, code_digest, is_code, joined, text
from rif_plugins.victims.model_identity import file_digest, model_digest

MAX_DEPTH = 60
MAX_VALUES = 5_000_000
_LONGEST_PATH = 1024
_MAX_FILES = 1000
# A memory address, which scikit-learn keeps to know its own list again; a counter; results of earlier calls.
_VOLATILE = {"_stop_words_id", "call_count", "_tokenizer_cache"}
_BY_REPR = (
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction,
    uuid.UUID, range, slice, types.GenericAlias, types.UnionType, types.EllipsisType,
    types.NotImplementedType,
)  # fmt: skip
_LOCKS = (type(threading.Lock()), type(threading.RLock()))


class IdentityWalk:
    """Walks through an object; see the module."""

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}
        self._alive: list[Any] = []  # an address names an object only as long as the object lives
        self._open: dict[int, int] = {}
        self._names: list[str] = []
        self._n_values = 0

    def digest(self, value: Any, name: str = "") -> bytes:
        """The digest of ``value``, 16 bytes or, for plain values, their own encoding.

        Raises:
            UnknownIdentityError: Something inside has none; the message says where and what.
        """
        self._n_values += 1
        if self._n_values > MAX_VALUES:
            raise UnknownIdentityError(f"an object of more than {MAX_VALUES} values")
        encode = _PLAIN.get(type(value))
        if encode is not None:
            encoded: bytes = encode(value)
            return encoded + self._file_content(value) if name and type(value) is str else encoded
        key = id(value)
        if key in self._known:
            return self._known[key]
        if key in self._open:
            return text("above", self._open[key])
        if len(self._open) >= MAX_DEPTH:
            raise UnknownIdentityError(f"an object nested more than {MAX_DEPTH} deep")
        self._open[key] = len(self._open)
        self._names.append(name)
        try:
            found = self._compound(value)
        except UnknownIdentityError as error:
            if not hasattr(error, "place"):
                error.place = ", ".join(part for part in self._names if part)  # type: ignore[attr-defined]
            raise
        finally:
            self._names.pop()
            del self._open[key]
        self._known[key] = found
        self._alive.append(value)
        return found

    def _file_content(self, value: str) -> bytes:
        """A named text that is the path of a file stands for the file's content too."""
        if 0 < len(value) < _LONGEST_PATH and "\0" not in value and os.path.isfile(value):  # noqa: PTH113
            return file_digest(Path(value))
        return b""

    def _compound(self, value: Any) -> bytes:
        if is_code(value):
            return code_digest(value, self)
        offered = getattr(value, "fingerprint", None)
        if callable(offered):
            offered = offered()
        if isinstance(offered, str) and offered:
            return text("fingerprint", type(value).__qualname__, offered)
        content = self._content(value)
        if content is None:
            content = model_digest(value, self)
        if content is None:
            content = self._special(value)
        return content if content is not None else self._object(value)

    def _content(self, value: Any) -> bytes | None:
        """Containers; of a subclass the class and the attributes too."""
        if isinstance(value, (tuple, list, collections.deque)):
            items = self._encoded(value)
        elif isinstance(value, (dict, types.MappingProxyType)):
            items = self._encoded(item for pair in value.items() for item in pair)
        elif isinstance(value, (set, frozenset)):
            digest = hashlib.blake2b(digest_size=16)
            for each in sorted(joined(self.digest(item)) for item in value):
                digest.update(each)
            items = digest.digest()
        elif isinstance(value, (bytearray, memoryview)):
            items = bytes(value)
        else:
            return None
        if type(value).__module__ == "builtins":
            return joined(text(type(value).__name__), items)
        factory = self.digest(getattr(value, "default_factory", None), "default_factory")
        return joined(items, factory, self._attributes(value), self.digest(type(value), "class"))

    def _encoded(self, values: Any) -> bytes:
        digest = hashlib.blake2b(digest_size=16)
        for value in values:
            encoded = self.digest(value)
            digest.update(struct.pack("<Q", len(encoded)) + encoded)
        return digest.digest()

    def _special(self, value: Any) -> bytes | None:
        """Objects of the standard library, and of this package, that need a rule of their own."""
        if isinstance(value, PurePath):
            return joined(text("path", value), *_path_content(Path(value)))
        if isinstance(value, re.Pattern):
            return text("pattern", repr(value.pattern), value.flags)
        if isinstance(value, enum.Enum):
            return joined(text("enum", value.name), self.digest(type(value), "class"))
        if isinstance(value, logging.Logger):
            return text("logger", value.name)
        if isinstance(value, _LOCKS):
            return text("lock")
        if isinstance(value, _BY_REPR) or type(value).__module__ == "typing":
            return text(type(value).__name__, repr(value))
        if isinstance(value, PredictionReader):  # what it has read so far is no part of the victim
            return text("reader", value._declared)
        return None

    def _object(self, value: Any) -> bytes:
        kind = type(value)
        if not _has_hidden_state(kind):
            return joined(b"object", self.digest(kind, "class"), self._attributes(value))
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:
            raise UnknownIdentityError(f"a {kind.__module__}.{kind.__qualname__}") from None
        if isinstance(reduced, str):
            return joined(text("global", reduced), self.digest(kind, "class"))
        parts = [list(part) if isinstance(part, Iterator) else part for part in reduced]
        return joined(b"reduced", self.digest(kind, "class"), *(self.digest(part, "state") for part in parts))

    def _attributes(self, value: Any) -> bytes:
        kind = type(value)
        derived = {
            name
            for base in kind.__mro__
            for name, member in vars(base).items()
            if isinstance(member, functools.cached_property)
        }
        values = {**{name: getattr(value, name) for name in _slots(kind) if hasattr(value, name)}}
        values.update(getattr(value, "__dict__", {}))
        parts = []
        for name in sorted(values):
            if name not in derived and name not in _VOLATILE:
                parts += [text(name), self.digest(values[name], name)]
        return joined(*parts)


def _path_content(path: Path) -> Iterator[bytes]:
    if path.is_file():
        yield file_digest(path)
    elif path.is_dir():
        files = []
        for file in path.rglob("*"):
            if file.is_file():
                files.append(file)
            if len(files) > _MAX_FILES:
                raise UnknownIdentityError(f"the path of a folder with more than {_MAX_FILES} files")
        for file in sorted(files):
            stat = file.stat()
            yield text(file.relative_to(path), stat.st_size, stat.st_mtime_ns)


def _slots(kind: type) -> list[str]:
    names: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                is_private = name.startswith("__") and not name.endswith("__")
                names.append(f"_{base.__name__.lstrip('_')}{name}" if is_private else name)
    return names


def _has_hidden_state(kind: type) -> bool:
    """True where objects hold more than attributes and slots: they are written in another language."""
    pointers = (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0) + len(_slots(kind))
    plain = object.__basicsize__ + pointers * struct.calcsize("P")
    has_attributes = kind.__dictoffset__ != 0 or any("__slots__" in vars(base) for base in kind.__mro__)
    return kind.__basicsize__ > plain or kind.__itemsize__ != 0 or not has_attributes


def _counted(tag: bytes, content: bytes) -> bytes:
    return tag + struct.pack("<Q", len(content)) + content


_PLAIN: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda value: b"n",
    bool: lambda value: b"t" if value else b"f",
    int: lambda value: _counted(b"i", b"%d" % value),
    float: lambda value: b"d" + struct.pack("<d", value),
    complex: lambda value: b"c" + struct.pack("<dd", value.real, value.imag),
    str: lambda value: _counted(b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: _counted(b"b", value),
}
