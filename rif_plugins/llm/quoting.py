"""How texts that are data stand in a question to a language model."""

from __future__ import annotations

import json
import re

# What ends a turn in the templates of some models, such as "<|...|>" and "[INST]".
_ESCAPED = re.compile(r"[<>\[\]{}|]")


def quoted(text: str) -> str:
    r"""``text`` as a JSON string on one printable line.

    Brackets, invisible and directional characters are escaped, so that nothing in a text can end its string,
    a line or a turn of the conversation; all else stays readable.

    >>> quoted('a "b" <|end|>')
    '"a \\"b\\" \\u003c\\u007cend\\u007c\\u003e"'
    """
    written = json.dumps(text, ensure_ascii=False)
    written = _ESCAPED.sub(lambda match: _escape(match.group()), written)
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in written)


def _escape(letter: str) -> str:
    return json.dumps(letter)[1:-1] if ord(letter) > 0x7E else f"\\u{ord(letter):04x}"
