"""Generate and filter off-line: a table of candidates that runs can reuse.

For every text that an audit of the same data would search, the original and its similar texts, each word
that is not sensitive is given to the proposer, each candidate is put into the text, and the filter compares
the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rif_plugins.cache import SQLiteStore, open_store
from rif_plugins.core.stores import text_keys
from rif_plugins.entailment import CosineScorer, EntailmentFilter, EntailmentScorer, load_scorer
from rif_plugins.errors import DataError, UsageError
from rif_plugins.examples.base import Example, ExampleSet
from rif_plugins.examples.loading import load_examples
from rif_plugins.llm import ChatModel
from rif_plugins.proposers import Proposer, settings_proposer
from rif_plugins.proposers.asking import UNREADABLE
from rif_plugins.proposers.base import version_of
from rif_plugins.runner.answer_watch import AnswerWatch
from rif_plugins.runner.candidate_files import CandidateFile
from rif_plugins.runner.candidate_rows import CandidateCounts, Row, RowMaker
from rif_plugins.runner.language_models import LanguageModels
from rif_plugins.runner.options import proposing_models
from rif_plugins.settings import Settings
from rif_plugins.similar import PairSource
from rif_plugins.similar.pair_source import embedded_and
from rif_plugins.version import __version__

# Examples whose candidates are proposed and filtered together; a kill loses at most so many.
WINDOW = 4
# Windows in a row without any answer before the proposer counts as gone. More where a build has stopped
# before: neighbours may all be refused for what they say, and what is behind them is answered.
PATIENCE = 3
Progress = Callable[[Iterable[int], int], Iterable[int]]


@dataclass(frozen=True)
class CandidateOptions:
    """What a table is made from.

    Attributes:
        data: What ``--data`` takes.
        settings: Proposer, filter, and who counts as similar.
        text_column, similar_column, split, limit, offset: Which data.
        protect: Further words that no candidate may touch or write.
        all_texts: Also take texts without a sensitive token, which no audit searches.
        similar_texts: Also take the similar texts, which an audit searches beside the original.
        keep_refused: Also write the candidates that the filter refused, marked as such.
        keep_texts: Also write the sentence that holds the token.
        cosine: Sentence encoder for the column ``cosine``; None leaves it empty.
    """

    data: str
    settings: Settings = field(default_factory=Settings)
    text_column: str | None = None
    similar_column: str | None = None
    split: str | None = None
    limit: int | None = None
    offset: int = 0
    protect: tuple[str, ...] = ()
    all_texts: bool = False
    similar_texts: bool = True
    keep_refused: bool = False
    keep_texts: bool = False
    cosine: str | None = None


@dataclass(frozen=True)
class _Window:
    """Examples that were worked on together.

    Attributes:
        end: Number of the example behind them.
        rows: What came.
        counts: After them.
        silence: Why nothing was answered; empty where something was, or nothing was to be asked.
    """

    end: int
    rows: list[Row]
    counts: CandidateCounts
    silence: str


class CandidateBuild:
    """Writes a candidate table.

    Args:
        examples: The texts.
        source: Who counts as similar.
        maker: Makes the rows.
        options: What to write.
        store: Keeps answers of models across runs; closed by :meth:`close`.
        models: The language models that the proposer asks; None where there are none.
        watch: Listens to them; None where there are none.
        window: Examples that are worked on together.

    Attributes:
        counts: What was done so far.
        stopped: Why the build stopped before the end; empty where it did not.
    """

    def __init__(
        self,
        examples: ExampleSet,
        source: PairSource,
        maker: RowMaker,
        options: CandidateOptions,
        *,
        store: SQLiteStore | None = None,
        models: LanguageModels | None = None,
        watch: AnswerWatch | None = None,
        window: int = WINDOW,
    ) -> None:
        self.examples = examples
        self.source = source
        self.maker = maker
        self.options = options
        self.store = store
        self.models = models
        self.watch = watch or AnswerWatch()
        self.window = window
        self.counts = CandidateCounts()
        self.stopped = ""
        # Digests, not texts: some 60 bytes a text whatever its length.
        self._seen: set[bytes] = set()

    @classmethod
    def prepare(cls, options: CandidateOptions, models: LanguageModels | None = None) -> CandidateBuild:
        """Load everything that the options name.

        Args:
            options: The options.
            models: The language models; None makes them from the settings.

        Raises:
            UsageError: Something cannot be loaded; the message says what and how to mend it.
        """
        settings = options.settings
        counterparts = None if settings.counterparts == "all" else int(settings.counterparts)
        source = PairSource(embedded_and(settings.lexicon), settings.sensitive, counterparts, settings.seed)
        examples = load_examples(
            options.data,
            text_column=options.text_column,
            similar_column=options.similar_column,
            split=options.split,
            limit=options.limit,
            offset=options.offset,
            labels="predicted",
        )
        scorer = load_scorer(settings.entailment)
        if isinstance(scorer, CosineScorer) and options.cosine is not None:
            raise UsageError("--cosine goes with another filter: here the filter is a cosine already")
        cosine = None if options.cosine is None else load_scorer(f"cosine:{options.cosine}")
        store = open_store(cache=settings.cache, folder=settings.cache_dir, size=settings.cache_size)
        models = models or LanguageModels(settings, store)
        watch = AnswerWatch()
        maker = RowMaker(
            source,
            _proposer(options, source, watch.over(models), store),
            None if scorer is None else _filter(scorer, settings, store),
            # Only its scores are read.
            cosine=None if cosine is None else EntailmentFilter(cosine, scope=settings.scope, veto=None),
            keep_refused=options.keep_refused,
            keep_texts=options.keep_texts,
        )
        return cls(examples, source, maker, options, store=store, models=models, watch=watch)

    def configuration(self) -> dict[str, Any]:
        """Everything that decides the rows, as plain values."""
        settings, options = self.options.settings, self.options
        entailment, cosine = self.maker.entailment, self.maker.cosine
        return {
            "version": __version__,
            "data": options.data,
            "data_sha256": self.examples.sha256,
            "proposer": settings.proposer,
            "proposer_version": version_of(self.maker.proposer),
            "max_candidates": settings.max_candidates,
            "protect": list(options.protect),
            "entailment": settings.entailment,
            "scorer": "" if entailment is None else _named(entailment.scorer),
            "min_equivalence": None if entailment is None else entailment.min_equivalence,
            "veto": settings.veto,
            "scope": settings.scope,
            "cosine": "" if cosine is None else _named(cosine.scorer),
            "sensitive": None if settings.sensitive is None else list(settings.sensitive),
            "lexicon": None if settings.lexicon is None else str(settings.lexicon),
            "lexicon_version": self.source.lexicon.version,
            "counterparts": settings.counterparts,
            "seed": settings.seed,
            "llm_temperature": settings.llm_temperature if proposing_models(settings.proposer) else None,
            "all_texts": options.all_texts,
            "similar_texts": options.similar_texts,
            "keep_refused": options.keep_refused,
            "keep_texts": options.keep_texts,
        }

    def write(
        self,
        path: Path,
        *,
        resume: bool = False,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> CandidateCounts:
        """Write the table and the file that tells how it was made.

        A proposer that no longer answers, or may not be asked any more, stops the build before the examples
        that it left open: ``stopped`` says why, and a later call with ``resume`` goes on there. Where it
        answers for some words and not for others, what came is written and the rest counted as unanswered.

        Args:
            path: The table.
            resume: Go on with what an earlier call has left.
            overwrite: Begin again, whatever is there.
            progress: Wraps the numbers of examples that each step has finished; gets their total.

        Raises:
            UsageError: The file exists, or is another table than the one to go on with.
        """
        with CandidateFile(path, self.configuration(), resume=resume, overwrite=overwrite) as file:
            if file.done > len(self.examples):
                raise DataError(
                    f"{file.state_file} tells of {file.done} finished examples, the data have "
                    f"{len(self.examples)}: begin again with --overwrite"
                )
            if file.counts:
                self.counts = CandidateCounts.from_dict(file.counts)
            if not file.is_finished:
                steps: Iterable[int] = self._steps(file)
                for _ in steps if progress is None else progress(steps, len(self.examples)):
                    pass
            if not self.stopped:
                file.finish()
        return self.counts

    def close(self) -> None:
        """Write what the cache still holds."""
        if self.store is not None:
            self.store.close()

    def _steps(self, file: CandidateFile) -> Iterator[int]:
        """Work window by window; yields how many examples each has finished."""
        examples = self.examples.examples
        if file.done:
            for example in examples[: file.done]:
                self._new_texts(example)
            yield file.done
        # Without any answer: they are written once another one shows that their texts were to blame.
        held: list[_Window] = []
        for start in range(file.done, len(examples), self.window):
            counts = deepcopy(held[-1].counts if held else self.counts)
            window = self._worked(start, counts)
            if self.watch.final:
                self.stopped = self.watch.final
                return
            if held and not self.maker.n_asked:
                held[-1] = replace(held[-1], end=window.end, counts=window.counts)
                continue
            held.append(window)
            if not window.silence:
                yield from self._write(file, held)
            elif len(held) >= PATIENCE * (file.n_stops + 1):
                break
        else:
            if self.counts.tokens:  # somebody has answered
                yield from self._write(file, held)
        if held:
            self.stopped = held[-1].silence
            file.note_stop()

    def _worked(self, start: int, counts: CandidateCounts) -> _Window:
        """Propose and filter for a window of examples from ``start`` on; ``counts`` are raised."""
        began = time.perf_counter()
        part = self.examples.examples[start : start + self.window]
        texts: list[str] = []
        for example in part:
            new = self._new_texts(example)
            counts.left_out += new is None
            texts += new or []
        n_replies, n_failures = self.watch.n_replies, self.watch.n_failures
        rows = self.maker.rows(texts, counts)
        counts.examples += len(part)
        counts.seconds = round(counts.seconds + time.perf_counter() - began, 3)
        failed, is_asked_in_vain = self._failed(), self.watch.n_failures > n_failures
        silence = ""
        if self.watch.n_replies == n_replies and (is_asked_in_vain or len(failed) == self.maker.n_asked):
            silence = next(iter(failed.values()), self.watch.last if is_asked_in_vain else "")
        return _Window(start + len(part), rows, counts, silence)

    def _write(self, file: CandidateFile, held: list[_Window]) -> Iterator[int]:
        """Write windows and forget them; yields how many examples each has finished."""
        while held:
            window = held.pop(0)
            n_examples = window.end - file.done
            self.counts = window.counts
            file.write(window.rows, done=window.end, counts=window.counts.to_dict())
            yield n_examples

    def _failed(self) -> dict[str, str]:
        """The texts of the last window with words that nobody answered for, and why.

        An answer that cannot be read is one all the same: another text may get a better one.
        """
        return {c.text: why for c, why in self.maker.unanswered.items() if why != UNREADABLE}

    def _new_texts(self, example: Example) -> list[str] | None:
        """The texts of an example that did not come before; None where there is nothing to search."""
        pairs = self.source.pairs_of(example.text, example.similar) if example.text.strip() else []
        if not pairs and not (self.options.all_texts and example.text.strip()):
            return None
        texts = [example.text]
        if self.options.similar_texts:
            texts += [pair.similar for pair in pairs]
        new = []
        for text, key in zip(texts, text_keys(texts), strict=True):
            if key not in self._seen:
                self._seen.add(key)
                new.append(text)
        return new


def _proposer(
    options: CandidateOptions,
    source: PairSource,
    models: Callable[[str], ChatModel],
    store: SQLiteStore | None,
) -> Proposer:
    protected = {word.casefold() for word in options.protect}
    return settings_proposer(
        options.settings,
        protected=lambda word: source.lexicon.is_sensitive(word) or word.casefold() in protected,
        store=store,
        chat_models=models,
    )


def _filter(scorer: EntailmentScorer, settings: Settings, store: SQLiteStore | None) -> EntailmentFilter:
    return EntailmentFilter(
        scorer,
        min_equivalence=settings.min_equivalence,
        scope=settings.scope,
        veto=None if settings.veto == "none" else settings.veto,
        store=store,
    )


def _named(scorer: EntailmentScorer) -> str:
    return f"{scorer.name} {scorer.version}"
