"""Candidate tables: what stands in them, that runs read them as made, and that a kill costs nothing."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.chat_models import ScriptedChatModel
from fakes.runner_world import CANDIDATES, TEXTS, ScriptedScorer, TableWords
from numpy.typing import NDArray

from rif_plugins.core.members import member_spans
from rif_plugins.entailment import CosineScorer, EntailmentFilter
from rif_plugins.errors import DataError, UsageError
from rif_plugins.examples.base import Example, ExampleSet
from rif_plugins.proposers import Candidate, TableProposer, TokenContext
from rif_plugins.proposers.asking import UNREADABLE
from rif_plugins.runner.candidate_rows import CandidateCounts, RowMaker
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
    """Has no answer for texts with some words; counts a call a text unless it says otherwise."""

    def __init__(self, reason: str, *words: str, calls: int = 1) -> None:
        super().__init__()
        self.reason = reason
        self.words = words
        self.calls = calls
        self.last_failures: dict[TokenContext, str] = {}

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        found = super().propose(contexts)
        failed = [any(word in context.text for word in self.words) for context in contexts]
        self.last_failures = {
            c: self.reason for c, is_failed in zip(contexts, failed, strict=True) if is_failed
        }
        return [() if is_failed else f for f, is_failed in zip(found, failed, strict=True)]

    def take_calls(self) -> int:
        return self.calls


LONG = [(f"He had meal {i}.", 1) for i in range(8)]


def test_a_proposer_that_no_longer_answers_stops_the_build(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole.jsonl", tmp_path / "t.jsonl"
    build(examples=world(LONG), similar_texts=False, window=2).write(whole)
    stopped = build(
        examples=world(LONG), similar_texts=False, window=2, proposer=Failing("no server", "4", "5", "6")
    )
    counts = stopped.write(path)
    assert (stopped.stopped, counts.examples, counts.unanswered) == ("no server", 4, 0)
    assert not path.exists() and state_of(path)["examples_done"] == 4
    again = build(examples=world(LONG), similar_texts=False, window=2)
    assert again.write(path, resume=True).examples == 8 and again.stopped == ""
    assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("proposer", "stops"),
    [
        (Failing("timed out", "meal 3"), False),  # one of four
        (Failing("timed out", "meal 3", calls=0), True),  # and nobody was asked: it was given up
        (Failing("timed out", "meal 3", "meal 2"), True),
        (Failing(UNREADABLE, "meal"), False),
    ],
)
def test_what_stops_a_build(tmp_path: Path, proposer: Failing, stops: bool) -> None:
    path = tmp_path / "t.jsonl"
    made = build(examples=world(LONG), similar_texts=False, window=4, proposer=proposer)
    counts = made.write(path)
    assert bool(made.stopped) is stops and path.exists() is not stops
    # had, meal and a number: three words a text
    n_texts = 8 if proposer.words == ("meal",) else 1
    assert counts.unanswered == (0 if stops else 3 * n_texts)


def test_used_up_calls_stop_a_build(tmp_path: Path) -> None:
    models = LanguageModels(Settings(max_llm_calls=1))
    made = build(examples=world(LONG), similar_texts=False, window=4, proposer=Failing("used up", "meal 3"))
    made.models = models
    made.write(tmp_path / "a.jsonl")
    assert made.stopped == ""
    models.budget.take()
    made = build(examples=world(LONG), similar_texts=False, window=4, proposer=Failing("used up", "meal 3"))
    made.models = models
    made.write(tmp_path / "b.jsonl")
    assert made.stopped == "used up"


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


def killed_after(number: int) -> Any:
    def progress(steps: Iterable[int], total: int) -> Iterator[int]:
        assert total == len(TEXTS)
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
    for values in ({"rows": "3"}, {"more": 1}):
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
