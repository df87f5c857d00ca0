"""Where answers outlive a run, and the keys under which they lie.

A store holds bytes under digests. Who asks it (victim engine, entailment filter, proposer) makes the key
from its *namespace*, a digest of everything that decides an answer but the text, and from the text. So a
changed model asks under other keys and never gets an old answer.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

KEY_BYTES = 16
_LENGTH = struct.Struct("<Q")
_ROW_TYPE = np.dtype("<f8")


@runtime_checkable
class PredictionStore(Protocol):
    """Bytes under keys of ``KEY_BYTES`` bytes, kept across runs.

    A store may forget whatever it likes and never raises for trouble of its own: what it cannot read is
    absent. It hands out only what was stored under that very key.
    """

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The value of each key, None where there is none."""
        ...

    def set_many(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values; an older value of the same key is replaced."""
        ...


def namespace(*parts: str) -> bytes:
    """A digest of ``KEY_BYTES`` bytes of several texts, such as kind, name and version of a model."""
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(_LENGTH.pack(len(encoded)))
        digest.update(encoded)
    return digest.digest()


def text_keys(texts: Sequence[str], space: bytes = b"") -> list[bytes]:
    """The key of each text in a namespace.

    A digest and not the text itself: the occlusions of one long text would otherwise keep thousands of
    copies of it in memory, and texts of people would lie on disk.
    """
    start = hashlib.blake2b(digest_size=KEY_BYTES, salt=space)
    keys = []
    for text in texts:
        # A copy of a prepared digest is much cheaper than a new one with arguments.
        digest = start.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        keys.append(digest.digest())
    return keys


def pair_keys(pairs: Sequence[tuple[str, str]], space: bytes = b"") -> list[bytes]:
    """The key of each ordered pair of texts in a namespace."""
    start, pack = hashlib.blake2b(digest_size=KEY_BYTES, salt=space), _LENGTH.pack
    keys = []
    for first, second in pairs:
        head = first.encode("utf-8", "surrogatepass")
        digest = start.copy()
        digest.update(pack(len(head)) + head + second.encode("utf-8", "surrogatepass"))
        keys.append(digest.digest())
    return keys


def packed_rows(rows: NDArray[np.float64], kind: str = "") -> list[bytes]:
    """Each row of ``rows`` (n, k) exactly, as the code of ``kind`` and 8k bytes."""
    head = kind.encode("ascii")
    return [head + row.tobytes() for row in np.ascontiguousarray(rows, dtype=_ROW_TYPE)]


def unpacked_rows(
    values: Sequence[bytes | None], kind: str = "", width: int | None = None
) -> tuple[list[int], NDArray[np.float64]]:
    """The rows that ``packed_rows`` wrote, and where in ``values`` they stood.

    Args:
        values: What a store returned.
        kind: Rows of another kind are passed over.
        width: Numbers in a row; None takes the width of the first row of this kind.

    Returns:
        Numbers of the values that hold such a row, and the rows, ``(m, k)``. What is missing, of another
        size, or not finite is left out.
    """
    head, size = kind.encode("ascii"), _ROW_TYPE.itemsize
    if width is None:
        fitting = (len(v) - len(head) for v in values if v is not None and v.startswith(head))
        width = next((length // size for length in fitting if length > 0 and length % size == 0), 0)
    length = len(head) + size * width
    found = [i for i, v in enumerate(values) if v is not None and len(v) == length and v.startswith(head)]
    if not found or not width:
        return [], np.zeros((0, width))
    joined = np.frombuffer(b"".join([values[i] or b"" for i in found]), dtype=np.uint8)
    numbers = np.ascontiguousarray(joined.reshape(len(found), length)[:, len(head) :])
    rows = numbers.view(_ROW_TYPE).astype(np.float64)
    finite = np.flatnonzero(np.isfinite(rows).all(axis=1))
    return [found[i] for i in finite], rows[finite]
