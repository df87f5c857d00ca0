"""Asks a language model for the class of texts: the questions, and what becomes of each kind of reply."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

from rif_plugins.errors import UsageError, VictimError, VictimRowError
from rif_plugins.llm import CallBudget, ChatAnswer, ChatFailure, ChatModel, ChatReply, ChatRequest
from rif_plugins.victims.base import one_line
from rif_plugins.victims.label_answers import LabelNames
from rif_plugins.victims.label_shares import Answer, share_of
from rif_plugins.victims.prompt import Prompt

Method = Literal["first token", "samples", "one answer"]
_TOP_TOKENS = 20
_MOST_FAILURES = 20  # in a row: then the model is gone, and no text is at fault
_SEED_STEP = 4096


class UnparsedError(VictimRowError):
    """The answers to a text name no class."""


class LabelAsker:
    """Asks about texts, one question a text where the first token tells the class.

    Args:
        model: The model.
        prompt: What it is asked.
        labels: The classes.
        n_samples: Answers that are drawn for a text where the first token does not tell; 1 takes the one
            answer at temperature 0 as it is.
        max_tokens: Longest answer, in tokens.
        seed: Seed of the sampling.
        budget: The calls of the run, to tell a limit that is reached from a model that is gone.

    Attributes:
        method: How probabilities are found.
        n_texts: Texts that were answered.
        n_sampled: Of them, sampled although the model tells the chances of tokens.
        n_unparsed: Answers that named no class.
        n_failed: Texts without an answer.

    Raises:
        UsageError: A number is out of range.
    """

    def __init__(
        self,
        model: ChatModel,
        prompt: Prompt,
        labels: LabelNames,
        *,
        n_samples: int,
        max_tokens: int,
        seed: int = 0,
        budget: CallBudget | None = None,
    ) -> None:
        if n_samples < 1 or max_tokens < 1:
            raise UsageError(
                f"llm_samples and llm_max_tokens must be 1 or more, got {n_samples} and {max_tokens}"
            )
        self.model = model
        self.prompt = prompt
        self.labels = labels
        self.n_samples = n_samples
        self.max_tokens = max_tokens
        self.seed = seed % 2**20
        self.budget = budget
        self.method: Method = "first token"
        self.n_texts = self.n_sampled = self.n_unparsed = self.n_failed = 0
        self._in_a_row = 0
        self._gone: VictimError | None = None
        self._is_warned = False

    def choose_method(self, text: str) -> None:
        """Decide from the answer to one text how probabilities are found.

        Raises:
            VictimError: The model does not answer.
        """
        (reply,) = self._complete([text], 0, n_top_tokens=_TOP_TOKENS)
        if isinstance(reply, ChatFailure):
            raise VictimError(f"{self.model.name} cannot be asked: {one_line(reply.reason)}")
        if self._by_token(reply) is None:
            self.method = "samples" if self.n_samples > 1 else "one answer"

    def ask(self, texts: Sequence[str], repeat: int) -> list[Answer | VictimRowError]:
        """The answer to each text, or why there is none; another ``repeat`` asks anew.

        Raises:
            VictimError: The model is gone.
        """
        if self._gone is not None:
            raise self._gone
        found: dict[str, Answer | VictimRowError] = {}
        left = list(texts)
        if self.method == "first token":
            replies = self._complete(texts, repeat, n_top_tokens=_TOP_TOKENS)
            for text, reply in zip(texts, replies, strict=True):
                if isinstance(reply, ChatFailure):
                    found[text] = self._failed(reply, text)
                elif (answer := self._by_token(reply)) is not None:
                    found[text] = answer
            left = [text for text in texts if text not in found]
            self._tell_sampled(len(left))
        found.update(self._drawn(left, repeat))
        answers = [found[text] for text in texts]
        self.n_texts += sum(isinstance(answer, Answer) for answer in answers)
        return answers

    def _by_token(self, reply: ChatReply) -> Answer | None:
        """What the first token tells; None where it does not, or where the whole answer tells otherwise."""
        self._in_a_row = 0
        row = self.labels.read_tokens(reply.first_tokens).probabilities
        if row is None:
            return None
        said = reply.texts[0] if reply.texts else ""
        named = self.labels.parse(said)
        if named is None:
            # "I'm sorry, but" begins like the class "irony"; an answer that was cut may be half a name.
            is_told = not said.strip() or self.labels.is_begun(said, int(row.argmax()))
        else:
            # "A negative review" begins like the class "anger" and names another one.
            is_told = row[named] >= row.max() / 2
        return Answer(row) if is_told else None

    def _drawn(self, texts: Sequence[str], repeat: int) -> dict[str, Answer | VictimRowError]:
        """The shares of several answers; those that name no class are asked once more."""
        n = self.n_samples
        failed: dict[str, VictimRowError] = {}
        classes: dict[str, list[int]] = {text: [] for text in texts}
        unparsed: dict[str, str] = {}
        for attempt in (0, 1):
            left = [text for text, known in classes.items() if 2 * len(known) < n and text not in failed]
            replies = self._complete(
                left, 2 * repeat + attempt, temperature=1.0 if n > 1 else 0.0, n_samples=n
            )
            for text, reply in zip(left, replies, strict=True):
                if isinstance(reply, ChatFailure):
                    failed[text] = self._failed(reply, text)
                    continue
                self._in_a_row = 0
                for said in reply.texts:
                    named = self.labels.parse(said)
                    if named is None:
                        self.n_unparsed += 1
                        unparsed[text] = said
                    else:
                        classes[text].append(named)
        answers: dict[str, Answer | VictimRowError] = {}
        for text, known in classes.items():
            if 2 * len(known) >= n:
                # The one answer at temperature 0 is no sample of anything.
                answers[text] = Answer(share_of(known, len(self.labels.names)), len(known) if n > 1 else 0)
            else:
                answers[text] = failed.get(text) or self._unparsed(text, unparsed.get(text, ""))
        return answers

    def _complete(
        self,
        texts: Sequence[str],
        number: int,
        *,
        temperature: float = 0.0,
        n_samples: int = 1,
        n_top_tokens: int = 0,
    ) -> list[ChatAnswer]:
        if not texts:
            return []
        requests = [
            ChatRequest(
                self.prompt.messages(text, self.labels.names),
                max_tokens=self.max_tokens,
                temperature=temperature,
                # Another seed makes it another question for a store of answers.
                seed=self.seed + _SEED_STEP * number,
                n_samples=n_samples,
                n_top_tokens=n_top_tokens,
            )
            for text in texts
        ]
        return self.model.complete(requests)

    def _failed(self, failure: ChatFailure, text: str) -> VictimRowError:
        """The error of a text without an answer.

        Raises:
            VictimError: No other text will get one.
        """
        self.n_failed += 1
        reason = one_line(failure.reason)
        limit = None if self.budget is None else self.budget.max_calls
        if self.budget is not None and limit is not None and self.budget.n_calls >= limit:
            return VictimRowError(
                f"{self.model.name} was not asked, the {limit} calls are used up: go on with --resume "
                "and a higher --max-llm-calls"
            )
        if not failure.is_refusal:
            self._in_a_row += 1
        if failure.is_final or self._in_a_row >= _MOST_FAILURES:
            n = "" if failure.is_final else f" to {self._in_a_row} texts in a row"
            self._gone = VictimError(f"{self.model.name} gives no answer{n}: {reason}")
            raise self._gone
        return VictimRowError(f"{self.model.name} gave no answer to the text {_quoted(text)}: {reason}")

    def _unparsed(self, text: str, said: str) -> VictimRowError:
        names = ", ".join(self.labels.names)
        return UnparsedError(
            f"{self.model.name} named no class in its answers to the text {_quoted(text)}, it said "
            f"{_quoted(said)}: expected one of {one_line(names, 80)}"
        )

    def _tell_sampled(self, n: int) -> None:
        self.n_sampled += n
        if n and not self._is_warned:
            self._is_warned = True
            how = f"{self.n_samples} samples" if self.n_samples > 1 else "its one answer"
            warnings.warn(
                f"{self.model.name}: the first token does not tell the class of every text; those are "
                f"classified by {how} (run.json counts them)",
                UserWarning,
                stacklevel=2,
            )


def _quoted(text: str) -> str:
    return repr(one_line(text, 60))
