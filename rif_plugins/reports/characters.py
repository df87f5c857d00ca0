"""Characters that must not reach a page, a terminal or an XML file as they are."""

from __future__ import annotations

import re

# Controls except tab and line feed; direction marks and overrides; zero-width characters except the joiner
# that emoji need; lone surrogates.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
REPLACEMENT = "\ufffd"


def printable(text: object) -> str:
    r"""The text with every character that is not seen, or that changes how others are seen, as its code.

    >>> printable("a\u202eb\x1b[31m")
    'a[U+202E]b[U+001B][31m'
    """
    return _UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", str(text))


def one_line(text: object, length: int | None = None) -> str:
    """Printable, on one line, and cut to a length with an ellipsis."""
    line = " ".join(printable(text).split())
    return line if length is None or len(line) <= length else line[: length - 1] + "…"


def well_formed(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot hold, replaced by U+FFFD."""
    return text if text.isascii() else _LONE_SURROGATE.sub(REPLACEMENT, text)


def xml_text(text: object) -> str:
    """The text with characters that XML 1.0 forbids replaced by U+FFFD."""
    return _NOT_XML.sub(REPLACEMENT, str(text))
