from __future__ import annotations

from pathlib import Path

import pytest

from rif_plugins.errors import DataError
from rif_plugins.proposers import TokenContext
from rif_plugins.proposers.guard import Guard
from rif_plugins.proposers.substitutes import STRICT_FILE, read_substitutes, strict_substitutes


def propose(text: str, token: str) -> list[str]:
    start = text.index(token)
    return [found for found, _ in strict_substitutes(TokenContext(text, start, start + len(token)))]


@pytest.mark.parametrize(
    ("text", "token", "expected"),
    [
        ("Although it is long, it works.", "Although", ["Though", "Even though"]),
        ("it works because it is short", "because", ["since", "as"]),
        ("it failed because of the cast", "because", []),
        ("long, but good", "but", ["yet"]),
        ("it is not long but short", "but", []),
        ("nothing but trouble", "but", []),
        ("a film that is long", "that", ["which"]),
        ("they said that she is right", "that", []),
        ("that is right", "that", []),
        ("a film about the war", "about", ["concerning", "regarding"]),
        ("he was about to leave", "about", []),
        ("a very funny film", "very", ["extremely", "really"]),
        ("the very idea", "very", []),
        ("it is much better", "much", ["far"]),
        ("not so much", "much", []),
        ("it is just a film", "just", ["merely", "only", "simply"]),
        ("it has just begun", "just", []),
        ("It's good", "It's", ["It is"]),
        ("it's been long", "it's", []),
        ("They're here", "They're", ["They are"]),
        ("both the films", "both", ["both of"]),
        ("both films", "both", []),
        ("you should see it", "should", ["ought to"]),
        ("you should not see it", "should", []),
        ("the film, however, is long", "however", ["nevertheless", "nonetheless", "though", "yet"]),
        ("however long it is", "however", []),
        ("NEARLY all", "NEARLY", ["ALMOST", "VIRTUALLY"]),
        ("a zebra", "zebra", []),
    ],
)
def test_substitutes_stand_only_where_their_condition_holds(
    text: str, token: str, expected: list[str]
) -> None:
    assert propose(text, token) == expected


def test_a_curly_apostrophe_is_an_apostrophe() -> None:
    assert propose("It’s good", "It’s") == ["It is"]


def test_no_line_of_the_list_touches_what_the_guard_protects() -> None:
    guard = Guard()
    table = read_substitutes(STRICT_FILE)
    assert len(table) > 100
    for token, rules in table.items():
        assert token == token.lower()
        for _, substitutes in rules:
            assert [share for _, share in substitutes] == sorted((s for _, s in substitutes), reverse=True)
            for substitute, share in substitutes:
                assert 0.4 <= share <= 1
                assert guard.allows(token, substitute), (token, substitute)
                assert substitute.lower() != token


def test_a_token_may_have_lines_for_several_places(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("too ; graded ; overly=80\ntoo ; end ; as well=60, also=55\n", encoding="utf-8")
    assert read_substitutes(path) == {
        "too": ((("graded",), (("overly", 0.8),)), (("end",), (("as well", 0.6), ("also", 0.55)))),
    }


@pytest.mark.parametrize(
    "line",
    [
        "very ; graded",
        "very ; nowhere ; really=80",
        "very ; any ;",
        "; any ; really=80",
        "very really",
        "very ; any ; really",
        "very ; any ; =80",
        "very ; any ; really=120",
        "very ; any ; really=most",
    ],
)
def test_broken_lines_are_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "list.txt"
    path.write_text(f"# fine\nso ; any ; thus=80\n{line}\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"line 3: expected `token ; conditions ; substitute=percent, \.\.\.`"
    ):
        read_substitutes(path)


def test_an_absent_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="install the package again"):
        read_substitutes(tmp_path / "absent.txt")
