from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.reports.characters import one_line, printable, well_formed, xml_text

ANY = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, exclude_categories=()), max_size=30)


@pytest.mark.parametrize(
    "odd", ["\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\u2028", "\ud800"]
)
def test_characters_that_are_not_seen_become_codes(odd: str) -> None:
    assert printable(f"a{odd}b") == f"a[U+{ord(odd):04X}]b"


@pytest.mark.parametrize("kept", ["\t", "\n", "é", "漢", "\U0001f9d1\u200d\U0001f52c", "שלום"])
def test_other_characters_stay(kept: str) -> None:
    assert printable(kept) == kept


def test_one_line_cuts() -> None:
    assert one_line("a\n b\t c") == "a b c"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


@given(ANY)
def test_well_formed_text_can_be_written(text: str) -> None:
    assert len(well_formed(text).encode("utf-8").decode("utf-8")) == len(text)


@given(ANY)
def test_xml_text_can_be_parsed(text: str) -> None:
    element = ElementTree.Element("a")
    element.text = xml_text(text)
    read = ElementTree.fromstring(ElementTree.tostring(element, encoding="utf-8"))
    assert (read.text or "").replace("\n", "") == xml_text(text).replace("\r", "").replace("\n", "")
