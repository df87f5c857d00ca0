"""A chat model in memory, scripted by a function, with every request kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rif_plugins.llm import CallBudget, ChatAnswer, ChatFailure, ChatReply, ChatRequest


class ScriptedChatModel:
    """Answers with ``script(request)``: a text, a list of texts (samples) or an answer.

    Attributes:
        requests: Every request, in order.
        batches: Size of each call of :meth:`complete`.
    """

    def __init__(
        self,
        script: Callable[[ChatRequest], str | list[str] | ChatAnswer],
        *,
        name: str = "llm:scripted",
        version: str = "1",
        budget: CallBudget | None = None,
    ) -> None:
        self.name = name
        self.version = version
        self.budget = budget or CallBudget()
        self.requests: list[ChatRequest] = []
        self.batches: list[int] = []
        self._script = script

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatAnswer]:
        self.batches.append(len(requests))
        answers = []
        for request in requests:
            if not self.budget.take():
                answers.append(ChatFailure("calls used up", is_final=True))
                continue
            self.requests.append(request)
            said = self._script(request)
            if isinstance(said, str):
                said = ChatReply((said,) * request.n_samples)
            elif isinstance(said, list):
                said = ChatReply(tuple(said))
            self.budget.add(said)
            answers.append(said)
        return answers
