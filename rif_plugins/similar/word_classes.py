"""Word classes that the context rules look at, read once from the embedded ``contexts.txt``."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from rif_plugins.errors import LexiconError

_FILE = "contexts.txt"


@lru_cache(maxsize=1)
def _classes() -> dict[str, frozenset[str]]:
    folder = resources.files("rif_plugins.core").joinpath("data", "lexicons")
    found: dict[str, set[str]] = {}
    current: set[str] | None = None
    for line in folder.joinpath(_FILE).read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            current = found.setdefault(line[1:-1], set())
        elif current is not None:
            current.update(line.split())
    return {name: frozenset(words) for name, words in found.items()}


def class_names() -> tuple[str, ...]:
    """Names that a lexicon file may refer to as ``@name``, sorted."""
    return tuple(sorted(_classes()))


def word_class(name: str) -> frozenset[str]:
    """The lower-case words of one class.

    Args:
        name: A section of the embedded file, such as ``"person"``.

    Raises:
        LexiconError: There is no such class.
    """
    try:
        return _classes()[name]
    except KeyError:
        known = ", ".join(class_names())
        raise LexiconError(f"no word class {name!r}: use one of {known}") from None
