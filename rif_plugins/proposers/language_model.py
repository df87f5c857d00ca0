"""Proposer that asks a language model for substitutes of the words of a sentence."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from rif_plugins.core.letter_case import case_pattern
from rif_plugins.core.pairs import Span
from rif_plugins.core.seeds import example_seed
from rif_plugins.core.stores import PredictionStore
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
from rif_plugins.proposers.base import DEFAULT_MAX_CANDIDATES, Candidate, GuardedProposer, TokenContext
from rif_plugins.proposers.closed_classes import FUNCTION_WORDS
from rif_plugins.proposers.fitting import fitted_word, without_clitic
from rif_plugins.proposers.guard import Guard
from rif_plugins.proposers.prompts import (
    prompt_version,
    read_substitutes,
    substitutes_messages,
    substitutes_schema,
)
from rif_plugins.proposers.stored import StoredProposer

__all__ = ["LanguageModelProposer", "asked_number", "stored_language_model_proposer"]

_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
# The method asks for 10 to 20 substitutes a word; the guard and the filter refuse many of them.
LEAST_ASKED, MOST_ASKED = 15, 20
_MOST_CANDIDATES = 50
_MOST_TOKENS = 32
_TOKENS_A_CANDIDATE = 8
_SEED_BITS = 31
_NEIGHBOURHOOD = 25
_MOST_SENTENCES = 2**10

Batch: TypeAlias = tuple[str, tuple[Span, ...]]
"""A sentence and the words in it that one question is about."""
Lists: TypeAlias = tuple[tuple[str, ...], ...]
"""What the model listed, for each word of a batch."""


class LanguageModelProposer(AskingProposer[Batch, Lists]):
    """Substitutes that a language model gives for words in their sentence.

    Only the sentence that holds a token is shown to the model, and one question asks for several of its
    words. Which words these are follows from the sentence alone, and so does the seed: what is proposed for a
    token does not depend on which tokens were asked for before, or together with it. Each question is asked
    once in a run. Function words, names, numbers, negations and words about people are never asked about.

    The model's answer is used as a list of words and for nothing else. Where there is none, the tokens of the
    question get no candidates: one warning, an entry in ``last_failures`` and a note, never an exception.

    This is the bare proposer, without the cap and without the sensitive words of a run: see
    :func:`stored_language_model_proposer`.

    Args:
        model: The model.
        n_candidates: Substitutes to ask for, a word; more than these are not read.
        batch_tokens: Most words in one question.
        temperature, top_p: How the model draws.
        seed: The run's seed.
        unasked: Tells which words the model is never asked about, such as sensitive ones. It does not check
            candidates; that is for the ``GuardedProposer`` around.

    Attributes:
        settings: What decides the candidates besides the model, for stores.

    Raises:
        UsageError: A number is out of range.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        n_candidates: int = LEAST_ASKED,
        batch_tokens: int = 8,
        temperature: float = DEFAULT_TEMPERATURE,
        top_p: float = 0.9,
        seed: int = 0,
        unasked: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(model, Sampling(temperature, top_p, seed), max_candidates=None, protected=None)
        if not 1 <= n_candidates <= _MOST_CANDIDATES:
            raise UsageError(f"n_candidates must be from 1 to {_MOST_CANDIDATES}, got {n_candidates}")
        if not 1 <= batch_tokens <= _MOST_TOKENS:
            raise UsageError(f"batch_tokens must be from 1 to {_MOST_TOKENS}, got {batch_tokens}")
        self.n_candidates = n_candidates
        self.batch_tokens = batch_tokens
        self._closed = Guard(unasked)
        self._schema = substitutes_schema(batch_tokens, n_candidates)
        self._batches: OrderedDict[str, dict[Span, Batch]] = OrderedDict()

    @property
    def settings(self) -> str:
        """Everything that decides the candidates, as one text."""
        s = self.sampling
        numbers = (self.n_candidates, self.batch_tokens, s.temperature, s.top_p, s.seed)
        return json.dumps([prompt_version(), *numbers])

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """Substitutes for each context, in the model's order."""
        places = [self._place(context) for context in contexts]
        asked = dict.fromkeys(batch for batch, _ in filter(None, places))
        answers = self.ask({batch: partial(self._question, batch) for batch in asked})
        found: list[list[Candidate]] = []
        for context, place in zip(contexts, places, strict=True):
            answer = answers[place[0]] if place else ()
            if isinstance(answer, Failed):
                self.last_failures[context] = answer.reason
                answer = ()
            listed = answer[place[1]] if place and answer else ()
            fitted = (fitted_word(context, text) for text in listed)
            found.append([Candidate(text, self.name) for text in fitted if text])
        return found

    def _place(self, context: TokenContext) -> tuple[Batch, int] | None:
        """The question that asks for a token, and its number there; None where nothing is to be asked."""
        for passage in short_passages(context.text):
            if passage.start <= context.start and context.end <= passage.end:
                sentence = context.text[passage.start : passage.end]
                span = Span(context.start - passage.start, context.end - passage.start)
                batch = self._batches_of(sentence).get(span)
                return None if batch is None else (batch, batch[1].index(span))
        return None

    def _batches_of(self, sentence: str) -> dict[Span, Batch]:
        """The question for each word of a sentence that is asked about."""
        found = self._batches.get(sentence)
        if found is None:
            words = [span for span in word_spans(sentence) if self._is_askable(sentence, span)]
            starts = range(0, len(words), self.batch_tokens)
            batches = [(sentence, tuple(words[start : start + self.batch_tokens])) for start in starts]
            found = self._batches[sentence] = {span: batch for batch in batches for span in batch[1]}
            if len(self._batches) > _MOST_SENTENCES:
                self._batches.popitem(last=False)
        return found

    def _is_askable(self, sentence: str, span: Span) -> bool:
        word = without_clitic(sentence[span.start : span.end])[0]
        if len(word) < 2 or _WORD.fullmatch(word) is None or word.lower() in FUNCTION_WORDS:
            return False
        return not (
            case_pattern(word) == "mixed" or _is_name(sentence, span) or self._closed.is_guarded(word)
        )

    def _question(self, batch: Batch) -> Question[Lists]:
        sentence, spans = batch
        words = [without_clitic(sentence[span.start : span.end])[0] for span in spans]
        folded = [word.casefold() for word in words]
        rows = [
            (word, _neighbourhood(sentence, span) if folded.count(word.casefold()) > 1 else "")
            for word, span in zip(words, spans, strict=True)
        ]
        request = ChatRequest(
            substitutes_messages(sentence, rows, self.n_candidates),
            max_tokens=64 + len(words) * (20 + _TOKENS_A_CANDIDATE * self.n_candidates),
            temperature=self.sampling.temperature,
            top_p=self.sampling.top_p,
            seed=sentence_seed(self.sampling.seed, sentence),
            json_schema=self._schema,
        )
        return Question(request, lambda text: read_substitutes(text, words, self.n_candidates))


def stored_language_model_proposer(
    model: ChatModel,
    *,
    store: PredictionStore | None = None,
    max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
    protected: Callable[[str], bool] | None = None,
    seed: int = 0,
    n_candidates: int = LEAST_ASKED,
    temperature: float = DEFAULT_TEMPERATURE,
) -> GuardedProposer:
    """A language model as a proposer with a store and the rules of this package.

    Args:
        model: The model.
        store: Keeps what it proposed across runs; None keeps nothing.
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive; such words are never asked about, dropped or added.
        seed: The run's seed.
        n_candidates: Substitutes to ask for, a word; see :func:`asked_number`.
        temperature: How the model draws.

    Raises:
        UsageError: A number is out of range.
    """
    bare = LanguageModelProposer(
        model, n_candidates=n_candidates, temperature=temperature, seed=seed, unasked=protected
    )
    stored = StoredProposer(bare, store)
    return GuardedProposer(stored, max_candidates=max_candidates, protected=protected)


def asked_number(max_candidates: int | None) -> int:
    """How many substitutes to ask for, where at most ``max_candidates`` are kept; None keeps all.

    >>> [asked_number(most) for most in (5, 12, 18, 30, None)]
    [15, 15, 18, 20, 20]
    """
    return MOST_ASKED if max_candidates is None else min(MOST_ASKED, max(LEAST_ASKED, max_candidates))


def sentence_seed(run_seed: int, sentence: str) -> int:
    """The seed of a sentence, of a size that servers take."""
    return example_seed(run_seed, sentence) >> (64 - _SEED_BITS)


def _neighbourhood(sentence: str, span: Span) -> str:
    """The word with some characters on both sides, cut between words."""
    start = sentence.rfind(" ", 0, max(0, span.start - _NEIGHBOURHOOD)) + 1
    end = sentence.find(" ", min(len(sentence), span.end + _NEIGHBOURHOOD))
    return sentence[start : end if end >= 0 else len(sentence)]


def _is_name(sentence: str, span: Span) -> bool:
    """Whether a word looks like a name: capitals where the sentence does not ask for them."""
    word = sentence[span.start : span.end]
    pattern = case_pattern(word)
    if pattern == "lower":
        return False
    letters = [letter for letter in sentence if letter.isalpha()]
    if pattern == "upper" and len(word) > 1:
        return sum(letter.isupper() for letter in letters) < 0.7 * len(letters)
    following = re.match(r"\s+([^\W\d_]+)", sentence[span.end :])
    is_first = not any(letter.isalnum() for letter in sentence[: span.start])
    return not is_first or (following is not None and case_pattern(following.group(1)) == "capital")
