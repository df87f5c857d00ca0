"""Web addresses without what must not be told: user, password, query and fragment."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"(https?://)(?:[^/\s?#]*@)?([^\s?#]*)(?:[?#]\S*)?", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """The text with every http(s) address in it cut down to scheme, host and path.

    Keys are often handed over in the query of an address; what names the address in a record, a message or
    a report must not hand them on.

    >>> without_secrets("http://me:word@host:8000/predict?key=123#top")
    'http://host:8000/predict'
    >>> without_secrets("models/reviews")
    'models/reviews'
    """
    return _ADDRESS.sub(r"\1\2", text)
