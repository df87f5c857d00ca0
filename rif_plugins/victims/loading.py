"""From the value of ``--model`` to a victim."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rif_plugins.core.predictions import OutputKind
from rif_plugins.errors import UsageError
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
) -> Victim:
    """Load the victim that ``spec`` names; no host is imported unless the user's file does it.

    Args:
        spec: ``"embedded"``; a path that ends in ``.py`` (variable ``model``); an http(s) address; a folder
            or a hub name of a Hugging Face sequence classifier; ``"llm:NAME"``.
        output: What the victim returns; known for Hugging Face, scikit-learn and embedded ones.
        device: Torch device of a Hugging Face model; ``None`` takes CUDA where there is one.
        max_length: Most tokens of a text, for Hugging Face models; ``None`` takes what they allow.
        prompt: Prompt file, for ``llm:``.
        labels: Names of the classes in the order of the columns; ``None`` takes the victim's own.

    Raises:
        UsageError: ``spec`` is of no known kind, or an option does not go with it.
        VictimError: The victim cannot be loaded.
    """
    spec = spec.strip()
    if output not in ("auto", "probabilities", "logits"):
        raise UsageError(f"victim output must be auto, probabilities or logits, got {output!r}")
    if spec.startswith("llm:"):
        raise UsageError(
            f"--model {spec}: language models as victims are not available yet: "
            "use a Hugging Face folder or name, a file.py, an http(s) address, or embedded"
        )
    if prompt is not None:
        raise UsageError("--prompt goes with --model llm:NAME only: leave it out")
    if not spec:
        raise UsageError(
            "--model is empty: expected a Hugging Face folder or name, a file.py, an http(s) address, "
            "or embedded"
        )
    names = None if labels is None else checked_label_names(list(labels), "--labels")
    if spec == "embedded":
        victim = EmbeddedVictim()
        return Victim(
            name=spec,
            predict=victim,
            output="probabilities",
            label_names=names or victim.label_names,
            identity=victim,
        )
    if spec.lower().startswith(("http://", "https://")):
        from rif_plugins.victims.endpoint import load_endpoint

        return load_endpoint(spec, output=output, labels=names)
    if spec.endswith(".py"):
        from rif_plugins.victims.python_file import load_file

        return load_file(Path(spec).expanduser(), output=output, max_length=max_length, labels=names)
    from rif_plugins.victims.hugging_face import load_hugging_face

    return load_hugging_face(spec, device=device, max_length=max_length, labels=names)
