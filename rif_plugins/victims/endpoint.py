"""A victim behind an http(s) address.

Request: ``POST {"texts": ["...", ...]}``; servers that refuse it are asked ``{"inputs": [...]}``, which is
what Hugging Face servers take.  Answer: JSON with one row a text, ``{"probabilities": [[...], ...]}``,
``{"logits": [[...], ...]}``, a plain list of rows, or a list of ``{"label": ..., "score": ...}`` for each
text; the details stand at ``endpoint_replies.read_reply``, and ``http_client`` tells how the token of
``RIF_ENDPOINT_TOKEN`` is sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rif_plugins.core.predictions import OutputKind
from rif_plugins.errors import VictimError, VictimRowError
from rif_plugins.victims.base import Victim
from rif_plugins.victims.endpoint_replies import Reply, read_reply
from rif_plugins.victims.http_client import JsonClient, Limits, StatusError

_PROBE_TEXT = "This is a test."
_KEYS = ("texts", "inputs")
_OTHER_KEY_MAY_HELP = (400, 415, 422)
_TEXTS_ARE_BAD = (400, 413, 415, 422)


class EndpointVictim:
    """Predicts by asking a server; call it with a list of texts.

    Args:
        url: The address.
        label_names: Order of the columns for servers that name their labels.
        limits: How patient to be.
        sleep: Waits between attempts.

    Attributes:
        name: The address without query and fragment.
        label_names, output: What the first answer said about itself.

    Raises:
        VictimError: ``url`` is no http(s) address, or holds a password.
    """

    def __init__(
        self,
        url: str,
        *,
        label_names: tuple[str, ...] | None = None,
        limits: Limits | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = JsonClient(url, limits=limits, sleep=sleep)
        self._key = _KEYS[0]
        self._is_known = False
        self.name = self._client.name
        self.label_names = label_names
        self.output: OutputKind = "auto"

    def probe(self) -> None:
        """Ask about one text, and learn the form of request and answer and the labels.

        Raises:
            VictimError: The server does not answer, or answers something else.
        """
        self._client.warn_if_exposed()
        first: StatusError | None = None
        for key in _KEYS:
            self._key = key
            try:
                reply = self._ask([_PROBE_TEXT])
            except StatusError as error:
                first = first or error
                if error.status not in _OTHER_KEY_MAY_HELP:
                    break
                continue
            self.output = reply.output
            self.label_names = self.label_names or reply.label_names
            self._is_known = True
            return
        raise self._client.error(str(first)) from None

    def __call__(self, texts: list[str]) -> list[list[float]]:
        """Rows of ``texts``; the first call probes.

        Raises:
            VictimError: The server cannot be reached, refuses, or answers something else.
            VictimRowError: The server refuses one text, or fails on it.
        """
        if not texts:
            return []
        if not self._is_known:
            self.probe()
        try:
            reply = self._ask(texts)
        except StatusError as error:
            if error.status not in _TEXTS_ARE_BAD:
                raise self._client.error(str(error)) from None
            if len(texts) == 1:
                raise self._client.error(f"{error} for one text", VictimRowError) from None
            # Too many at once, or one of them is bad: halves tell which.
            middle = len(texts) // 2
            return self(texts[:middle]) + self(texts[middle:])
        if reply.output != self.output:
            raise self._client.error(f"answered {reply.output} after {self.output}, expected one form")
        return reply.rows

    def _ask(self, texts: list[str]) -> Reply:
        data = self._client.post({self._key: texts})
        try:
            reply = read_reply(data, len(texts), self.label_names)
        except VictimError as error:
            raise self._client.error(str(error)) from None
        n_columns = max(2, len(reply.rows[0]))
        if self.label_names is not None and len(self.label_names) != n_columns:
            raise self._client.error(
                f"answered {n_columns} labels, expected the {len(self.label_names)} that are named"
            )
        return reply

    def __repr__(self) -> str:
        """Name the address without its query."""
        return f"EndpointVictim({self.name!r})"


def load_endpoint(url: str, *, output: OutputKind = "auto", labels: tuple[str, ...] | None = None) -> Victim:
    """Reach an endpoint and learn its form with one request.

    Raises:
        VictimError: It cannot be reached, or does not answer as expected.
    """
    victim = EndpointVictim(url, label_names=labels)
    victim.probe()
    return Victim(
        name=victim.name,
        predict=victim,
        output=victim.output if output == "auto" else output,
        label_names=victim.label_names,
        identity=victim,
    )
