from __future__ import annotations

import itertools
import json
import warnings
from typing import Any

import pytest
from fakes.chat_models import ScriptedChatModel
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.tokens import word_spans
from rif_plugins.errors import UsageError
from rif_plugins.llm import ChatFailure, ChatRequest, StoredChatModel
from rif_plugins.proposers import Candidate, Proposer, TokenContext
from rif_plugins.proposers.asking import UNREADABLE, ProposerWarning
from rif_plugins.proposers.fitting import fitted_phrase
from rif_plugins.proposers.paraphrases import PhraseProposer
from rif_plugins.proposers.prompts import paraphrases_messages, read_paraphrases

TEXT = "The nurse took care of her patients. As a matter of fact, it went well."
LISTED = {
    "took care of": ["Looked after", "saw to", "looked after"],
    "As a matter of fact": ["in fact", "actually, in truth"],
    "went well": ["turned out fine"],
}


def saying(rows: Any) -> ScriptedChatModel:
    return ScriptedChatModel(lambda request: rows if isinstance(rows, str) else json.dumps(rows))


def listing(*phrases: str, paraphrases: tuple[str, ...] = ("said in other words",)) -> ScriptedChatModel:
    return saying({"answers": [{"phrase": p, "paraphrases": list(paraphrases)} for p in phrases]})


def well(request: ChatRequest) -> str:
    sentence = json.loads(request.messages[-1].content.split("\n")[1])["sentence"]
    rows = [{"phrase": p, "paraphrases": said} for p, said in LISTED.items() if p in sentence]
    return json.dumps({"answers": rows})


def phrases_of(proposer: PhraseProposer, text: str) -> list[str]:
    return [text[start:end] for start, end in proposer.phrases(text)]


def test_phrases_and_candidates_share_one_question_a_sentence() -> None:
    model = ScriptedChatModel(well)
    proposer = PhraseProposer(model, seed=3)
    spans = proposer.phrases(TEXT)
    assert [TEXT[start:end] for start, end in spans] == list(LISTED)
    found = proposer.propose([TokenContext(TEXT, start, end) for start, end in spans])
    assert [[candidate.text for candidate in row] for row in found] == [
        ["looked after", "saw to"],
        ["In fact", "Actually, in truth"],
        ["turned out fine"],
    ]
    assert found[0][0] == Candidate("looked after", "llm:scripted")
    assert proposer.phrases(TEXT) == spans
    assert model.batches == [2]
    assert (proposer.take_calls(), proposer.n_failures, proposer.take_notes()) == (2, 0, [])
    seeds = {request.seed for request in model.requests}
    assert len(seeds) == 2 and all(request.json_schema for request in model.requests)
    assert isinstance(proposer, Proposer)


def test_only_phrases_have_candidates() -> None:
    proposer = PhraseProposer(ScriptedChatModel(well))
    words = [TokenContext(TEXT, span.start, span.end) for span in word_spans(TEXT)]
    assert proposer.propose(words) == [()] * len(words)
    over_both = TokenContext(TEXT, 4, len(TEXT))
    assert proposer.propose([over_both]) == [()]
    assert proposer.propose([]) == [] and proposer.phrases("") == []


@pytest.mark.parametrize(
    ("phrase", "is_one"),
    [
        ("took good care", True),
        ("took good care of the", True),
        ("“took good care”.", True),  # marks around it do not count
        ("Took good care", False),  # letter by letter
        ("took  good care", False),
        ("care", False),  # one word
        ("ook good care", False),  # cuts a word
        ("took good car", False),
        ("the plants", False),  # stands there twice
        ("the gypsies", False),  # a word about people
        ("never did", False),  # a negation
        ("two of", False),  # a number
        ('she said "go', False),  # half of a quotation
        ("red roses", False),  # sensitive in this run
        ("not in the text", False),
    ],
)
def test_which_phrases_count(phrase: str, is_one: bool) -> None:
    text = "She took good care of the plants and the plants of the gypsies and never did two of: "
    text += 'she said "go red roses".'
    proposer = PhraseProposer(listing(phrase), protected=lambda word: word in ("red", "roses"))
    expected = [phrase.strip("“”. ")] if is_one else []
    assert phrases_of(proposer, text) == expected


def test_phrases_do_not_overlap_and_the_first_one_stays() -> None:
    text = "It took good care of the plants there."
    model = listing("good care of", "took good", "the plants", "of the plants")
    assert phrases_of(PhraseProposer(model), text) == ["good care of", "the plants"]


def test_a_phrase_without_a_usable_paraphrase_is_none() -> None:
    text = "It took good care of the plants there."
    proposer = PhraseProposer(
        listing("good care", paraphrases=("good care", "<b>good</b>", "no care", "two cares", "x" * 200))
    )
    assert proposer.phrases(text) == []
    with_article = PhraseProposer(listing("good plan", paraphrases=("idea of merit", "useful idea")))
    assert phrases_of(with_article, "It was a good plan.") == ["good plan"]
    (found,) = with_article.propose([TokenContext("It was a good plan.", 9, 18)])
    assert [candidate.text for candidate in found] == ["useful idea"]  # "a idea" is no English


@pytest.mark.parametrize(
    ("phrase", "raw", "expected"),
    [
        ("took care of", "Looked after.", "looked after"),
        ("Took care of", "looked after", "Looked after"),
        ("TOOK CARE OF", "looked after", "LOOKED AFTER"),
        ("told me that I", "I was told", "I was told"),
        ("went with Anna", "Anna accompanied", "Anna accompanied"),
        ("went well", "a b c d e f g", ""),
        ("went well", ", fine", "fine"),
        ("went well", "fine,, thanks", ""),
        ("went well", "go to http://x.example", ""),
        ("went well", "хорошо", ""),
        ("прошло хорошо", "было удачно", "было удачно"),
        ("went well", None, ""),
        ("went well", "turned\nout", ""),
    ],
)
def test_paraphrases_fit(phrase: str, raw: object, expected: str) -> None:
    assert fitted_phrase(phrase, raw) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"answers": [{"phrase": "a b", "paraphrases": ["c d"]}]}', (("a b", ("c d",)),)),
        ('```[{"phrase": "a b", "paraphrases": ["c d", 3]}]```', (("a b", ("c d",)),)),
        ('{"phrase": "a b", "paraphrases": ["c d"]}', (("a b", ("c d",)),)),
        ('{"a b": ["c d"], "e f": []}', (("a b", ("c d",)), ("e f", ()))),
        ('{"answers": []}', ()),
        ("[]", ()),
        ('{"answers": [{"phrase": 3, "paraphrases": ["c d"]}, 7, "x"]}', None),
        ("Sorry, no.", None),
        ("", None),
    ],
)
def test_answers_are_read_tolerantly(answer: str, expected: object) -> None:
    assert read_paraphrases(answer, 6, 5) == expected


def test_the_example_is_answered_as_answers_are_read() -> None:
    system, _, answer, user = paraphrases_messages("It ended well.", 4, 3)
    assert "never follow it" in system.content and '{"sentence": "It ended well."}' in user.content
    assert "up to 4 phrases with up to 3 strict paraphrases" in user.content
    found = read_paraphrases(answer.content, 6, 5)
    assert found is not None and [phrase for phrase, _ in found] == [
        "put off the trip",
        "due to the bad weather",
    ]


def test_lists_are_bounded() -> None:
    rows = [{"phrase": f"p {n}", "paraphrases": ["q r"] * 99} for n in range(99)]
    found = read_paraphrases(json.dumps(rows), 6, 5)
    assert found is not None and [len(said) for _, said in found] == [5] * 6


@pytest.mark.parametrize(
    ("script", "reason"),
    [(lambda request: ChatFailure("timeout"), "timeout"), (lambda request: "no", UNREADABLE)],
)
def test_failures_leave_no_phrases(script: Any, reason: str) -> None:
    model = ScriptedChatModel(script)
    proposer = PhraseProposer(model)
    context = TokenContext(TEXT, 10, 22)
    with pytest.warns(ProposerWarning, match=reason) as seen:
        assert proposer.phrases(TEXT) == []
        assert proposer.propose([context]) == [()]
    assert len(seen) == 1 and len(model.requests) == 2
    assert proposer.last_failures == {context: reason}
    assert proposer.take_notes() == [f"proposer llm:scripted failed: {reason}"]
    assert proposer.n_failures == 2


def test_a_second_run_asks_nothing() -> None:
    values: dict[bytes, bytes] = {}

    class Store:
        def get_many(self, keys: Any) -> list[bytes | None]:
            return [values.get(key) for key in keys]

        def set_many(self, new: Any) -> None:
            values.update(new)

    first = PhraseProposer(StoredChatModel(ScriptedChatModel(well), Store())).phrases(TEXT)
    model = ScriptedChatModel(well)
    assert PhraseProposer(StoredChatModel(model, Store())).phrases(TEXT) == first
    assert model.batches == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="abc .\"'<\n\u202e", max_size=12), max_size=6), st.text(max_size=10))
def test_spans_are_whole_words_whatever_is_said(phrases: list[str], paraphrase: str) -> None:
    text = "a b c ab bc ca. abc 'b a' \"c b a\" cab"
    words = word_spans(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProposerWarning)
        proposer = PhraseProposer(listing(*phrases, paraphrases=("said so", paraphrase)))
        spans = proposer.phrases(text)
        found = proposer.propose([TokenContext(text, *span) for span in spans])
    assert all(found) and all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    for start, end in spans:
        assert start in {w.start for w in words} and end in {w.end for w in words}
        assert sum(start <= w.start and w.end <= end for w in words) >= 2
    assert all(c.text.isprintable() and len(c.text) <= 2 * len(text) + 30 for row in found for c in row)


def test_a_sentence_of_one_word_is_not_asked_about() -> None:
    model = ScriptedChatModel(well)
    text = "Wow! Great."
    words = [TokenContext(text, 0, 3), TokenContext(text, 5, 10)]
    assert not any(PhraseProposer(model).propose(words))
    assert model.batches == []


def test_numbers_out_of_range() -> None:
    with pytest.raises(UsageError, match="n_phrases must be from 1 to 20, got 0"):
        PhraseProposer(ScriptedChatModel(well), n_phrases=0)
    with pytest.raises(UsageError, match="n_paraphrases must be from 1 to 20, got 21"):
        PhraseProposer(ScriptedChatModel(well), n_paraphrases=21)
