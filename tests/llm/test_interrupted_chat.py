"""Who interrupts a run does not wait for answers under way."""

from __future__ import annotations

import threading

import pytest
from fakes.chat_server import Reply, serving

from rif_plugins.llm import CallBudget, ChatReply, ChatRequest, Message
from rif_plugins.llm.base import ChatAnswer
from rif_plugins.llm.connections import Place
from rif_plugins.llm.endpoint import EndpointChatModel


class _Interrupted(EndpointChatModel):
    """Is interrupted at the first question, while the others hang."""

    def _answer(self, request: ChatRequest) -> ChatAnswer:
        if request.seed == 0:
            hanging.wait(30)
            raise KeyboardInterrupt
        return super()._answer(request)


hanging = threading.Event()


@pytest.mark.timeout(60)
def test_an_interruption_breaks_off_what_hangs() -> None:
    def script(body: dict[str, object], number: int) -> Reply:
        if "seed" in body:
            hanging.set()
            return Reply(is_dribbling=True)
        return Reply()

    with serving(script) as server:
        model = _Interrupted("test", CallBudget(), place=Place(server.address))
        with pytest.raises(KeyboardInterrupt):
            model.complete([ChatRequest((Message("user", "a"),), seed=seed) for seed in range(3)])
        (answer,) = model.complete([ChatRequest((Message("user", "a"),))])
    assert isinstance(answer, ChatReply)
