"""From the value of ``--model`` to a victim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rif_plugins.core.predictions import OutputKind
from rif_plugins.errors import UsageError
from rif_plugins.llm import ChatModel, load_chat_model
from rif_plugins.victims.base import Victim, checked_label_names
from rif_plugins.victims.embedded import EmbeddedVictim


def load_victim(
    spec: str,
    *,
    output: OutputKind = "auto",
    device: str | None = None,
    max_length: int | None = None,
    prompt: str | Path | None = None,
    labels: Sequence[str] | None = None,
    chat_models: Callable[[str], ChatModel] | None = None,
    **asking: Any,
) -> Victim:
    """Load the victim that ``spec`` names; no host is imported unless the user's file does it.

    Args:
        spec: ``"embedded"``; a path that ends in ``.py`` (variable ``model``); an http(s) address; a folder
            or a hub name of a Hugging Face sequence classifier; ``"llm:NAME"``, ``"llm:gguf:FILE"`` or
            ``"llm:hf:NAME"`` for a language model that names the class.
        output: What the victim returns; known for Hugging Face, scikit-learn and embedded ones.
        device: Torch device of a Hugging Face model; ``None`` takes CUDA where there is one.
        max_length: Most tokens of a text, for Hugging Face models; ``None`` takes what they allow.
        prompt: Prompt file, for ``llm:``.
        labels: Names of the classes in the order of the columns; ``None`` takes the victim's own, which a
            language model does not have.
        chat_models: Makes the model that ``llm:`` names; ``None`` loads it, without a limit of its calls.
        **asking: For ``llm:``, see ``language_model.load_language_model``.

    Raises:
        UsageError: ``spec`` is of no known kind, or an option does not go with it.
        VictimError: The victim cannot be loaded.
    """
    spec = spec.strip()
    if output not in ("auto", "probabilities", "logits"):
        raise UsageError(f"victim output must be auto, probabilities or logits, got {output!r}")
    if spec.startswith("llm:"):
        from rif_plugins.victims.language_model import checked_question, load_language_model

        # A mistake in the command should not wait for gigabytes of weights.
        asked, names = checked_question(spec, prompt, labels)
        model = (chat_models or load_chat_model)(spec)
        return load_language_model(model, prompt=asked, labels=names, **asking)
    if prompt is not None:
        raise UsageError("--prompt goes with --model llm:NAME only: leave it out")
    if not spec:
        raise UsageError(
            "--model is empty: expected a Hugging Face folder or name, a file.py, an http(s) address, "
            "llm:NAME, or embedded"
        )
    classes = None if labels is None else checked_label_names(list(labels), "--labels")
    if spec == "embedded":
        victim = EmbeddedVictim()
        return Victim(
            name=spec,
            predict=victim,
            output="probabilities",
            label_names=classes or victim.label_names,
            identity=victim,
        )
    if spec.lower().startswith(("http://", "https://")):
        from rif_plugins.victims.endpoint import load_endpoint

        return load_endpoint(spec, output=output, labels=classes)
    if spec.endswith(".py"):
        from rif_plugins.victims.python_file import load_file

        return load_file(Path(spec).expanduser(), output=output, max_length=max_length, labels=classes)
    from rif_plugins.victims.hugging_face import load_hugging_face

    return load_hugging_face(spec, device=device, max_length=max_length, labels=classes)
