"""Candidate tables: what stands in them, that runs read them as made, and that a kill costs nothing."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.chat_models import ScriptedChatModel
from fakes.runner_world import CANDIDATES, TEXTS, ScriptedScorer, TableWords
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rif_plugins.core.members import member_spans
from rif_plugins.core.sentences import sentence_spans
from rif_plugins.entailment import CosineScorer, EntailmentFilter
from rif_plugins.errors import DataError, UsageError
from rif_plugins.examples.base import Example, ExampleSet
from rif_plugins.llm import ChatFailure
from rif_plugins.proposers import Candidate, TableProposer, TokenContext
from rif_plugins.proposers.asking import UNREADABLE, ProposerWarning
from rif_plugins.runner.candidate_files import state_path
from rif_plugins.runner.candidate_rows import CandidateCounts, RowMaker, _sentence
from rif_plugins.runner.candidates import CandidateBuild, CandidateOptions
from rif_plugins.runner.language_models import LanguageModels
from rif_plugins.settings import Settings
from rif_plugins.similar import PairSource

SOURCE = PairSource()
REFUSED = ("burnt", "awful", "terrible")


class NamedWords(TableWords):
    """The words of the world, from two sources; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[TokenContext] = []

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        self.asked += contexts
        return [
            tuple(
                Candidate(word, "first" if number == 0 else "second")
                for number, word in enumerate(CANDIDATES.get(context.token.lower(), ()))
            )
            for context in contexts
        ]


class Nearness(CosineScorer):
    """A cosine by the first letters of the texts' differing words: no model."""

    def __init__(self) -> None:
        self.name = "cosine:letters"

    @property
    def version(self) -> str:
        return "1"

    def cosine(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        return np.array([0.95 if "dinner" in a + b else 0.5 for a, b in pairs])


def world(texts: Iterable[tuple[str, Any]] = TEXTS) -> ExampleSet:
    return ExampleSet.of(
        [Example(f"e{i}", text, None) for i, (text, _) in enumerate(texts)], None, "the world"
    )


def build(
    *,
    examples: ExampleSet | None = None,
    scorer: Any = None,
    cosine: Any = None,
    window: int = 3,
    proposer: Any = None,
    **options: Any,
) -> CandidateBuild:
    asked = CandidateOptions("the world", Settings(), **options)
    scorer = ScriptedScorer(REFUSED) if scorer is None else scorer
    maker = RowMaker(
        SOURCE,
        proposer or NamedWords(),
        EntailmentFilter(scorer, veto=None) if scorer != "none" else None,
        cosine=None if cosine is None else EntailmentFilter(cosine, veto=None),
        keep_refused=asked.keep_refused,
        keep_texts=asked.keep_texts,
    )
    return CandidateBuild(examples or world(), SOURCE, maker, asked, window=window)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def state_of(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.with_suffix(".run.json").read_text(encoding="ascii")))


# -- what stands in a table ----------------------------------------------------------------------------


def test_a_row_tells_word_place_candidate_and_what_the_filter_says(tmp_path: Path) -> None:
    text = "He cooked a good meal."
    path = tmp_path / "t.jsonl"
    counts = build(examples=world([(text, 1)]), similar_texts=False).write(path)
    here = TokenContext(text, 3, 9)
    rows = rows_of(path)
    assert rows[0] == {
        "token": "cooked",
        "context_hash": here.hash,
        "candidate": "prepared",
        "source": "first",
        "forward": 0.98,
        "backward": 0.98,
        "score": 0.9604,
        "cosine": None,
    }
    assert [(row["token"], row["candidate"]) for row in rows] == [
        ("cooked", "prepared"),
        ("good", "fine"),
        ("good", "decent"),
        ("good", "great"),
        ("meal", "dinner"),
        ("meal", "supper"),
    ]
    assert text not in path.read_text() and text not in path.with_suffix(".run.json").read_text()
    # He is sensitive; of the other four words three have candidates, and "burnt" is refused
    assert counts == CandidateCounts(
        examples=1, texts=1, tokens=4, tokens_with_candidates=3, proposed=7, accepted=6, rows=6,
        sources={"first": [3, 3], "second": [4, 3]}, entailment_rows=13, seconds=counts.seconds,
    )  # fmt: skip


def test_refused_candidates_and_sentences_are_written_on_demand(tmp_path: Path) -> None:
    text = "The day was long. He cooked a meal. Then he left."
    path = tmp_path / "t.jsonl"
    build(
        examples=world([(text, 1)]), similar_texts=False, keep_refused=True, keep_texts=True
    ).write(path)  # fmt: skip
    rows = rows_of(path)
    assert [(row["candidate"], row["accepted"], row["reason"]) for row in rows] == [
        ("prepared", True, ""),
        ("burnt", False, "below min_equivalence"),
        ("dinner", True, ""),
        ("supper", True, ""),
    ]
    assert (rows[1]["forward"], rows[1]["backward"], rows[1]["score"]) == (0.05, 0.05, 0.0025)
    assert {row["sentence"] for row in rows} == {"He cooked a meal."}
    read = TableProposer(path).propose([TokenContext(text, 21, 27)])
    assert [candidate.text for candidate in read[0]] == ["prepared"]


def test_vetoed_candidates_are_counted_either_way(tmp_path: Path) -> None:
    class NoDinner:
        def reason(self, original: str, edited: str) -> str | None:
            return "no dinner" if "dinner" in edited else None

    for keep in (False, True):
        made = build(examples=world([("He had a meal.", 1)]), similar_texts=False, keep_refused=keep)
        assert made.maker.entailment is not None
        made.maker.entailment.veto = NoDinner()
        path = tmp_path / f"{keep}.jsonl"
        counts = made.write(path)
        assert (counts.proposed, counts.accepted, counts.vetoed) == (2, 1, 1)
        assert [row["candidate"] for row in rows_of(path)] == (["dinner", "supper"] if keep else ["supper"])


def test_a_cosine_filter_is_marked_as_such(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    made = build(examples=world([("He had a meal.", 1)]), similar_texts=False, scorer=Nearness())
    made.write(path)
    (row,) = rows_of(path)
    assert (row["candidate"], row["score"], row["cosine"]) == ("dinner", 0.95, 0.95)
    assert row["forward"] is row["backward"] is None  # a cosine has no directions
    assert made.configuration()["scorer"] == "cosine:letters 1"


def test_a_cosine_can_stand_beside_the_filter(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    build(examples=world([("He had a meal.", 1)]), similar_texts=False, cosine=Nearness()).write(path)
    assert [(row["score"], row["cosine"]) for row in rows_of(path)] == [(0.9604, 0.95), (0.9604, 0.5)]


def test_without_a_filter_all_candidates_pass_and_nothing_is_claimed(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    build(examples=world([("He cooked.", 1)]), similar_texts=False, scorer="none").write(path)
    rows = rows_of(path)
    assert [row["candidate"] for row in rows] == ["prepared", "burnt"]
    assert {row[name] for row in rows for name in ("forward", "backward", "score", "cosine")} == {None}


def test_what_no_table_can_hold_is_left_out(tmp_path: Path) -> None:
    class Babble:
        name = "babble"

        def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
            texts = ("fine", "x" * 300, "two\nlines", " ")
            return [tuple(Candidate(text, "babble") for text in texts) for _ in contexts]

    path = tmp_path / "t.jsonl"
    text = "He " + "y" * 300 + " cooked"
    counts = build(examples=world([(text, 1)]), similar_texts=False, proposer=Babble()).write(path)
    assert (counts.tokens, counts.proposed, counts.unwritable, counts.rows) == (1, 1, 3, 1)
    assert len(TableProposer(path).propose([TokenContext(text, 304, 310)])[0]) == 1


# -- which texts ----------------------------------------------------------------------------------------


def test_every_word_that_an_audit_asks_for_is_in_the_table(tmp_path: Path) -> None:
    """The table gives a run what the proposer and the filter would give, in the same order."""
    path = tmp_path / "t.jsonl"
    made = build()
    made.write(path)
    table = TableProposer(path, max_candidates=None)
    gate = EntailmentFilter(ScriptedScorer(REFUSED), veto=None)
    n_asked = 0
    for example in world().examples:
        pairs = SOURCE.pairs_of(example.text) if example.text.strip() else []
        spans = member_spans(example.text, pairs, SOURCE.sensitive_spans) if pairs else []
        for text, found in zip([example.text, *(pair.similar for pair in pairs)], spans, strict=False):
            contexts = [TokenContext(text, span.start, span.end) for span in found.values()]
            proposed = NamedWords().propose(contexts)
            for context, candidates, read in zip(contexts, proposed, table.propose(contexts), strict=True):
                edited = [text[: context.start] + c.text + text[context.end :] for c in candidates]
                passed = [v.accepted for v in gate.check(text, edited)]
                expected = [c for c, is_accepted in zip(candidates, passed, strict=True) if is_accepted]
                assert [(c.text, c.source) for c in read] == [(c.text, c.source) for c in expected]
                n_asked += len(expected)
    assert n_asked > 30


def test_texts_without_a_sensitive_word_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    rows = [("The film was good.", 1), ("He had a meal.", 1), ("  ", 0)]
    counts = build(examples=world(rows), similar_texts=False).write(tmp_path / "a.jsonl")
    assert (counts.examples, counts.left_out, counts.texts) == (3, 2, 1)
    counts = build(examples=world(rows), similar_texts=False, all_texts=True).write(tmp_path / "b.jsonl")
    assert (counts.examples, counts.left_out, counts.texts) == (3, 1, 2)


def test_a_text_is_proposed_for_once_however_often_it_comes(tmp_path: Path) -> None:
    words = NamedWords()
    rows = [("He had a meal.", 1), ("She had a meal.", 1), ("He had a meal.", 0)]
    counts = build(examples=world(rows), proposer=words, window=1).write(tmp_path / "t.jsonl")
    assert len(words.asked) == len(set(words.asked))
    assert counts.texts == len({context.text for context in words.asked})


def test_a_ready_similar_text_is_taken(tmp_path: Path) -> None:
    examples = ExampleSet.of([Example("e", "Ann had a meal.", None, "Bob had a meal.")], None, "pairs")
    words = NamedWords()
    build(examples=examples, proposer=words).write(tmp_path / "t.jsonl")
    assert {context.text for context in words.asked} == {"Ann had a meal.", "Bob had a meal."}


class Failing(NamedWords):
    """Has no answer for texts with some words."""

    def __init__(self, reason: str, *words: str) -> None:
        super().__init__()
        self.reason = reason
        self.words = words
        self.last_failures: dict[TokenContext, str] = {}

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        found = super().propose(contexts)
        failed = [any(word in context.text for word in self.words) for context in contexts]
        self.last_failures = {
            c: self.reason for c, is_failed in zip(contexts, failed, strict=True) if is_failed
        }
        return [() if is_failed else f for f, is_failed in zip(found, failed, strict=True)]


def numbered(number: int) -> list[tuple[str, int]]:
    return [(f"He had meal {i:02}.", 1) for i in range(number)]


def built(
    path: Path, proposer: Any, number: int, *, window: int = 2, resume: bool = False, **options: Any
) -> CandidateBuild:
    made = build(
        examples=world(numbered(number)), similar_texts=False, window=window, proposer=proposer, **options
    )
    made.write(path, resume=resume)
    return made


def silent(*numbers: int) -> tuple[str, ...]:
    return tuple(f"meal {i:02}" for i in numbers)


WORDS_A_TEXT = 3  # had, meal and the number; He is sensitive


@pytest.mark.parametrize(
    "refused",
    [
        (3,),  # one of a window
        (2, 3),  # a whole window
        (0, 1),  # the first
        (11,),
        (10, 11),  # the last
        (4, 5, 6, 7),  # two windows
        (1, 2, 5, 6, 9),
    ],
)
def test_what_is_refused_for_good_does_not_stop_a_build(tmp_path: Path, refused: tuple[int, ...]) -> None:
    whole, path = tmp_path / "whole.jsonl", tmp_path / "t.jsonl"
    built(whole, None, 12)
    made = built(path, Failing("content filter", *silent(*refused)), 12)
    assert made.stopped == "" and made.counts.examples == 12
    assert made.counts.unanswered == WORDS_A_TEXT * len(refused)
    lost = {TokenContext(f"He had meal {i:02}.", 7, 11).hash for i in refused}
    expected = [row for row in rows_of(whole) if row["context_hash"] not in lost]
    assert rows_of(path) == expected and len(expected) == 2 * (12 - len(refused))


def test_a_proposer_that_no_longer_answers_stops_the_build(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole.jsonl", tmp_path / "t.jsonl"
    built(whole, None, 12)
    stopped = built(path, Failing("no server", *silent(*range(4, 12))), 12)
    # The windows without an answer are left for later, and so is what an answer is missing for.
    assert (stopped.stopped, stopped.counts.examples, stopped.counts.unanswered) == ("no server", 4, 0)
    assert not path.exists() and state_of(path)["examples_done"] == 4
    again = built(path, None, 12, resume=True)
    assert again.counts.examples == 12 and again.stopped == ""
    assert path.read_bytes() == whole.read_bytes()


def test_texts_without_a_word_to_ask_for_are_no_answer(tmp_path: Path) -> None:
    rows = numbered(2) + [row for i in range(3) for row in [(f"He said {i}.", 1), *[("It rained.", 1)] * 3]]
    proposer = Failing("no server", "said")
    made = build(examples=world(rows), similar_texts=False, window=2, proposer=proposer)
    made.write(tmp_path / "t.jsonl")
    assert (made.stopped, made.counts.examples) == ("no server", 2)
    rows += numbered(1)[:1]  # was there before
    rows.append(("He had a meal.", 1))
    made = build(examples=world(rows[:6] + rows[-1:]), similar_texts=False, window=2, proposer=proposer)
    counts = made.write(tmp_path / "u.jsonl")
    assert (made.stopped, counts.examples, counts.left_out, counts.unanswered) == ("", 7, 3, 2)


def test_where_nobody_ever_answered_no_table_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for resume in (False, True, True):
        made = built(path, Failing("no server", "meal"), 3, resume=resume)
        assert (made.stopped, made.counts.examples, path.exists()) == ("no server", 0, False)
    assert built(path, None, 3, resume=True).counts.examples == 3


def test_answers_that_cannot_be_read_are_answers(tmp_path: Path) -> None:
    made = built(tmp_path / "t.jsonl", Failing(UNREADABLE, "meal"), 12)
    assert (made.stopped, made.counts.unanswered) == ("", 12 * WORDS_A_TEXT)


def test_every_resume_gets_further_where_neighbours_are_refused_for_good(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    refused = range(2, 18)  # eight windows
    done = []
    for attempt in range(3):
        made = built(path, Failing("content filter", *silent(*refused)), 24, resume=attempt > 0)
        done.append((bool(made.stopped), made.counts.examples))
    assert done == [(True, 2), (True, 2), (False, 24)]
    assert made.counts.unanswered == len(refused) * WORDS_A_TEXT
    assert len(rows_of(path)) == 2 * (24 - len(refused))
    assert state_of(path)["stops"] == 0


def refusing_model(folder: Path, script: Any, *, proposer: str = "llm:m", **settings: Any) -> CandidateBuild:
    """A build over twelve texts with a scripted model."""
    texts = [f"He cooked {i} for the doctor." for i in "abcdefghijkl"]
    texts[5], texts[6] = "He cooked a hateful doctor.", "He made a hateful doctor."
    (folder / "d.csv").write_text("\n".join(["text", *texts]) + "\n")
    chosen = Settings(cache="off", proposer=proposer, entailment="none", **settings)
    models = LanguageModels(chosen)
    models.add("llm:m", ScriptedChatModel(script, budget=models.budget))
    return CandidateBuild.prepare(CandidateOptions(str(folder / "d.csv"), chosen), models)


class Ranks:
    """Stands in for a masked language model: everything fits."""

    def __init__(self, source: str, **options: Any) -> None:
        self.name, self.version = f"masked-lm:{source}", "1"

    def fits(self, asked: Sequence[tuple[TokenContext, Sequence[str]]]) -> list[list[float | None]]:
        return [[1.0] * len(texts) for _, texts in asked]


PROPOSERS = ("llm:m", "wordnet,llm:m", "llm:m&masked-lm:x", "wordnet,llm:m&masked-lm:x")


@pytest.mark.parametrize("proposer", PROPOSERS)
def test_texts_that_a_model_refuses_are_left_out_and_the_rest_is_built(
    tmp_path: Path, proposer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rif_plugins.proposers.loading.MaskedLMProposer", Ranks)

    def script(request: Any) -> Any:
        text = request.messages[-1].content
        return ChatFailure("status 400 'content_filter'") if "hateful" in text else substitutes(request)

    with pytest.warns(ProposerWarning, match="content_filter"):
        made = refusing_model(tmp_path, script, proposer=proposer)
        counts = made.write(tmp_path / "t.jsonl")
    assert (made.stopped, counts.examples) == ("", 12)
    assert counts.unanswered > 0 and counts.sources["llm:scripted"][0] > 0


@pytest.mark.parametrize("proposer", [*PROPOSERS, "phrases:llm:m", "wordnet,phrases:llm:m"])
@pytest.mark.parametrize("calls", [0, 1, 5])
def test_used_up_calls_stop_a_build(
    tmp_path: Path, proposer: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rif_plugins.proposers.loading.MaskedLMProposer", Ranks)
    with pytest.warns(ProposerWarning, match="proposed nothing"):
        made = refusing_model(tmp_path, lambda request: "{}", proposer=proposer, max_llm_calls=calls)
        counts = made.write(tmp_path / "t.jsonl")
    assert made.stopped == "calls used up"
    assert not (tmp_path / "t.jsonl").exists() and counts.examples < 12
    assert state_of(tmp_path / "t.jsonl")["examples_done"] == counts.examples


def test_a_model_that_is_gone_for_good_stops_a_build_at_once(tmp_path: Path) -> None:
    asked = []

    def script(request: Any) -> Any:
        asked.append(request)
        last = len(asked) > 12
        return ChatFailure("status 401:\n no key", is_final=True) if last else substitutes(request)

    with pytest.warns(ProposerWarning, match="401"):
        made = refusing_model(tmp_path, script)
        counts = made.write(tmp_path / "t.jsonl")
    # Twelve questions are answered: what they were about is written but for the window where it happened.
    assert made.stopped == "status 401: no key" and counts.unanswered == 0
    assert 0 < counts.examples < 12 and counts.examples % made.window == 0


SYNONYMS = {"cooked": ["prepared", "made"], "doctor": ["physician", "woman"]}


def substitutes(request: Any) -> str:
    data = json.loads(request.messages[-1].content.split("\n")[1])
    return json.dumps(
        {"answers": [{"id": w["id"], "substitutes": SYNONYMS.get(w["word"], [])} for w in data["words"]]}
    )


def test_a_language_model_is_asked_once_and_its_words_are_guarded(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("text\nHe cooked for the doctor.\nShe cooked for the doctor.\n")
    settings = Settings(proposer="llm:scripted", entailment="none", cache_dir=tmp_path / "cache")

    def written(name: str) -> tuple[ScriptedChatModel, list[dict[str, Any]]]:
        models, model = LanguageModels(settings), ScriptedChatModel(substitutes)
        models.add("llm:scripted", model)
        made = CandidateBuild.prepare(CandidateOptions(str(tmp_path / "d.csv"), settings), models)
        made.write(tmp_path / name)
        made.close()
        return model, rows_of(tmp_path / name)

    model, rows = written("a.jsonl")
    assert {row["candidate"] for row in rows} == {"prepared", "made", "physician"}  # no word about people
    assert {row["source"] for row in rows} == {"llm:scripted"}
    asked = [request.messages[-1].content for request in model.requests]
    assert len(asked) == len(set(asked)) > 1
    again, same = written("b.jsonl")
    assert same == rows and again.requests == []  # the cache of the first run answers


def test_another_temperature_is_another_table(tmp_path: Path) -> None:
    def written(name: str, temperature: float, **options: Any) -> CandidateBuild:
        made = refusing_model(tmp_path, substitutes, proposer=name, llm_temperature=temperature)
        made.write(tmp_path / f"{name[0]}.jsonl", **options)
        return made

    made = written("llm:m", 1.2)
    model = made.models("llm:m")  # type: ignore[misc]
    assert {request.temperature for request in model.requests} == {1.2}  # type: ignore[attr-defined]
    assert made.configuration()["llm_temperature"] == 1.2
    with pytest.raises(UsageError, match=r"begun with another llm_temperature \(1\.2, now 0\.3\)"):
        written("llm:m", 0.3, resume=True)
    # Tables of releases that had no such setting were drawn with 0.7.
    file = tmp_path / "l.run.json"
    state = json.loads(file.read_text(encoding="utf-8"))
    del state["configuration"]["llm_temperature"]
    file.write_text(json.dumps(state), encoding="utf-8")
    written("llm:m", 0.7, resume=True)
    with pytest.raises(UsageError, match=r"begun with another llm_temperature \(0\.7, now 0\.3\)"):
        written("llm:m", 0.3, resume=True)
    # It decides nothing where no language model proposes.
    assert written("wordnet", 1.2).configuration()["llm_temperature"] is None
    written("wordnet", 0.3, resume=True)


def test_phrases_are_searched_beside_words(tmp_path: Path) -> None:
    class Phrases(NamedWords):
        def phrases(self, text: str) -> list[tuple[int, int]]:
            found = [(text.find(phrase), len(phrase)) for phrase in ("a good", "good meal", "He had")]
            return [(start, start + size) for start, size in found if start >= 0]

        def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
            found = super().propose(contexts)
            return [
                (Candidate("nice dinner", "phrases"),) if context.token == "good meal" else words
                for context, words in zip(contexts, found, strict=True)
            ]

    path = tmp_path / "t.jsonl"
    words = Phrases()
    build(examples=world([("He had a good meal.", 1)]), similar_texts=False, proposer=words).write(path)
    # "He" is sensitive, and so is what holds it
    asked = [context.token for context in words.asked]
    assert asked == ["had", "a", "good", "meal", "a good", "good meal"]
    assert [(row["token"], row["candidate"]) for row in rows_of(path)][-1] == ("good meal", "nice dinner")
    text = "He had a good meal."
    assert TableProposer(path).phrases(text) == [(9, 18)]


# -- kill, resume, refuse -------------------------------------------------------------------------------


class Killed(BaseException):
    pass


def killed_after(number: int, expected: int = len(TEXTS)) -> Any:
    def progress(steps: Iterable[int], total: int) -> Iterator[int]:
        assert total == expected
        for count, step in enumerate(steps, start=1):
            if count > number:
                raise Killed
            yield step

    return progress


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
@pytest.mark.parametrize("torn", [b"", b'{"token": "me', b'{"token": "meal", "candidate": "x"}\n'])
def test_a_killed_build_goes_on_to_the_same_bytes(tmp_path: Path, steps: int, torn: bytes) -> None:
    whole, path = tmp_path / "whole.jsonl", tmp_path / "t.jsonl"
    counts = build().write(whole)
    with pytest.raises(Killed):
        build().write(path, progress=killed_after(steps))
    assert not path.exists() and state_of(path)["finished"] is None
    part = tmp_path / "t.jsonl.part"
    with part.open("ab") as file:
        file.write(torn)
    words = NamedWords()
    again = build(proposer=words).write(path, resume=True)
    assert path.read_bytes() == whole.read_bytes()
    assert not part.exists() and state_of(path)["finished"] is not None
    assert {**again.to_dict(), "seconds": 0} == {**counts.to_dict(), "seconds": 0}
    done = {text for text, _ in TEXTS[: 3 * steps]}
    assert not done & {context.text for context in words.asked}  # finished texts are not asked again


def test_resuming_a_finished_table_does_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    counts = build().write(path)
    data = path.read_bytes()
    words = NamedWords()
    assert build(proposer=words).write(path, resume=True) == counts
    assert words.asked == [] and path.read_bytes() == data
    # killed between the two last steps: the table has its name, the state does not know it yet
    path.with_suffix(".run.json").write_text(json.dumps({**state_of(path), "finished": None}))
    assert build(proposer=words).write(path, resume=True) == counts
    assert words.asked == [] and state_of(path)["finished"] is not None


def test_resuming_where_nothing_is_begins(tmp_path: Path) -> None:
    path = tmp_path / "new" / "t.jsonl"
    assert build().write(path, resume=True).rows == len(rows_of(path))


def test_a_table_is_not_overwritten_by_mistake(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with pytest.raises(Killed):
        build().write(path, progress=killed_after(1))
    with pytest.raises(UsageError, match=r"t\.jsonl\.part exists: --resume goes on with it, --overwrite beg"):
        build().write(path)
    build().write(path, overwrite=True)
    with pytest.raises(UsageError, match=r"t\.jsonl exists: give another name, or --overwrite"):
        build().write(path)
    path.with_suffix(".run.json").unlink()
    with pytest.raises(UsageError, match=r"t\.jsonl exists: give another name"):
        build().write(path, resume=True)
    before = path.read_bytes()
    build().write(path, overwrite=True)
    assert path.read_bytes() == before


def test_another_build_does_not_go_on_with_it(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with pytest.raises(Killed):
        build().write(path, progress=killed_after(1))
    with pytest.raises(UsageError, match=r"begun with another keep_texts \(False, now True\): repeat its op"):
        build(keep_texts=True).write(path, resume=True)
    with pytest.raises(UsageError, match=r"begun with another data_sha256: repeat its options"):
        build(examples=world(TEXTS[:4])).write(path, resume=True)
    with pytest.raises(UsageError, match=r"begun with another min_equivalence \(0\.8, now None\)"):
        build(scorer="none").write(path, resume=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read: begin again with --overwrite"),
        ("[]", r"is no state of a candidate table \(rif-candidates/1\)"),
        ('{"schema": "rif-results/1"}', "is no state of a candidate table"),
    ],
)
def test_a_broken_state_is_told(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "t.jsonl"
    path.with_suffix(".run.json").write_text(content)
    with pytest.raises(DataError, match=message):
        build().write(path, resume=True)


@pytest.mark.parametrize("name", ["examples_done", "bytes", "stops"])
@pytest.mark.parametrize("value", [-1, True, "3", 1.5])
def test_an_edited_state_is_told(tmp_path: Path, name: str, value: Any) -> None:
    path = tmp_path / "t.jsonl"
    with pytest.raises(Killed):
        build().write(path, progress=killed_after(1))
    state = path.with_suffix(".run.json")
    state.write_text(json.dumps(json.loads(state.read_text()) | {name: value}))
    with pytest.raises(DataError, match="is no state of a candidate table"):
        build().write(path, resume=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: {"bytes": state["bytes"] - 3}, r"has no end of a row at byte \d+, where t\.run\.json"),
        (lambda state: {"examples_done": 0}, r"has counts of \d+ examples, expected 0 as it says"),
        (
            lambda state: {"examples_done": 999, "counts": {**state["counts"], "examples": 999}},
            r"tells of 999 finished examples, the data have \d+: begin again with --overwrite",
        ),
    ],
)
def test_a_state_that_does_not_fit_is_told(
    tmp_path: Path, change: Callable[[Any], dict[str, Any]], message: str
) -> None:
    path = tmp_path / "t.jsonl"
    with pytest.raises(Killed):
        build().write(path, progress=killed_after(1))
    state = json.loads(path.with_suffix(".run.json").read_text())
    path.with_suffix(".run.json").write_text(json.dumps(state | change(state)))
    with pytest.raises(DataError, match=message):
        build().write(path, resume=True)


def test_a_state_without_rows_goes_on_without_its_files(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    build().write(path)
    whole = path.read_bytes()
    state = json.loads(path.with_suffix(".run.json").read_text())
    nothing = {"bytes": 0, "examples_done": 0, "counts": {}, "finished": None}
    path.with_suffix(".run.json").write_text(json.dumps(state | nothing))
    path.unlink()
    build().write(path, resume=True)
    assert path.read_bytes() == whole


def test_lost_bytes_are_told(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with pytest.raises(Killed):
        build().write(path, progress=killed_after(2))
    part = tmp_path / "t.jsonl.part"
    size = part.stat().st_size
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(DataError, match=rf"has {size - 1} bytes, expected {size} as t\.run\.json says"):
        build().write(path, resume=True)
    part.unlink()
    with pytest.raises(DataError, match=rf"t\.jsonl has 0 bytes, expected {size}"):
        build().write(path, resume=True)


def test_strange_counts_are_told() -> None:
    assert CandidateCounts.from_dict(CandidateCounts(rows=3).to_dict()).rows == 3
    for values in (
        {"rows": "3"},
        {"more": 1},
        {"rows": -1},
        {"rows": True},
        {"seconds": float("nan")},
        {"sources": 4},
        {"sources": {"wordnet": [1]}},
        {"sources": {"wordnet": [1, "2"]}},
    ):
        with pytest.raises(DataError, match="counts of a candidate table: unexpected"):
            CandidateCounts.from_dict(values)


@pytest.mark.parametrize("name", ["t.csv", "t", "t.json"])
def test_a_table_is_json_lines(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"expected a name that ends in \.jsonl"):
        build().write(tmp_path / name)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match=r"cannot write .*: Not a directory|File exists"):
        build().write(tmp_path / "file" / "t.jsonl")


# -- one writer, one state, one source -------------------------------------------------------------------


@pytest.mark.parametrize("names", list(permutations(("t.jsonl", "t.ndjson", "t.JSONL"), 2)))
def test_tables_of_one_folder_share_nothing(tmp_path: Path, names: tuple[str, str]) -> None:
    first, second = (tmp_path / name for name in names)
    counts = build(keep_texts=True).write(first)
    data = first.read_bytes()
    build().write(second)
    assert build(keep_texts=True).write(first, resume=True) == counts  # its state still says what it is
    assert first.read_bytes() == data != second.read_bytes()
    assert len(list(tmp_path.iterdir())) == 4


def test_no_two_names_have_one_state_or_a_state_that_is_a_table() -> None:
    names = [
        *("t.jsonl", "t.ndjson", "t.JSONL", "t.ndjson.jsonl", "t.run.jsonl", "t.run-ndjson.jsonl"),
        "t.jsonl.ndjson",
    ]
    states = [state_path(Path(name)) for name in names]
    assert states[0] == Path("t.run.json")
    assert len(set(states)) == len(names)
    assert not {state.suffix for state in states} & {".jsonl", ".ndjson"}


def test_a_table_is_written_by_one_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fcntl")
    monkeypatch.setattr("rif_plugins.runner.result_log._LOCK_SECONDS", 0.05)
    whole, path = tmp_path / "whole.jsonl", tmp_path / "t.jsonl"
    build().write(whole)
    options: list[dict[str, Any]] = [{}, {"resume": True}, {"overwrite": True}]

    def others(steps: Iterable[int], total: int) -> Iterator[int]:
        for step in steps:
            for each in options:
                with pytest.raises(
                    UsageError, match=r"t\.jsonl is being written by another run: wait for its"
                ):
                    build().write(path, **each)
            yield step
            build().write(tmp_path / "other.jsonl", overwrite=True)  # another table of the folder is free

    build().write(path, progress=others)
    assert path.read_bytes() == whole.read_bytes()
    assert build().write(path, resume=True).rows == len(rows_of(whole))
    assert {file.suffix for file in tmp_path.iterdir()} == {".jsonl", ".json"}  # no lock is left


def test_a_build_that_failed_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rif_plugins.runner.result_log._LOCK_SECONDS", 0.05)
    path = tmp_path / "t.jsonl"
    with pytest.raises(Killed):
        build().write(path, progress=killed_after(1))
    for _ in range(2):
        with pytest.raises(UsageError, match="exists"):
            build().write(path)
    path.with_name("t.jsonl.lock").touch()  # as a kill leaves it
    build().write(path, resume=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["t.jsonl", "t.run.json"]


def test_a_table_of_a_folder_that_takes_no_files_is_still_found_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.jsonl"
    counts = build().write(path)

    def refuse(*arguments: Any) -> int:
        raise PermissionError

    monkeypatch.setattr("rif_plugins.runner.result_log.os.open", refuse)
    assert build().write(path, resume=True) == counts


def prepared(folder: Path, proposer: str, **settings: Any) -> CandidateBuild:
    chosen = Settings(cache="off", entailment="none", proposer=proposer, **settings)
    return CandidateBuild.prepare(CandidateOptions(str(folder / "d.csv"), chosen))


@pytest.mark.parametrize("proposer", ["table:@own.jsonl", "wordnet,table:@own.jsonl"])
def test_a_changed_source_of_candidates_is_refused(tmp_path: Path, proposer: str) -> None:
    own, path = tmp_path / "own.jsonl", tmp_path / "t.jsonl"
    (tmp_path / "d.csv").write_text("\n".join(["text", *(f"He had a meal {i}." for i in range(8))]))
    own.write_text('{"token": "meal", "candidate": "dish"}\n')
    proposer = proposer.replace("@", f"{tmp_path}/")
    with pytest.raises(Killed):
        prepared(tmp_path, proposer).write(path, progress=killed_after(1, 8))
    kept = own.read_bytes()
    own.write_text('{"token": "meal", "candidate": "poison"}\n')
    with pytest.raises(
        UsageError, match=r"another proposer of this name \(.*sha256:.*, now .*\): give the same"
    ):
        prepared(tmp_path, proposer).write(path, resume=True)
    own.write_bytes(kept)
    assert prepared(tmp_path, proposer).write(path, resume=True).examples == 8
    assert "poison" not in path.read_text()


def test_a_changed_lexicon_is_refused_and_an_old_state_is_accepted(tmp_path: Path) -> None:
    lexicon, path = tmp_path / "trades.tsv", tmp_path / "t.jsonl"
    (tmp_path / "d.csv").write_text("\n".join(["text", *(f"The miner had a meal {i}." for i in range(8))]))
    lexicon.write_text("from\tto\nminer\tsailor\n")
    with pytest.raises(Killed):
        prepared(tmp_path, "wordnet", lexicon=lexicon).write(path, progress=killed_after(1, 8))
    lexicon.write_text("from\tto\nminer\tpilot\n")
    with pytest.raises(UsageError, match=r"begun with another lexicon of this name \(.*\): give the same"):
        prepared(tmp_path, "wordnet", lexicon=lexicon).write(path, resume=True)
    state = state_of(path)
    assert state["configuration"]["proposer_version"] == "WordNet 3.0"
    del state["stops"], state["configuration"]["lexicon_version"]
    state["configuration"]["proposer_version"] = ""  # as older releases wrote it
    path.with_suffix(".run.json").write_text(json.dumps(state))
    assert prepared(tmp_path, "wordnet", lexicon=lexicon).write(path, resume=True).examples == 8


def test_a_text_is_cut_into_sentences_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[str] = []

    def counted(text: str) -> list[tuple[int, int]]:
        cut.append(text)
        return sentence_spans(text)

    monkeypatch.setattr("rif_plugins.runner.candidate_rows.sentence_spans", counted)
    path = tmp_path / "t.jsonl"
    texts = [f"He had meal {i}. She cooked. A good meal! Was it good? " * 5 for i in range(6)]
    build(
        examples=world([(text, 1) for text in texts]), similar_texts=False, keep_texts=True, scorer="none"
    ).write(path)  # fmt: skip
    assert cut == texts
    rows = rows_of(path)
    assert len(rows) == 6 * 5 * (2 + 2 + 3 + 2 + 3)
    assert {row["sentence"] for row in rows[:60]} == {
        "He had meal 0.",
        "She cooked.",
        "A good meal!",
        "Was it good?",
    }
    assert all(row["token"] in row["sentence"] for row in rows)


@given(st.text(alphabet="ab. !\n", max_size=40), st.data())
def test_the_sentence_of_a_place_is_the_shortest_run_of_sentences_that_holds_it(text: str, data: Any) -> None:
    start = data.draw(st.integers(0, max(0, len(text) - 1)))
    end = data.draw(st.integers(start + 1, len(text) + 1)) if text else 0
    if not start < end <= len(text):
        return
    spans = sentence_spans(text)
    held = [span for span in spans if span[0] < end and start < span[1]]
    assert _sentence(TokenContext(text, start, end)) == text[held[0][0] : held[-1][1]].strip()


# -- size ----------------------------------------------------------------------------------------------


class Many:
    """Forty candidates for every word."""

    name = "many"

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        return [tuple(Candidate(f"word{i}", "many") for i in range(40)) for _ in contexts]


def peak_of(number: int, path: Path) -> tuple[int, int]:
    """Rows written and the most memory held while writing them, beyond the texts."""
    texts = [(f"He had number{i} of the meals.", 1) for i in range(number)]
    made = build(examples=world(texts), scorer="none", proposer=Many(), similar_texts=False)
    tracemalloc.start()
    try:
        counts = made.write(path)
        return counts.rows, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    few, peak = peak_of(12, tmp_path / "few.jsonl")
    many, larger = peak_of(120, tmp_path / "many.jsonl")
    assert many == 10 * few == 120 * 5 * 40
    # 21,600 rows more, and the digests of 108 texts
    assert larger < 1.5 * peak + 200 * 108
