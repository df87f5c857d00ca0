from __future__ import annotations

import pytest

from rif_plugins.core.addresses import without_secrets


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("http://host/predict", "http://host/predict"),
        ("https://host:8000/a/b?key=1&b=2", "https://host:8000/a/b"),
        ("HTTPS://host?key=1", "HTTPS://host"),
        ("http://user:word@host/x", "http://host/x"),
        ("http://user@with@host/x", "http://host/x"),
        ("http://host/@name/x", "http://host/@name/x"),
        ("http://host/x#key=1", "http://host/x"),
        ("http://[::1]:8000/x?k", "http://[::1]:8000/x"),
        ("llm:name@http://u:p@host/v1?key=1 and more", "llm:name@http://host/v1 and more"),
        ("see http://a?b=c, http://d?e=f", "see http://a http://d"),
        ("file.py", "file.py"),
        ("what?yes", "what?yes"),
        ("me@home", "me@home"),
        ("", ""),
    ],
)
def test_addresses_keep_scheme_host_and_path(told: str, kept: str) -> None:
    assert without_secrets(told) == kept
    assert without_secrets(kept) == kept
