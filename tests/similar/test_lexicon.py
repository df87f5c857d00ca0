from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from rif_plugins.errors import LexiconError
from rif_plugins.similar import EMBEDDED, Lexicon, similar_texts
from rif_plugins.similar.lexicon_file import parse_lexicon


def table(text: str, name: str = "mine.tsv") -> Lexicon:
    return Lexicon([parse_lexicon(text, name=name)])


def test_everything_embedded_loads_in_a_fixed_order() -> None:
    lex = Lexicon.load()
    assert lex.attributes == EMBEDDED
    assert lex.values("gender") == ("male", "female")
    assert [Lexicon.load(name).attributes for name in EMBEDDED] == [(name,) for name in EMBEDDED]
    assert Lexicon.load() is lex


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_files_tell_source_licence_and_limits(name: str) -> None:
    (meta,) = Lexicon.load(name).describe()
    assert meta["licence"] in ("CC0-1.0", "MIT")
    assert meta["source"]
    assert meta["notes"]
    assert meta["version"].count("+") == 1


@pytest.mark.parametrize("name", EMBEDDED)
def test_every_embedded_term_finds_a_counterpart_of_another_value(name: str) -> None:
    lex = Lexicon.load(name)
    for terms in (lex.terms_at(word) for word in {term.key[0] for term in lex}):
        for term in terms:
            for reading in term.readings:
                others = {value: target for value, target in reading.targets.items() if value != term.value}
                assert others, term
                for value, target in others.items():
                    found = lex.find_term(name, target)
                    assert found is not None and found.value == value


def test_names_and_files_can_be_joined(tmp_path: Path) -> None:
    file = tmp_path / "team.tsv"
    file.write_text("from\tto\nred\tblue\n", encoding="utf-8")
    assert Lexicon.load("gender, race").attributes == ("gender", "race")
    assert Lexicon.load(f"gender,{file}").attributes == ("gender", "team")


def test_version_names_every_attribute() -> None:
    version = Lexicon.load("gender,age").version
    first, second = version.split()
    assert first.startswith("gender@1.") and second.startswith("age@1.")
    assert repr(Lexicon.load("age")) == f"Lexicon({second})"


def test_merging_joins_rows_and_checks_them_together() -> None:
    own = table("# attribute: gender\nslot\tmale\tfemale\nnoun\twizard\twitch\n")
    merged = Lexicon.load("gender").merged_with(own)
    assert merged.attributes == ("gender",)
    assert similar_texts("The wizard saw her.", merged)[0].similar == "The witch saw him."
    assert similar_texts("The wizard saw her.", Lexicon.load("gender"))[0].similar == "The wizard saw him."
    assert merged.merged_with(own) == merged
    with pytest.raises(LexiconError, match=r"mine\.tsv line 3: 'man' has two values .*gender\.tsv line"):
        Lexicon.load("gender").merged_with(table("# attribute: gender\nslot\tmale\tfemale\nnoun\tx\tman\n"))
    with pytest.raises(LexiconError, match=r"has the values a, b, but gender\.tsv has male, female"):
        Lexicon.load("gender").merged_with(table("# attribute: gender\nslot\ta\tb\nnoun\tx\ty\n"))


def test_an_unknown_attribute_lists_the_known_ones() -> None:
    with pytest.raises(LexiconError, match="no attribute 'race': it has gender, age"):
        similar_texts("x", Lexicon.load("gender,age"), ["race"])
    assert Lexicon.load("gender,age").select("age") == ("age",)
    assert Lexicon.load("gender,age").select(["age", "age"]) == ("age",)
    with pytest.raises(LexiconError, match="one table or more"):
        Lexicon([])


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("she", True),
        ("She", True),
        ("SHE'S", True),
        ("women\u2019s", True),
        ("black", True),
        ("white", True),
        ("African American", True),
        ("African-American", True),
        ("African", False),
        ("Native", False),
        ("old-fashioned", True),
        ("table", False),
        ("shed", False),
        ("theman", False),
        ("", False),
        ("!?", False),
        ("fiance\u0301", True),
        ("fianc\u00e9e", True),
        ("black coffee", True),
        ("mother-in-law", True),
        ("law", False),
    ],
)
def test_is_sensitive_knows_whole_terms_whatever_their_context(word: str, expected: bool) -> None:
    assert Lexicon.load().is_sensitive(word) is expected


def test_is_sensitive_covers_the_loaded_attributes_only() -> None:
    assert not Lexicon.load("gender").is_sensitive("gay")
    assert Lexicon.load("orientation").is_sensitive("gay")


def test_pickled_lexicon_is_equal_and_works() -> None:
    lex = Lexicon.load("gender,race")
    copy = pickle.loads(pickle.dumps(lex))
    assert copy == lex and hash(copy) == hash(lex)
    assert copy != Lexicon.load("gender")
    assert similar_texts("He is black.", copy) == similar_texts("He is black.", lex)


def test_results_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "from rif_plugins.similar import Lexicon, similar_texts\n"
        "text = 'Her old friend, a gay Muslim from a Nigerian family, is blind, and he saw her leave.'\n"
        "lexicon = Lexicon.load()\n"
        "print(lexicon.version, similar_texts(text, lexicon))\n"
        "print(similar_texts(text, lexicon, max_counterparts=5))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "RIF_PLUGINS_AUTOLOAD": "0",
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert "Pair(" in outputs.pop()
