"""Why one attempt to get an answer failed, in words that hold no secrets."""

from __future__ import annotations

import json
import math

from rif_plugins.core.addresses import without_secrets

FINAL = {
    401: "the key is refused",
    402: "the account has no credit",
    404: "no such model or address",
}
ADVICE = {**FINAL, 403: "the key has no right to it, or the text is not allowed"}
"""What a status means. Gateways answer 403 for one text that their moderation flags, too."""


class AttemptError(Exception):
    """One attempt failed.

    Attributes:
        reason: One line without secrets.
        status: Status code; 0 where there was no answer.
        parameter: The part of the request that the server says is to blame; ``""`` where it does not say.
        may_help: Whether another attempt may succeed.
        wait: Seconds that the server asked to wait.
    """

    def __init__(
        self, reason: str, *, status: int = 0, parameter: str = "", may_help: bool = True, wait: float = 0.0
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.parameter = parameter
        self.may_help = may_help
        self.wait = wait

    @property
    def is_final(self) -> bool:
        """Whether no request at all will succeed."""
        return self.status in FINAL


def refusal(status: int, raw: bytes, retry_after: str | None, key: str) -> AttemptError:
    """The error that an answer with another status than 2xx means.

    Args:
        status: Status code.
        raw: The beginning of the body.
        retry_after: The header of this name.
        key: Hidden where the server repeats it.
    """
    message, parameter, code = _told_by(raw)
    message = one_line(message.replace(key, "***") if key else message)
    reason = f"status {status}" + (f" {message!r}" if message else "")
    if 300 <= status < 400:
        return AttemptError(f"redirects elsewhere (status {status})", status=404, may_help=False)
    if code == "insufficient_quota":
        return AttemptError(reason, status=402, may_help=False)
    return AttemptError(
        reason,
        status=status,
        parameter=parameter,
        may_help=status in (408, 409, 429) or (status >= 500 and status != 501),
        wait=_seconds(retry_after),
    )


def _told_by(raw: bytes) -> tuple[str, str, str]:
    """Message, parameter and code of an error, as far as the server says."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return raw[:400].decode("utf-8", "replace"), "", ""
    inner = data.get("error", data) if isinstance(data, dict) else data
    if not isinstance(inner, dict):
        return str(inner)[:400], "", ""
    message = inner.get("message") or inner.get("detail") or ""
    return str(message)[:2000], str(inner.get("param") or "")[:80], str(inner.get("code") or "")[:80]


def one_line(text: str, limit: int = 160) -> str:
    """The text on one printable line without secrets of addresses, cut to ``limit`` characters."""
    line = " ".join("".join(char if char.isprintable() else " " for char in without_secrets(text)).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def _seconds(text: str | None) -> float:
    try:
        value = float(text or 0.0)
    except ValueError:  # a date: the usual wait will do
        return 0.0
    return value if 0.0 < value < math.inf else 0.0
