from __future__ import annotations

import lzma
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.wordnet import WordNet
from rif_plugins.core.wordnet_format import LEXICAL_FILES, Tables, read_tables, write_tables
from rif_plugins.errors import DataError, UsageError

DATA = Path(__file__).parents[2] / "rif_plugins" / "core" / "data" / "wordnet"
RELATIONS = {"same", "synonym", "antonym", "hypernym", "hyponym", "sibling", "none"}
MIRROR = {"hypernym": "hyponym", "hyponym": "hypernym"}


@pytest.fixture(scope="module")
def lexicon() -> WordNet:
    return WordNet.load()


def test_size_and_version_are_those_of_wordnet_3(lexicon: WordNet) -> None:
    assert lexicon.version == "WordNet 3.0"
    counts = {pos: sum(1 for _ in lexicon.all_senses(pos)) for pos in "vr"}
    assert counts == {"v": 13767, "r": 3621}
    tables = read_tables(DATA / "wordnet.xz")
    assert tables.sizes == {"n": 82115, "v": 13767, "a": 18156, "r": 3621}
    assert len(LEXICAL_FILES) == 45


def test_licence_lies_beside_the_data() -> None:
    text = (DATA / "LICENSE.txt").read_text(encoding="utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in text
    assert (DATA / "wordnet.xz").stat().st_size < 3 * 2**20


def test_senses_come_most_frequent_first_with_rank_count_and_file(lexicon: WordNet) -> None:
    first = lexicon.senses("doctor", "n")[0]
    assert first.id == "n10020890"
    assert first.lemmas == ("doctor", "doc", "physician", "MD", "Dr.", "medico")
    assert (first.rank, first.count, first.pos, first.lexical_file) == (1, 73, "n", "noun.person")
    assert [sense.rank for sense in lexicon.senses("dog", "n")] == [1, 2, 3, 4, 5, 6, 7]
    over_all = [sense.count for sense in lexicon.senses("run")]
    assert over_all == sorted(over_all, reverse=True)
    assert {sense.pos for sense in lexicon.senses("run")} == {"n", "v"}


def test_lookups_ignore_case_and_take_spaces_or_underscores(lexicon: WordNet) -> None:
    assert lexicon.senses("Ice Cream") == lexicon.senses("ice_cream") != ()
    assert lexicon.senses("CHINA", "n")[0].id == lexicon.senses("china", "n")[0].id
    assert lexicon.senses("blorptastic") == ()
    assert not lexicon.contains("")


def test_satellites_fold_into_adjectives(lexicon: WordNet) -> None:
    funny = lexicon.senses("funny", "s")[0]
    assert funny == lexicon.senses("funny", "a")[0]
    assert funny in lexicon.senses("amusing", "a")
    (head,) = lexicon.heads(funny)
    assert "humorous" in head.lemmas
    assert funny in lexicon.satellites(head)
    assert lexicon.heads(head) == ()


def test_synonyms_follow_sense_rank_and_leave_the_lemma_out(lexicon: WordNet) -> None:
    assert lexicon.synonyms("doctor", "n", 1) == ("doc", "physician", "MD", "Dr.", "medico")
    two = lexicon.synonyms("funny", "a", 2)
    assert two[0] == "amusing"
    assert two.index("laughable") < two.index("odd")
    assert "funny" not in two
    assert lexicon.synonyms("dog", "n", 1) == ("domestic_dog", "Canis_familiaris")
    assert lexicon.synonyms("doctor", "r") == ()


def test_antonyms_are_lemma_level_and_indirect_ones_go_through_the_head(lexicon: WordNet) -> None:
    assert lexicon.antonyms("good", "a") == ("bad", "evil")
    assert lexicon.antonyms("man", "n") == ("woman",)
    assert lexicon.antonyms("damp", "a") == ()
    indirect = lexicon.indirect_antonyms("damp")
    assert indirect[0] == "dry"
    assert "arid" in indirect
    assert "bad" not in lexicon.indirect_antonyms("good")


def test_hypernyms_hyponyms_siblings_and_ancestors(lexicon: WordNet) -> None:
    saxophone = lexicon.senses("saxophone", "n")[0]
    (reed,) = lexicon.hypernyms(saxophone)
    assert reed.lemmas == ("single-reed_instrument", "single-reed_woodwind")
    assert (reed.rank, saxophone in lexicon.hyponyms(reed)) == (0, True)
    assert ("clarinet",) in [sense.lemmas for sense in lexicon.siblings(saxophone)]
    assert saxophone not in lexicon.siblings(saxophone)
    names = [sense.lemmas[0] for sense in lexicon.ancestors(saxophone)]
    assert names.index("woodwind") < names.index("musical_instrument") < names.index("entity")
    assert lexicon.hypernyms(lexicon.sense("n00001740")) == ()


def test_named_individuals_are_marked_and_have_classes(lexicon: WordNet) -> None:
    china = lexicon.senses("China", "n")[0]
    assert china.is_instance
    assert any("country" in name for parent in lexicon.hypernyms(china) for name in parent.lemmas)
    planet = lexicon.senses("planet", "n")[0]
    assert not planet.is_instance
    assert any(child.is_instance for child in lexicon.siblings(lexicon.senses("Mars", "n")[0]))


@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [
        ("dog", "Dog", "same"),
        ("ice cream", "ice_cream", "same"),
        ("nonsuchword", "nonsuchword", "same"),
        ("funny", "amusing", "synonym"),
        ("doctor", "physician", "synonym"),
        ("good", "bad", "antonym"),
        ("damp", "dry", "antonym"),
        ("dry", "damp", "antonym"),
        ("moist", "arid", "antonym"),
        ("increase", "diminish", "antonym"),
        ("car", "vehicle", "hypernym"),
        ("vehicle", "car", "hyponym"),
        ("China", "country", "hypernym"),
        ("saxophone", "musical instrument", "hypernym"),
        ("saxophone", "clarinet", "sibling"),
        ("France", "Germany", "sibling"),
        ("red", "blue", "sibling"),
        ("China", "Guangzhou", "none"),
        ("doctor", "blorptastic", "none"),
    ],
)
def test_relation(lexicon: WordNet, a: str, b: str, relation: str) -> None:
    assert lexicon.relation(a, b) == relation


def test_relation_of_dominant_senses_only(lexicon: WordNet) -> None:
    assert lexicon.relation("dog", "pawl") == "synonym"  # the catch of a machine
    assert lexicon.relation("dog", "pawl", max_senses=1) == "none"


_WORDS = ["good", "bad", "car", "vehicle", "run", "walk", "china", "dry", "damp", "arid", "zzz", "funny"]


@given(st.tuples(st.sampled_from(_WORDS), st.sampled_from(_WORDS)))
def test_relation_is_symmetric_or_mirrored(pair: tuple[str, str]) -> None:
    a, b = pair
    forward, backward = WordNet.load().relation(a, b), WordNet.load().relation(b, a)
    assert backward == MIRROR.get(forward, forward)


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_text_can_be_looked_up(a: str, b: str) -> None:
    lexicon = WordNet.load()
    assert lexicon.relation(a, b) in RELATIONS
    assert isinstance(lexicon.senses(a), tuple)
    assert lexicon.frequency(a) >= 0
    assert all(lexicon.contains(form) for form in lexicon.base_forms(a))


def test_frequency_usage_registers_and_placement(lexicon: WordNet) -> None:
    assert lexicon.frequency("dog", "n") == 42
    assert lexicon.frequency("dog") == lexicon.frequency("dog", "n") + lexicon.frequency("dog", "v")
    assert lexicon.frequency("blorptastic") == 0
    doctor = lexicon.senses("doctor", "n")[0]
    rank, count = lexicon.usage("physician", doctor)
    assert rank == 1 and 0 < count < 73
    assert lexicon.usage("dog", doctor) == (0, 0)
    assert "obscenity" in lexicon.registers("crap", lexicon.senses("crap", "n")[0])
    assert lexicon.registers("doctor", doctor) == ()
    assert lexicon.placement("asleep", lexicon.senses("asleep", "a")[0]) == "p"
    assert lexicon.placement("funny", lexicon.senses("funny", "a")[0]) == ""


@pytest.mark.parametrize(
    ("word", "pos", "bases"),
    [
        ("went", None, ("go",)),
        ("dogs", "n", ("dog",)),
        ("studies", "n", ("study",)),
        ("children", "n", ("child",)),
        ("happier", "a", ("happy",)),
        ("better", "a", ("better", "good", "well")),
        ("boxes", "n", ("box",)),
        ("xyzzies", None, ()),
    ],
)
def test_base_forms(lexicon: WordNet, word: str, pos: str | None, bases: tuple[str, ...]) -> None:
    assert set(bases) <= set(lexicon.base_forms(word, pos))
    assert bool(bases) == bool(lexicon.base_forms(word, pos))


def test_it_pickles_as_its_path(lexicon: WordNet, tmp_path: Path) -> None:
    assert len(pickle.dumps(lexicon)) < 200
    assert pickle.loads(pickle.dumps(lexicon)) is lexicon
    path = tmp_path / "small.xz"
    write_tables(_small(), path)
    copy = pickle.loads(pickle.dumps(WordNet.load(path)))
    assert copy.antonyms("hot", "a") == ("cold",)


def test_wrong_part_of_speech_and_sense_id(lexicon: WordNet) -> None:
    with pytest.raises(UsageError, match=r"part of speech 'x': expected one of 'n', 'v', 'a', 'r'"):
        lexicon.senses("dog", "x")
    with pytest.raises(UsageError, match="part of speech ''"):
        lexicon.synonyms("dog", "")
    for wrong in ("n00000001", "", "dog", "x00001740", "n99999999"):
        with pytest.raises(UsageError, match="no sense has the id"):
            lexicon.sense(wrong)


def _small() -> Tables:
    return Tables(
        source="WordNet 3.0",
        sizes={"n": 2, "v": 0, "a": 3, "r": 0},
        offsets=[10, 25, 7, 11, 90],
        files=["03", "05", "00", "00", "00"],
        lemmas=["thing", "dog:1:5 hound:2", "hot", "cold(p)", "icy"],
        pointers=["", "-1", "!1.1.1", "!-1.1.1", "&-1"],
        exceptions=["n oxen ox"],
    )


def test_tables_survive_a_round_trip_with_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a.xz", tmp_path / "b.xz"
    write_tables(_small(), first)
    assert read_tables(first) == _small()
    write_tables(read_tables(first), second)
    assert first.read_bytes() == second.read_bytes()
    lexicon = WordNet.load(first)
    assert lexicon.senses("dog")[0].id == "n00000025"
    assert lexicon.relation("dog", "thing") == "hypernym"
    assert lexicon.indirect_antonyms("icy") == ("hot",)
    assert lexicon.senses("hound")[0].rank == 2


def test_damaged_files_give_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.xz"
    with pytest.raises(DataError, match=r"cannot read the WordNet lexicon .*broken\.xz.*FileNotFoundError"):
        WordNet.load(path)
    path.write_bytes(b"not xz")
    with pytest.raises(DataError, match=r"expected a file of benchmarks/build_wordnet\.py"):
        WordNet.load(path)
    write_tables(_small(), path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match="reinstall"):
        WordNet.load(path)


def test_missing_lines_and_other_formats_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "short.xz"
    tables = _small()
    write_tables(Tables(**{**vars(tables), "lemmas": tables.lemmas[:-1]}), path)
    with pytest.raises(DataError, match=r"22 lines where the header promises 23"):
        read_tables(path)
    for header in ('{"format":"other","version":1}', '{"format":"rif-wordnet","version":9}', "[]", "{}"):
        path.write_bytes(lzma.compress(f"{header}\n".encode()))
        with pytest.raises(DataError, match="cannot read the WordNet lexicon"):
            read_tables(path)
