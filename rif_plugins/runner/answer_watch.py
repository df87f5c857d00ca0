"""Listens to language models: whether they still answer, and whether asking on is pointless."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rif_plugins.llm import ChatAnswer, ChatFailure, ChatModel, ChatRequest

_LONGEST_REASON = 200


class AnswerWatch:
    """What the language models of a run have answered so far.

    A proposer tells of tokens without candidates only; that a model is gone for good (no calls left, a key
    that is refused, a server that was given up) is known where its answers arrive.

    Attributes:
        n_replies: Answers, those of a store among them.
        n_failures: Questions without one.
        last: Why the last of them has none.
        final: Why nothing need be asked any more; empty while something may answer.
    """

    def __init__(self) -> None:
        self.n_replies = 0
        self.n_failures = 0
        self.last = ""
        self.final = ""

    def over(self, models: Callable[[str], ChatModel]) -> Callable[[str], ChatModel]:
        """The same models, listened to."""
        return lambda spec: _Heard(models(spec), self)

    def hear(self, answers: Sequence[ChatAnswer]) -> None:
        """Take note of answers."""
        for answer in answers:
            if not isinstance(answer, ChatFailure):
                self.n_replies += 1
                continue
            self.n_failures += 1
            self.last = " ".join(answer.reason.split())[:_LONGEST_REASON] or "no reason given"
            if answer.is_final:
                self.final = self.final or self.last


class _Heard:
    def __init__(self, model: ChatModel, watch: AnswerWatch) -> None:
        self.name = model.name
        self.version = model.version
        self._model = model
        self._watch = watch

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatAnswer]:
        answers = self._model.complete(requests)
        self._watch.hear(answers)
        return answers

    def __repr__(self) -> str:
        return repr(self._model)
