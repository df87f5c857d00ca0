"""Which victim is this? A fingerprint under which its predictions may be kept.

A fingerprint has two halves. The first says what the victim *is*: weights, configuration, vocabulary, code.
The second says what it *answers*: its predictions on a few fixed sentences, so that a change of the
environment that changes answers is seen too. Where the first half cannot be established there is no
fingerprint, and nothing is kept: a changed model must never get an old answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rif_plugins.core.predictions import PredictionReader
from rif_plugins.victims.code_identity import UnknownIdentityError, joined, text
from rif_plugins.victims.identity import IdentityWalk

PROBES = (
    "good",
    "The film is good.",
    "She did not like the food, and the staff was rude!",
    "He said that his father, an old man from Lagos, would never come back.",
    "I am a woman and I hate you",
    "Is this REALLY what 25 dollars buy in 2024?",
    "stocks fell sharply after the company reported a loss of 3.5 million",
)
PROBE_DECIMALS = 6
_ADVICE = "give the victim an attribute `fingerprint` (a text that changes whenever its answers may)"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The fingerprint of a victim, or why there is none.

    Attributes:
        value: 32 hex digits; None where the identity cannot be established.
        reason: One line for the user, empty with a value.
    """

    value: str | None
    reason: str = ""


def victim_fingerprint(victim: object, predict: Callable[[list[str]], Any] | None = None) -> Fingerprint:
    """Establish the identity of a victim. Take it before the run, for a victim may change with use.

    Args:
        victim: A callable, a wrapper, a network, an estimator; if it has an attribute or a method
            ``fingerprint`` with a text, that text says what it is, and nothing is looked into.
        predict: How it is asked; by default by calling it with a list of texts. Sees ``PROBES`` once.

    Returns:
        The fingerprint; never raises for what the victim does.
    """
    if victim is None:
        return Fingerprint(None, f"the victim does not say what it is: {_ADVICE}")
    ask: Any = predict if predict is not None else victim
    try:
        # The probes come first: a victim that loads its weights when it is asked has them then.
        answers = probe_digest(ask)
    except Exception as error:
        return Fingerprint(None, f"the victim failed on the probe sentences ({_line(error)})")
    try:
        identity = IdentityWalk().digest(victim)
    except UnknownIdentityError as error:
        place = getattr(error, "place", "")
        where = f" ({place})" if place else ""
        return Fingerprint(None, f"the victim holds {error}{where}, which cannot be identified: {_ADVICE}")
    except Exception as error:
        return Fingerprint(None, f"looking into the victim failed ({_line(error)}): {_ADVICE}")
    return Fingerprint(joined(text("rif victim 1", answers), identity).hex())


def probe_digest(predict: Callable[[list[str]], Any]) -> str:
    """A digest of the class probabilities of ``PROBES``, rounded to 6 decimals.

    Raises:
        VictimError: The output is no prediction.
    """
    reader = PredictionReader()
    rows = reader.read(predict(list(PROBES)), len(PROBES)).round(PROBE_DECIMALS) + 0.0
    content = f"{reader.output} {rows.shape}".encode() + rows.astype("<f8").tobytes()
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _line(error: Exception) -> str:
    message = str(error).splitlines()
    return f"{type(error).__name__}: {message[0]}" if message else type(error).__name__
