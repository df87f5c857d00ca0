from __future__ import annotations

import pytest

from rif_plugins.proposers import TableProposer, TokenContext
from rif_plugins.proposers.names import is_name


def named(text: str, token: str) -> bool:
    start = text.index(token)
    return is_name(text, start, start + len(token))


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("We met Grace there.", "Grace"),
        ("We met Mr. Bush there.", "Bush"),
        ("Rose Smith came.", "Rose"),
        ("Elizabeth I reigned.", "Elizabeth"),
        ("in Smith's car", "Smith's"),
        ("They left China.", "China"),
        ("He works for NASA.", "NASA"),
        ("He lives in the US now.", "US"),
        ("An iPhone rang.", "iPhone"),
        ("Paul McCartney sang.", "McCartney"),
    ],
)
def test_names(text: str, token: str) -> None:
    assert named(text, token)


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("Doctors say so.", "Doctors"),
        ("He left. Doctors stayed.", "Doctors"),
        ('"Doctors stayed."', "Doctors"),
        ("The Queen came.", "The"),
        ("It is a GREAT film.", "GREAT"),
        ("and I left", "I"),
        ("and It's good", "It's"),
        ("we met grace there", "grace"),
        ("the 1990s", "1990s"),
    ],
)
def test_no_names(text: str, token: str) -> None:
    assert not named(text, token)


def test_no_proposer_replaces_a_name(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "t.csv"
    path.write_text("token,candidate\nchina,Guangzhou\nchina,porcelain\n", encoding="utf-8")
    proposer = TableProposer(path)
    text = "They left China for china."
    name, ware = TokenContext(text, 10, 15), TokenContext(text, 20, 25)
    assert [[c.text for c in found] for found in proposer.propose([name, ware])] == [
        [],
        ["Guangzhou", "porcelain"],
    ]
