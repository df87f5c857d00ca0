from __future__ import annotations

from pathlib import Path

import pytest

from rif_plugins.errors import LexiconError, UsageError
from rif_plugins.similar import Lexicon, similar_texts
from rif_plugins.similar.lexicon_file import Cell, Row, parse_lexicon, read_lexicon_file, term_key


def lexicon(text: str) -> Lexicon:
    return Lexicon([parse_lexicon(text, name="mine.tsv")])


def test_a_table_is_read_with_its_header_lines_and_rows() -> None:
    table = parse_lexicon(
        "# attribute: caste\n# version: 2.1\n# licence: CC0-1.0\n# notes: one\n# notes: two\n"
        "slot\thigh\tlow\n\nnoun\tlord|master\tpeasant\nword\ta b\tc\n",
        name="mine.tsv",
    )
    assert table.attribute == "caste"
    assert table.values == ("high", "low")
    assert table.rows == (
        Row("noun", (Cell(("lord", "master")), Cell(("peasant",))), 8),
        Row("word", (Cell(("a b",)), Cell(("c",))), 9),
    )
    assert table.version.startswith("2.1+") and len(table.version) == len("2.1+") + 8
    assert dict(table.meta)["notes"] == "one\ntwo"


def test_pair_files_swap_both_ways_and_may_list_a_pair_in_both_directions(tmp_path: Path) -> None:
    file = tmp_path / "team.tsv"
    file.write_text("from\tto\nred\tblue\nblue\tred\ncat\tdog\n", encoding="utf-8")
    lex = Lexicon.load(file)
    assert lex.attributes == ("team",)
    (pair,) = similar_texts("A red cat and a blue dog.", lex)
    assert pair.similar == "A blue dog and a red cat."


def test_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "x.tsv"
    file.write_bytes("slot\ta\tb\r\nnoun\talpha\tbeta\r\n".encode("utf-8-sig"))
    assert similar_texts("alpha", Lexicon.load(str(file)))[0].similar == "beta"


def test_version_changes_with_the_content_only() -> None:
    one = parse_lexicon("slot\ta\tb\nnoun\tx\ty\n", name="one.tsv")
    same = parse_lexicon("slot\ta\tb\n\nnoun\tx\ty\n", name="two.tsv")
    other = parse_lexicon("slot\ta\tb\nnoun\tx\tz\n", name="one.tsv")
    assert one.version == same.version != other.version


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"mine\.tsv is empty"),
        ("# only: a comment\n", r"mine\.tsv is empty"),
        ("slot\ta\tb\n", "has a header but no rows"),
        ("noun\tman\twoman\n", r"line 1: expected the header .* got 'noun'"),
        ("slot a b\nnoun x y\n", r"line 1: expected the header .*separated by one tab"),
        ("slot\ta\nnoun\tx\n", "line 1: an attribute needs two values or more, got 1"),
        ("slot\ta\ta\nnoun\tx\ty\n", "line 1: the value 'a' is named twice"),
        ("slot\ta\t\nnoun\tx\ty\n", "line 1: an attribute needs two values|line 1: a value has no name"),
        ("slot\ta\tb\nnoun\tx\n", r"line 2: expected 3 columns \(slot, a, b\), got 2"),
        ("slot\ta\tb\nnoun x y\n", "line 2: expected 3 columns.*separated by one tab"),
        ("slot\ta\tb\n\n# c\nverb\tx\ty\n", "line 4: unknown slot 'verb': use one of subject"),
        ("slot\ta\tb\nnoun\tx\t\n", "line 2: value 'b': the side is empty: write a term, or `-`"),
        ("slot\ta\tb\nnoun\t\ty\n", "line 2: value 'a': the side is empty"),
        ("slot\ta\tb\nnoun\tx|\ty\n", "line 2: value 'a': the side is empty"),
        ("slot\ta\tb\nnoun\t!!\ty\n", "line 2: value 'a': '!!' holds no letter"),
        ("slot\ta\tb\nnoun\tx\t-\n", "line 2: a row needs terms of two values"),
        ("slot\ta\tb\nnoun\t>x\t>y\n", "line 2: every term is marked `>`"),
        ("slot\ta\tb\nnoun\t>x|z\ty\n", "line 2: value 'a': `>` takes one term, got 2"),
        ("slot\ta\tb\nnoun\tx\ty\nguard\tx\tneeds\n", "line 3: a guard has four columns .* got 3"),
        ("slot\ta\tb\nnoun\tx\ty\nguard\tx\tneed\tperson\n", "line 3: unknown guard key 'need'"),
        ("slot\ta\tb\nnoun\tx\ty\nguard\tx\tneeds\tluck\n", "line 3: `needs` takes one of person"),
        ("slot\ta\tb\nnoun\tx\ty\nguard\tx\tnot-before\t@nowhere\n", "line 3: no word class '@nowhere'"),
        (
            "slot\ta\tb\nnoun\tx\ty\nguard\tq\tneeds\tperson\n",
            "line 3: the guard names 'q', which is in no row",
        ),
    ],
)
def test_a_malformed_file_is_refused_with_its_line(content: str, message: str) -> None:
    with pytest.raises(LexiconError, match=message) as caught:
        lexicon(content)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("slot\tm\tf\nnoun\tman\twoman\nnoun\twoman\tgirl\n", "line 3: 'woman' has two values .* line 2"),
        ("slot\tm\tf\nnoun\tman\tMan\n", "line 2: 'Man' has two values"),
        (
            "slot\tm\tf\nnoun\tman\twoman\nnoun\tMan\tgirl\n",
            "line 3: 'Man' is listed twice, first at mine.tsv line 2",
        ),
        ("slot\tm\tf\nnoun\tman|man\twoman\n", "line 2: 'man' is listed twice"),
        ("slot\tm\tf\nnoun\ta\tb\nnoun\tb\tc\nnoun\tc\ta\n", "swap cycle b -> c -> a -> b"),
        ("from\tto\na\tb\nb\tc\nc\ta\n", "line 3: swap cycle b -> c -> a -> b: .*break the cycle"),
        ("from\tto\na\tb\nb\tc\n", "line 3: 'b' has two partners, see mine.tsv line 2"),
        ("from\tto\na\tb\na\tc\n", "line 3: 'a' is listed twice"),
        ("from\tto\na\ta\n", "line 2: 'a' has two partners"),
        ("slot\tm\tf\nnoun\tman\t>girl\n", "line 2: `>girl` is not defined for 'f'"),
        ("slot\tm\tf\nnoun\tman\twoman\nnoun\tboy\t>man\n", "line 3: `>man` is not defined for 'f'"),
    ],
)
def test_contradicting_rows_are_refused(content: str, message: str) -> None:
    with pytest.raises(LexiconError, match=message):
        lexicon(content)


def test_one_term_may_have_two_slots_of_one_value() -> None:
    lex = lexicon("slot\tm\tf\nobject\thim\ther\ndeterminer\this\ther\n")
    assert [reading.slot for reading in lex.terms_at("her")[0].readings] == ["object", "determiner"]


def test_missing_file_folder_and_foreign_encoding(tmp_path: Path) -> None:
    with pytest.raises(LexiconError, match=r"no lexicon file .*absent\.tsv: check the path"):
        read_lexicon_file(tmp_path / "absent.tsv")
    with pytest.raises(LexiconError, match="is a folder, expected a lexicon file"):
        Lexicon.load(tmp_path)
    file = tmp_path / "latin.tsv"
    file.write_bytes("slot\ta\tb\nnoun\tx\ty\nnoun\tcaf\xe9\tbar\n".encode("latin-1"))
    with pytest.raises(LexiconError, match=r"latin\.tsv line 3: not UTF-8"):
        Lexicon.load(file)


def test_unknown_name_lists_what_exists() -> None:
    with pytest.raises(
        UsageError, match="no embedded attribute and no file is called 'gendr': use one of gender, race"
    ):
        Lexicon.load("gendr")
    with pytest.raises(LexiconError, match="is called ''"):
        Lexicon.load(" ")
    with pytest.raises(LexiconError, match="no attribute in ','"):
        Lexicon.load(",")


def test_term_key_ignores_case_joints_and_how_accents_are_encoded() -> None:
    assert term_key("African-American") == term_key("african american") == ("african", "american")
    assert term_key("fianc\u00e9") == term_key("Fiance\u0301")
    assert term_key("ma'am") == ("ma", "am")


def test_the_examples_of_the_documentation_load() -> None:
    page = (Path(__file__).parents[2] / "docs" / "lexicons.md").read_text(encoding="utf-8")
    blocks = [block for block in page.split("```")[1::2] if "\t" in block]
    assert len(blocks) == 2
    pairs, caste = (lexicon(block.strip("\n")) for block in blocks)
    assert similar_texts("A red bus in Bergen.", pairs)[0].similar == "A blue bus in Oslo."
    assert similar_texts("A noble lord.", caste)[0].similar == "A humble servant."
    assert (
        similar_texts("A noble woman saw the masters.", caste)[0].similar
        == "A humble woman saw the servants."
    )
    assert similar_texts("The master key", caste) == []
