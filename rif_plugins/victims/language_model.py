"""A language model as the victim: a prompt, a text, and the name of a class as the answer.

Probabilities come from the chances of the first token where the model gives them and the names of the classes
begin differently; else from the shares of several answers drawn at temperature 1. Both estimate the same
quantity, so a text whose first token does not tell may be sampled while others are not.

What is asked twice is asked with another seed, and is another question for a store of answers: a run can be
repeated from the store, and still a finding is confirmed by answers of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rif_plugins.errors import UsageError, VictimError, VictimRowError
from rif_plugins.llm import CallBudget, ChatModel
from rif_plugins.victims.base import Victim, checked_label_names
from rif_plugins.victims.code_identity import UnknownIdentityError
from rif_plugins.victims.fingerprint import PROBES
from rif_plugins.victims.label_answers import LabelNames
from rif_plugins.victims.label_asking import LabelAsker, UnparsedError
from rif_plugins.victims.label_shares import Answer, FloatArray, majority, uncertainty_of
from rif_plugins.victims.prompt import Prompt
from rif_plugins.victims.steadiness import Steadiness, probabilities_check, repetition_check

N_SAMPLES, MAX_TOKENS, N_AGAIN = 5, 32, 3
_N_PROBES = 4
_MOST_KNOWN = 2**15


class LanguageModelVictim:
    """Classifies texts by asking a language model; call it with a list of texts.

    Args:
        asker: Asks.

    Attributes:
        steadiness: Whether the model repeats its answers; known after :meth:`probe`.
    """

    def __init__(self, asker: LabelAsker) -> None:
        self.asker = asker
        self.steadiness: Steadiness | None = None
        self._known: dict[tuple[int, str], Answer | UnparsedError] = {}

    @property
    def is_steady(self) -> bool:
        """Whether an answer need not be asked for more than once."""
        return self.steadiness is not None and self.steadiness.is_steady

    def probe(self) -> None:
        """Ask about a few sentences, twice: how are probabilities found, and are answers repeated?

        Raises:
            VictimError: The model does not answer, or names no class.
        """
        texts = list(PROBES[:_N_PROBES])
        self.asker.choose_method(texts[0])
        try:
            first, again = (self._rows(texts, repeat) for repeat in (0, 1))
        except VictimRowError as error:
            raise VictimError(
                f"{error} (a probe sentence): check the prompt, the names of the classes and --llm-max-tokens"
            ) from None
        is_sampled = self.asker.method == "samples"
        self.steadiness = Steadiness.of(first, again, is_sampled=is_sampled)

    def __call__(self, texts: list[str]) -> FloatArray:
        """Class probabilities of ``texts``, ``(n, k)``; a text that was asked before is not asked again.

        Raises:
            VictimRowError: A text got no answer, or only some that name no class.
            VictimError: The model is gone.
        """
        return self._rows(texts, 0)

    def again(self, texts: list[str]) -> FloatArray:
        """The same, asked anew: once of a steady model, else what most of three askings say, ``(n, k)``.

        Raises:
            VictimRowError, VictimError: As for calling it.
        """
        if self.is_steady:
            return self._rows(texts, 1)
        asked = [self._answers(texts, repeat) for repeat in range(1, N_AGAIN + 1)]
        rows = [majority(answers) for answers in zip(*asked, strict=True)]
        return np.array(rows).reshape(len(texts), self.n_labels)

    def uncertainty(self, text: str) -> dict[str, float]:
        """How sure the answer to ``text`` is, see ``uncertainty_of``; empty of a model that is steady."""
        if self.is_steady:
            return {}
        known = [self._known.get((repeat, text)) for repeat in range(N_AGAIN + 1)]
        first, *again = (answer if isinstance(answer, Answer) else None for answer in known)
        return uncertainty_of(first, [answer for answer in again if answer is not None])

    def fingerprint(self) -> str:
        """Everything that decides an answer.

        Raises:
            UnknownIdentityError: The model does not say which it is.
        """
        asker, model = self.asker, self.asker.model
        if not model.version:
            raise UnknownIdentityError(f"the language model {model.name}, which tells no version")
        numbers = (asker.n_samples, asker.max_tokens, asker.seed)
        parts = (model.name, model.version, asker.prompt.digest, asker.method, *map(str, numbers))
        return "\x1f".join((*parts, *asker.labels.names))

    def to_dict(self) -> dict[str, object]:
        """How it has answered, for ``run.json``."""
        asker = self.asker
        return {
            "name": asker.model.name,
            "method": asker.method,
            "samples": asker.n_samples if asker.method == "samples" else 1,
            "is_steady": self.is_steady,
            "askings_to_confirm": 1 if self.is_steady else N_AGAIN,
            "texts": asker.n_texts,
            "sampled_instead": asker.n_sampled,
            "unparsed_answers": asker.n_unparsed,
            "failed": asker.n_failed,
        }

    def checks(self) -> tuple[dict[str, str], ...]:
        """What :meth:`probe` has found out, in the form of checks of a victim."""
        found = [probabilities_check(self.asker.method, self.asker.n_samples)]
        if self.steadiness is not None:
            found.append(repetition_check(self.steadiness, N_AGAIN))
        return tuple(found)

    @property
    def n_labels(self) -> int:
        """Number of classes."""
        return len(self.asker.labels.names)

    def __repr__(self) -> str:
        return f"LanguageModelVictim({self.asker.model.name!r}, {list(self.asker.labels.names)})"

    def _rows(self, texts: Sequence[str], repeat: int) -> FloatArray:
        rows = [answer.row for answer in self._answers(texts, repeat)]
        return np.array(rows).reshape(len(texts), self.n_labels)

    def _answers(self, texts: Sequence[str], repeat: int) -> list[Answer]:
        """The answers of asking number ``repeat``; those that came are remembered, whatever others do."""
        new = [text for text in dict.fromkeys(texts) if (repeat, text) not in self._known]
        lost: dict[str, VictimRowError] = {}
        for text, answer in zip(new, self.asker.ask(new, repeat) if new else (), strict=True):
            if isinstance(answer, (Answer, UnparsedError)):
                self._known[repeat, text] = answer
            else:
                lost[text] = answer
        found = [lost.get(text) or self._known[repeat, text] for text in texts]
        while len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        for answer in found:
            if isinstance(answer, VictimRowError):
                raise answer
        return [answer for answer in found if isinstance(answer, Answer)]


def load_language_model(
    model: ChatModel,
    *,
    prompt: str | Path | Prompt | None,
    labels: Sequence[str] | None,
    n_samples: int = N_SAMPLES,
    max_tokens: int = MAX_TOKENS,
    seed: int = 0,
    budget: CallBudget | None = None,
) -> Victim:
    """Make a victim of a chat model, and ask it a few probe sentences.

    Args:
        model: The model.
        prompt: A prompt, or its file.
        labels: Names of the classes, in the order of the columns.
        n_samples: Answers that are drawn where the first token does not tell.
        max_tokens: Longest answer, in tokens.
        seed: Seed of the sampling.
        budget: The calls of the run.

    Raises:
        UsageError: Prompt or labels are missing or cannot be used.
        VictimError: The model does not answer, or names no class.
    """
    known, names = checked_question(model.name, prompt, labels)
    victim = LanguageModelVictim(
        LabelAsker(
            model,
            known,
            LabelNames(names),
            n_samples=n_samples,
            max_tokens=max_tokens,
            seed=seed,
            budget=budget,
        )
    )
    victim.probe()
    return Victim(
        name=model.name,
        predict=victim,
        output="probabilities",
        label_names=names,
        identity=victim,
        again=victim.again,
        own_checks=victim.checks(),
        uncertainty=victim.uncertainty,
    )


def checked_question(
    spec: str, prompt: str | Path | Prompt | None, labels: Sequence[str] | None
) -> tuple[Prompt, tuple[str, ...]]:
    """The prompt, read, and the names of the classes.

    Raises:
        UsageError: One is missing or cannot be used.
    """
    if prompt is None:
        raise UsageError(f"--model {spec} needs a prompt file with {{text}} in it: give --prompt FILE")
    if labels is None:
        raise UsageError(f"--model {spec} needs the names of its classes: give --labels negative,positive")
    names = checked_label_names(list(labels), "--labels")
    LabelNames(names)
    return prompt if isinstance(prompt, Prompt) else Prompt.read(prompt), names
