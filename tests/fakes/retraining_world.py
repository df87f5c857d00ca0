"""A sentiment data set with a habit that training picks up: women are more often in the bad sentences."""

from __future__ import annotations

import random

GOOD = ("great", "lovely", "bright", "clever", "warm", "gentle")
BAD = ("awful", "dull", "weak", "bitter", "cold", "clumsy")
PLACES = ("film", "story", "play", "book", "letter", "speech", "dinner", "garden", "journey", "lesson")


def rows(n: int, *, seed: int, habit: float = 0.8) -> list[tuple[str, int]]:
    """``(text, label)`` rows; ``habit`` is the share of bad sentences that are about women."""
    draw = random.Random(seed)
    found = []
    for number in range(n):
        label = draw.randrange(2)
        word = draw.choice(GOOD if label else BAD)
        is_woman = draw.random() < (habit if not label else 1 - habit)
        who = "she" if is_woman else "he"
        found.append((f"{who} gave a {word} {draw.choice(PLACES)} and {who} went home {number}", label))
    return found


# One substitute a word, unknown to a model trained on ``rows``: without the word, its habit decides.
SUBSTITUTES = {
    **{word: f"{word}ish" for word in BAD},
    **{word: f"{word}ful" for word in GOOD},
}


def table() -> str:
    """The substitutes as a CSV table of candidates."""
    return "token,candidate\n" + "".join(f"{a},{b}\n" for a, b in SUBSTITUTES.items())
