"""Fine-tune a Hugging Face classifier with TextAttack's ``Trainer`` on training data plus augmented rows."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import textattack
from textattack.datasets import Dataset
from textattack.models.wrappers import HuggingFaceModelWrapper
from textattack.trainer import Trainer
from textattack.training_args import TrainingArgs

from rif_plugins.errors import UsageError
from rif_plugins.victims.hugging_face import fitting_length


@dataclass(frozen=True, slots=True)
class FineTuning:
    """How to fine-tune.

    Attributes:
        epochs: Passes over the data.
        learning_rate: Largest rate of AdamW; it rises over the first tenth of the steps and falls to 0.
        batch_size: Rows a step.
        max_length: Most tokens of a text; None takes the tokenizer's own.
    """

    epochs: int = 3
    learning_rate: float = 2e-5
    batch_size: int = 32
    max_length: int | None = None


class AugmentedTrainer(Trainer):
    """TextAttack's trainer with extra rows of a weight of their own, mixed into every epoch.

    The host mixes in rows only from an attack that runs between its epochs; here they are found before.

    Args:
        augmentation: The extra rows; their weight is the host's ``alpha``. None trains on the data alone.
        **settings: See ``textattack.Trainer``.
    """

    def __init__(self, *, augmentation: Dataset | None, **settings: Any) -> None:
        super().__init__(**settings)
        self.augmentation = augmentation

    def get_train_dataloader(self, dataset: Any, adv_dataset: Any, batch_size: int) -> Any:
        """The host's loader over data and extra rows."""
        return super().get_train_dataloader(dataset, adv_dataset or self.augmentation, batch_size)

    def get_optimizer_and_scheduler(self, model: Any, num_training_steps: int) -> Any:
        """The host counts the steps of the data alone, after which its rate would stay at 0."""
        n_rows = len(self.train_dataset) + (len(self.augmentation) if self.augmentation else 0)
        steps = math.ceil(n_rows / self.training_args.per_device_train_batch_size)
        return super().get_optimizer_and_scheduler(model, steps * self.training_args.num_epochs)

    def evaluate(self) -> float:
        """Nothing is chosen by a score: the model after the last epoch counts, and no test text is seen."""
        return 0.0


def fine_tune(
    model_name: str,
    texts: Sequence[str],
    labels: Sequence[int],
    extra: tuple[Sequence[str], Sequence[int], float],
    folder: Path,
    *,
    n_labels: int,
    settings: FineTuning,
    seed: int,
) -> Path:
    """Train a model further and return the folder that holds it.

    Args:
        model_name: A local folder or a hub name of a sequence classifier.
        texts: The texts of the training data.
        labels: Their classes.
        extra: Texts, labels and weight of the augmented rows; empty lists for none.
        folder: Where the host's trainer writes.
        n_labels: Number of classes.
        settings: How to train.
        seed: Seed of the order of rows and of dropout.

    Raises:
        UsageError: The model cannot be loaded, or has another number of classes.
    """
    model, tokenizer = _loaded(model_name, n_labels, settings.max_length)
    more = (
        Dataset(
            [((text, "adversarial_example"), label) for text, label in zip(*extra[:2], strict=True)],
            input_columns=["text", "_example_type"],
        )
        if len(extra[0])
        else None
    )
    arguments = TrainingArgs(
        num_epochs=settings.epochs,
        num_clean_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        num_warmup_steps=0.1,
        per_device_train_batch_size=settings.batch_size,
        random_seed=seed,
        alpha=extra[2],
        output_dir=str(folder),
        checkpoint_interval_epochs=None,
        save_last=True,
        load_best_model_at_end=False,
    )
    with _quiet():
        trainer = AugmentedTrainer(
            augmentation=more,
            model_wrapper=HuggingFaceModelWrapper(model, tokenizer),
            train_dataset=Dataset(list(zip(texts, labels, strict=True))),
            training_args=arguments,
        )
        trainer.train()
    return folder / "last_model"


def _loaded(name: str, n_labels: int, max_length: int | None) -> tuple[Any, Any]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    try:
        model = AutoModelForSequenceClassification.from_pretrained(name, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        line = " ".join(str(error).split())[:200]
        raise UsageError(f"cannot load {name} for training ({line}): give a folder or hub name") from error
    if model.config.num_labels != n_labels:
        raise UsageError(f"{name} has {model.config.num_labels} classes, expected the run's {n_labels}")
    # The host truncates to the tokenizer's maximum, which some tokenizers leave open.
    tokenizer.model_max_length = fitting_length(model, tokenizer, max_length)
    return model, tokenizer


@contextmanager
def _quiet() -> Iterator[None]:
    """The host logs every step of its set-up; its log file in the folder keeps all of it."""
    logger = textattack.shared.utils.logger
    handlers = list(logger.handlers)
    logger.handlers[:] = [h for h in handlers if not isinstance(h, logging.StreamHandler)]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*pin_memory.*")  # no accelerator, and none asked for
            yield
    finally:
        for handler in set(logger.handlers) - set(handlers):
            handler.close()
        logger.handlers[:] = handlers
