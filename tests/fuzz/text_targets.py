"""Texts: words, sensitive spans, masks, counterparts, proposals, marks of changed words."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from fuzz import hostile
from fuzz.engine import Target
from hypothesis import strategies as st

from rif_plugins.core.pairs import Pair
from rif_plugins.core.tokens import remove_span, replace_spans, word_spans
from rif_plugins.metrics.attack_logs import unmarked
from rif_plugins.proposers import TokenContext, WordNetProposer
from rif_plugins.reports.characters import one_line, printable, well_formed, xml_text
from rif_plugins.reports.csv_file import guarded, plain
from rif_plugins.reports.spans import apply, utf16_offsets, word_changes
from rif_plugins.similar import Lexicon, find_spans, mask, similar_texts
from rif_plugins.similar.alignment import pair_from_texts
from rif_plugins.similar.pair_source import PairSource

_ATTRIBUTES: tuple[Any, ...] = (None, ("gender",), ("race", "religion"), ("gender*race",))


def check_words(text: str) -> None:
    spans = word_spans(text)
    end = 0
    for span in spans:
        assert end <= span.start < span.end <= len(text)
        end = span.end
        assert len(remove_span(text, span)) < len(text)
    assert replace_spans(text, {span: text[span.start : span.end] for span in spans}) == text


def check_spans(text: str) -> None:
    lexicon = Lexicon.load()
    ends: dict[str, int] = {}
    spans = find_spans(text, lexicon)
    assert spans == sorted(spans)
    for span in spans:
        assert ends.get(span.attribute, 0) <= span.start < span.end <= len(text)
        ends[span.attribute] = span.end
    assert isinstance(mask(text, lexicon), str)


def check_pairs(text: str) -> None:
    lexicon = Lexicon.load()
    for attributes in _ATTRIBUTES:
        for pair in similar_texts(text, lexicon, attributes, max_counterparts=4):
            _check_pair(pair, text)


def _check_pair(pair: Pair, text: str) -> None:
    assert pair.original == text != pair.similar
    end = 0
    for swap in sorted(pair.swaps, key=lambda swap: swap.start):
        assert end <= swap.start <= swap.end <= len(text)
        assert text[swap.start : swap.end] == swap.source
        end = swap.end


@cache
def _names() -> PairSource:
    return PairSource(attributes=("gender", "gender_names", "names"), max_counterparts=4)


def check_names(text: str) -> None:
    for pair in (*_names().pairs_of(text), *_names().controls_of(text, 4)):
        _check_pair(pair, text)


def check_ready_pair(texts: tuple[str, str]) -> None:
    if texts[0] != texts[1]:
        _check_pair(pair_from_texts(*texts), texts[0])


@cache
def _wordnet() -> WordNetProposer:
    return WordNetProposer(protected=Lexicon.load().is_sensitive)


def check_proposals(text: str) -> None:
    proposer = _wordnet()
    contexts = [TokenContext(text, span.start, span.end) for span in word_spans(text)[:40]]
    for context, found in zip(contexts, proposer.propose(contexts), strict=True):
        folded = [candidate.text.casefold() for candidate in found]
        assert context.token.casefold() not in folded
        assert len(folded) == len(set(folded)) <= 12
        assert all(candidate.text.strip() for candidate in found)
        assert context.hash


def check_report_characters(text: str) -> None:
    assert len(well_formed(text)) == len(text)
    well_formed(text).encode()
    xml_text(text).encode()
    assert "\x1b" not in printable(text)
    assert not {"\n", "\r", "\u2028"} & set(one_line(text, 50))
    printable(text).encode()
    cell = guarded(text)
    assert not cell.startswith(tuple("=+-@\t\r\n＝＋－＠"))
    assert plain(cell) == well_formed(text).replace("\x00", "\ufffd")


def check_marked(texts: tuple[str, str]) -> None:
    before, after = unmarked(*texts)
    assert len(before) <= len(texts[0])
    assert len(after) <= len(texts[1])


def check_word_changes(texts: tuple[str, str]) -> None:
    changes = word_changes(*texts)
    assert apply(texts[0], changes) == texts[1]
    offsets = utf16_offsets(texts[0], [place for change in changes for place in (change.start, change.end)])
    assert offsets == sorted(offsets)


def _two(rng: random.Random) -> tuple[str, str]:
    first = hostile.text(rng)
    if rng.random() < 0.5:
        return first, hostile.text(rng)
    words = first.split(" ")
    words[rng.randrange(len(words))] = rng.choice(hostile.PLAIN)
    return first, " ".join(words)


def _two_marked(rng: random.Random) -> tuple[str, str]:
    first, second = (
        " ".join(f"[[{w}]]" if rng.random() < 0.3 else w for w in text.split(" ")) for text in _two(rng)
    )
    return first, second


_TWO_TEXTS = st.tuples(hostile.TEXTS, hostile.TEXTS)
TARGETS = (
    Target("text.words", check_words, hostile.text, hostile.TEXTS),
    Target("text.spans and mask", check_spans, hostile.text, hostile.TEXTS),
    Target("text.counterparts", check_pairs, hostile.text, hostile.TEXTS),
    Target("text.names and controls", check_names, hostile.text, hostile.TEXTS),
    Target("text.ready pairs", check_ready_pair, _two, _TWO_TEXTS),
    Target("text.wordnet", check_proposals, hostile.text, hostile.TEXTS),
    Target("text.report characters", check_report_characters, hostile.text, hostile.TEXTS),
    Target("text.marked words", check_marked, _two_marked, _TWO_TEXTS),
    Target("text.word changes", check_word_changes, _two, _TWO_TEXTS),
)
