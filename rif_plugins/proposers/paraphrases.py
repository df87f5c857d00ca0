"""Phrases of a sentence, two words or more, that a language model can say in other words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from rif_plugins.core.pairs import Span
from rif_plugins.core.tokens import word_spans
from rif_plugins.errors import UsageError
from rif_plugins.llm import ChatModel, ChatRequest
from rif_plugins.proposers.asking import (
    DEFAULT_TEMPERATURE,
    AskingProposer,
    Failed,
    Question,
    Sampling,
    short_passages,
)
from rif_plugins.proposers.base import DEFAULT_MAX_CANDIDATES, Candidate, TokenContext
from rif_plugins.proposers.fitting import fitted_phrase
from rif_plugins.proposers.language_model import sentence_seed
from rif_plugins.proposers.prompts import paraphrases_messages, paraphrases_schema, read_paraphrases

_MOST = 20
_TOKENS_A_PHRASE = 20
_MARKS = " .,;:!?\"“”'‘’()…"
_PAIRED = frozenset('"“”()[]{}')

Phrasings: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Phrases and their paraphrases, as the model lists them."""


class PhraseProposer(AskingProposer[str, Phrasings]):
    """Phrases and clauses that can be edited as one, and what can stand there instead.

    :meth:`phrases` says where they are, :meth:`propose` what replaces them; a phrase is a longer token. One
    question a sentence answers both, once in a run. A phrase counts where it stands letter by letter exactly
    once in its sentence, on the borders of words, without a sensitive word, a negation, a number or a word
    about people, and not across an earlier one. Failures are as those of ``LanguageModelProposer``.

    Args:
        model: The model; one that stores its answers asks nothing again in another run.
        n_phrases: Phrases to ask for, a sentence.
        n_paraphrases: Paraphrases to ask for, a phrase.
        temperature, top_p: How the model draws.
        seed: The run's seed.
        max_candidates: Keep at most this many candidates a phrase; None keeps all.
        protected: Tells whether a word is sensitive; no phrase or paraphrase holds such a word.

    Raises:
        UsageError: A number is out of range.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        n_phrases: int = 6,
        n_paraphrases: int = 5,
        temperature: float = DEFAULT_TEMPERATURE,
        top_p: float = 0.9,
        seed: int = 0,
        max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
        protected: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(
            model, Sampling(temperature, top_p, seed), max_candidates=max_candidates, protected=protected
        )
        for name, number in (("n_phrases", n_phrases), ("n_paraphrases", n_paraphrases)):
            if not 1 <= number <= _MOST:
                raise UsageError(f"{name} must be from 1 to {_MOST}, got {number}")
        self.n_phrases = n_phrases
        self.n_paraphrases = n_paraphrases
        self._schema = paraphrases_schema(n_phrases, n_paraphrases)

    def phrases(self, text: str) -> list[tuple[int, int]]:
        """Where the phrases stand, ``(start, end)``; disjoint, in reading order, each with a paraphrase."""
        passages = short_passages(text)
        answers = self._answers(text, passages)
        found = []
        for passage in passages:
            sentence = text[passage.start : passage.end]
            places = self._places(sentence, answers[sentence]) if sentence in answers else {}
            found += [TokenContext(text, passage.start + p.start, passage.start + p.end) for p in places]
        kept = zip(found, self.propose(found), strict=True)
        return sorted((context.start, context.end) for context, candidates in kept if candidates)

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """Paraphrases of each context that is a phrase; nothing for others."""
        homes = [_home(context) for context in contexts]
        questions: dict[str, Callable[[], Question[Phrasings]]] = {}
        for context, home in zip(contexts, homes, strict=True):
            if home is not None:
                sentence = context.text[home.start : home.end]
                questions[sentence] = partial(self._question, sentence)
        answers = self.ask(questions)
        found: list[list[Candidate]] = []
        for context, home in zip(contexts, homes, strict=True):
            found.append([])
            if home is None:
                continue
            sentence = context.text[home.start : home.end]
            answer = answers[sentence]
            if isinstance(answer, Failed):
                self.last_failures[context] = answer.reason
            span = Span(context.start - home.start, context.end - home.start)
            fitted = (
                fitted_phrase(context.token, raw) for raw in self._places(sentence, answer).get(span, ())
            )
            found[-1] += [Candidate(text, self.name) for text in fitted if text]
        return found

    def _answers(self, text: str, passages: Sequence[Span]) -> dict[str, Phrasings | Failed]:
        sentences = {text[span.start : span.end] for span in passages}
        askable = sorted(sentence for sentence in sentences if len(word_spans(sentence)) > 1)
        return self.ask({sentence: partial(self._question, sentence) for sentence in askable})

    def _places(self, sentence: str, answer: Phrasings | Failed) -> dict[Span, tuple[str, ...]]:
        """The phrases of an answer that can be found in the sentence, disjoint, with what replaces them."""
        if isinstance(answer, Failed):
            return {}
        words = word_spans(sentence)
        starts, ends = {word.start for word in words}, {word.end for word in words}
        found: dict[Span, tuple[str, ...]] = {}
        for listed, paraphrases in answer:
            phrase = listed.strip(_MARKS)
            span = _only_place(sentence, phrase)
            if (
                span is None
                or not _PAIRED.isdisjoint(phrase)
                or span.start not in starts
                or span.end not in ends
            ):
                continue
            n_words = sum(span.start <= word.start and word.end <= span.end for word in words)
            is_free = not any(span.overlaps(other) for other in found)
            if n_words > 1 and is_free and not self.guard.is_guarded(phrase):
                found[span] = paraphrases
        return found

    def _question(self, sentence: str) -> Question[Phrasings]:
        n_phrases, n_paraphrases = self.n_phrases, self.n_paraphrases
        request = ChatRequest(
            paraphrases_messages(sentence, n_phrases, n_paraphrases),
            max_tokens=64 + n_phrases * (n_paraphrases + 1) * _TOKENS_A_PHRASE,
            temperature=self.sampling.temperature,
            top_p=self.sampling.top_p,
            seed=sentence_seed(self.sampling.seed, sentence),
            json_schema=self._schema,
        )
        return Question(request, lambda text: read_paraphrases(text, n_phrases, n_paraphrases))


def _home(context: TokenContext) -> Span | None:
    """The passage that holds a phrase; None where it is one word, which has no phrases."""
    for passage in short_passages(context.text):
        if passage.start <= context.start and context.end <= passage.end:
            is_phrase = len(word_spans(context.text[passage.start : passage.end])) > 1
            return passage if is_phrase else None
    return None


def _only_place(sentence: str, phrase: str) -> Span | None:
    """Where ``phrase`` stands; None where it does not, or more than once."""
    start = sentence.find(phrase) if phrase else -1
    if start < 0 or sentence.find(phrase, start + 1) >= 0:
        return None
    return Span(start, start + len(phrase))
