"""What a run knows about the classifier that it audits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rif_plugins.core.predictions import OutputKind
from rif_plugins.errors import VictimError

Predict = Callable[[list[str]], Any]
Seen = Callable[[str], int | None]
Uncertainty = Callable[[str], Mapping[str, float]]


@dataclass(frozen=True)
class Victim:
    """A loaded victim.

    Attributes:
        name: What reports call it; never holds a password, a token or the query of an address.
        predict: From ``n`` texts to ``n`` rows: ``(n, classes)`` probabilities or logits, or ``(n,)`` or
            ``(n, 1)`` for one sigmoid.
        output: What ``predict`` returns; ``"auto"`` where it has to be found out from the first answer.
        label_names: Names of the classes in the order of the columns; ``None`` where nothing tells them.
        token_gradients: Gradients on the tokens of a text, for the saliency ``gradient`` and the white-box
            search; ``None`` where the victim has none.
        max_length: Most tokens of a text that the victim reads; ``None`` without a limit or if unknown.
        identity: The object whose digest tells this victim from others; persistent caches depend on it.
        seen: Answers :meth:`tokens_seen`; ``None`` where texts are not cut.
        again: Asks anew, for the confirmation of what was found, where ``predict`` gives the answers of
            before; ``None`` where ``predict`` itself does.
        own_checks: What the victim has found out about itself when it was loaded, ``name``, ``status`` and
            ``message`` each; they stand in the place of checks of the same name.
        uncertainty: Tells how sure the answer to a text is, of a victim that does not repeat itself.
    """

    name: str
    predict: Predict
    output: OutputKind = "auto"
    label_names: tuple[str, ...] | None = None
    token_gradients: Any = None
    max_length: int | None = None
    identity: Any = None
    seen: Seen | None = None
    again: Predict | None = None
    own_checks: tuple[Mapping[str, str], ...] = ()
    uncertainty: Uncertainty | None = None

    def tokens_seen(self, text: str) -> int | None:
        """The character offset from which on the victim cannot see ``text``; ``None`` if it sees all."""
        return None if self.seen is None else self.seen(text)


def one_line(text: object, limit: int = 200) -> str:
    """Any message as one line of at most ``limit`` characters, for the end of an error message."""
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def checked_label_names(names: object, origin: str) -> tuple[str, ...]:
    """Label names as a tuple.

    Args:
        names: What a user wrote.
        origin: Where it stands, for the message.

    Raises:
        VictimError: Not a list of two or more different names.
    """
    advice = 'write the names in the order of the columns, such as ["negative", "positive"]'
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise VictimError(f"{origin}: expected a list of names, got {one_line(repr(names), 60)}: {advice}")
    if len(names) < 2 or len({name.casefold() for name in names}) != len(names):
        raise VictimError(
            f"{origin}: expected two or more different names, got {one_line(list(names), 100)}: {advice}"
        )
    return tuple(names)
