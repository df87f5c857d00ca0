from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rif_plugins.core.articles import article_fits
from rif_plugins.core.tokens import word_spans
from rif_plugins.entailment import LexiconVeto
from rif_plugins.errors import DataError, UsageError
from rif_plugins.proposers import Candidate, TokenContext, load_proposer
from rif_plugins.proposers.context import ContextProposer
from rif_plugins.proposers.equivalents import (
    EQUIVALENTS_FILE,
    TAGS,
    Equivalent,
    Equivalents,
    is_about,
    read_equivalents,
    shared_senses,
)
from rif_plugins.proposers.guard import Guard
from rif_plugins.similar import Lexicon

ROWS = """\
# comment
NN\tnote\tbill=90 remark=80
NN\tfilm\tmovie*=95 flick=55
NNS\tfilm\tmovie*=91
VB\tbuy\tpurchase=88
VBD\tbuy\tpurchase=80
VBD\tleave\tdepart*=75
VBN\tleave\tdepart*=30 abandon=90
JJ\tgreat\twonderful*=85 large=80
JJ\tlarge\tbig*=90
"""


@pytest.fixture
def table(tmp_path: Path) -> Equivalents:
    path = tmp_path / "equivalents.tsv"
    path.write_text(ROWS, encoding="utf-8")
    return Equivalents(read_equivalents(path))


def propose(text: str, token: str, table: Equivalents, least: float = 0.5) -> list[tuple[str, str]]:
    start = re.search(rf"(?<!\w){re.escape(token)}(?!\w)", text).start()  # type: ignore[union-attr]
    proposer = ContextProposer(least=least, table=table)
    (found,) = proposer.propose([TokenContext(text, start, start + len(token))])
    return [(candidate.text, candidate.source) for candidate in found]


def test_by_share_with_source_inflection_and_case(table: Equivalents) -> None:
    assert len(table) == 13
    assert propose("the film ends", "film", table) == [("movie", "strict"), ("flick", "wordnet")]
    assert propose("the films end", "films", table) == [("movies", "strict")]
    assert propose("Films end.", "Films", table) == [("Movies", "strict")]
    assert propose("the film's end", "film's", table) == [("movie's", "strict"), ("flick's", "wordnet")]
    assert propose("she bought it", "bought", table) == [("purchased", "wordnet")]
    assert propose("the film ends", "film", table, least=0.8) == [("movie", "strict")]


def test_an_open_inflection_takes_the_least_share(table: Equivalents) -> None:
    # "left" is past or participle here: "departed" passes as one and not as the other.
    assert propose("the man left", "left", table, least=0.2) == [("departed", "strict")]
    assert propose("the man left", "left", table, least=0.6) == []


def test_the_sentence_chooses_a_rare_sense(table: Equivalents) -> None:
    # A note is money in 4 % of the places that WordNet has tagged.
    assert shared_senses("note", "n", "bill")[1] == pytest.approx(0.035, abs=0.001)
    with_money = propose("she paid with a note of one dollar", "note", table)
    without = propose("she sang a note of one song", "note", table)
    assert ("bill", "wordnet") in with_money
    assert ("bill", "wordnet") not in without


def test_a_neighbour_of_the_sense_in_the_sentence() -> None:
    senses, share = shared_senses("film", "n", "movie")
    assert senses and share > 0.2
    assert is_about(senses, frozenset({"documentary"}))
    assert not is_about(senses, frozenset({"zebra"}))
    assert shared_senses("film", "n", "zebra") == ((), 0.0)
    # Similar adjectives have a cluster in common, not a sense.
    assert shared_senses("funny", "a", "humorous")[1] > 0


def test_no_analytic_form_for_a_word_that_has_its_own(table: Equivalents) -> None:
    # "wonderful" has no form of its own for "greater".
    assert propose("the greater film", "greater", table) == [("larger", "wordnet")]
    assert ("bigger", "strict") in propose("a larger film", "larger", table)


def test_function_words_come_from_the_strict_list(table: Equivalents) -> None:
    assert propose("it works because it is short", "because", table) == [
        ("since", "strict"),
        ("as", "strict"),
    ]
    assert propose("the film", "the", table) == []


def test_the_rules_of_every_proposer_hold(table: Equivalents) -> None:
    assert propose("We saw Film there", "Film", table) == []
    guarded = ContextProposer(least=0.5, protected=lambda word: word == "movie", table=table)
    (found,) = guarded.propose([TokenContext("the film ends", 4, 8)])
    assert found == (Candidate("flick", "wordnet"),)
    assert propose("a large film", "large", table) == [("big", "strict")]
    assert propose("an large film", "large", table) == []


def test_settings() -> None:
    with pytest.raises(UsageError, match=r"least must be between 0 and 1, got 1\.2"):
        ContextProposer(least=1.2)
    proposer = load_proposer("context", max_candidates=4)
    assert isinstance(proposer, ContextProposer) and proposer.max_candidates == 4
    assert pickle.loads(pickle.dumps(proposer)).propose([TokenContext("a film", 2, 6)]) == proposer.propose(
        [TokenContext("a film", 2, 6)]
    )
    assert repr(proposer) == f"ContextProposer(least={proposer.least}, max_candidates=4)"


@pytest.mark.parametrize(
    "row",
    ["NN\tfilm", "XX\tfilm\tmovie=9", "NN\tfilm\tmovie", "NN\tfilm\tmovie=120", "NN\tfilm\t=9", "NN\t\ta=9"],
)
def test_damaged_rows_are_named(tmp_path: Path, row: str) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(f"# c\n{row}\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: expected tag, lemma and word=percent, got"):
        read_equivalents(path)


def test_an_absent_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="install the package again"):
        read_equivalents(tmp_path / "absent.tsv")


PACKAGED = Equivalents(read_equivalents(EQUIVALENTS_FILE))


def test_the_packaged_table_keeps_the_rules() -> None:
    """No row adds what the guard forbids or what the lexicon calls an opposite; shares fall along a row."""
    guard, veto = Guard(Lexicon.load().is_sensitive), LexiconVeto()
    assert len(PACKAGED) > 5_000
    assert EQUIVALENTS_FILE.stat().st_size < 1_000_000
    for tag, lemma in PACKAGED._rows:
        found = PACKAGED.of(lemma, tag)
        assert [e.share for e in found] == sorted((e.share for e in found), reverse=True)
        for equivalent in found:
            words = equivalent.lemma.replace("_", " ")
            assert guard.allows(lemma, words), (lemma, words)
            assert veto.relation(lemma, words) is None, (lemma, words)


def test_the_version_names_the_lists(table: Equivalents) -> None:
    version = ContextProposer().version
    assert re.fullmatch(r"sha256:[0-9a-f]{12} \S.*", version) and ContextProposer().version == version
    assert ContextProposer(table=table).version == ""


def test_known_rows() -> None:
    assert "movie" in [e.lemma for e in PACKAGED.of("film", "NN")]
    assert "movie" in [e.lemma for e in PACKAGED.of("film", "NNS")]
    assert PACKAGED.of("buy", "VBP") == PACKAGED.of("buy", "VB") != ()
    assert PACKAGED.of("zebra", "NN") == ()
    assert set(TAGS) == set("nvar")
    assert Equivalent("a", 0.5, False).share == 0.5


_WORDS = st.sampled_from(
    [
        *(
            "a",
            "an",
            "the",
            "film",
            "films",
            "Funny",
            "great",
            "quickly",
            "bought",
            "very",
            "not",
            "he",
            "two",
        ),
        *("story", "STORY", "because", "it's", "good", "woman", "Paris", ".", ",", "makes", "seemed", "odd"),
    ]
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_WORDS, min_size=1, max_size=12))
def test_invariants(words: list[str]) -> None:
    text = " ".join(words)
    contexts = [TokenContext(text, span.start, span.end) for span in word_spans(text)]
    proposer = ContextProposer(protected=Lexicon.load().is_sensitive)
    wide = ContextProposer(least=0.0, max_candidates=None, protected=Lexicon.load().is_sensitive)
    guard = Guard(Lexicon.load().is_sensitive)
    found = proposer.propose(contexts)
    for context, candidates, all_candidates in zip(contexts, found, wide.propose(contexts), strict=True):
        assert len(candidates) <= 12
        assert set(candidates) <= set(all_candidates)
        folded = [candidate.text.casefold() for candidate in candidates]
        assert len(set(folded)) == len(folded) and context.token.casefold() not in folded
        for candidate in candidates:
            assert isinstance(candidate, Candidate) and candidate.source in ("strict", "wordnet")
            assert guard.allows(context.token, candidate.text)
            assert article_fits(context.previous_word, candidate.text.lower())
    assert found == proposer.propose(contexts)
