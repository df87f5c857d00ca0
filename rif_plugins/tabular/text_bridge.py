"""RIFair on texts as an ART attack: an object array of strings and a black-box estimator.

The same search as the TextAttack recipes ``rifair-robust-biased`` and so on: same victim, same settings, same
findings. TextAttack is not imported.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from art.attacks import EvasionAttack
from numpy.typing import NDArray

from rif_plugins.cache import SQLiteStore, open_store
from rif_plugins.core.objective import Objective
from rif_plugins.core.pair_search import SearchSettings
from rif_plugins.core.result_files import RecordWriter
from rif_plugins.core.results import Record
from rif_plugins.core.victim import VictimEngine
from rif_plugins.entailment import EntailmentFilter, EntailmentScorer, load_scorer
from rif_plugins.errors import DataError, UsageError
from rif_plugins.proposers import Proposer, settings_proposer
from rif_plugins.proposers.from_settings import asks_models
from rif_plugins.settings import Settings
from rif_plugins.similar import Lexicon, PairSource
from rif_plugins.similar.pair_source import embedded_and
from rif_plugins.tabular.pair_batch import PairBatch
from rif_plugins.tabular.text_search import TextParts, search_example

IntArray = NDArray[np.int64]

_SETTINGS = (
    "sensitive",
    "lexicon",
    "counterparts",
    "proposer",
    "entailment",
    "min_equivalence",
    "veto",
    "scope",
    "positions",
    "max_positions",
    "max_edits",
    "max_candidates",
    "saliency",
    "mask_token",
    "n_wrong_labels",
    "victim_output",
    "seed",
    "batch_size",
    "filter_order",
    "results",
    "cache",
    "cache_dir",
    "cache_size",
    "max_llm_calls",
    "llm_temperature",
    "llm_prompt_price",
    "llm_completion_price",
)


class RIFairTextAttack(EvasionAttack):
    """Finds pairs of similar texts that a black-box text classifier treats differently, or both wrongly.

    Args:
        estimator: A ``BlackBoxClassifier`` over strings, any object with ``predict``, or a callable; it
            takes an object array ``(n,)`` of strings and returns probabilities or logits ``(n, k)``.
        target: ``"robust_biased"``, ``"unrobust_fair"`` or ``"unrobust_biased"``.
        query_budget: Most victim rows of one text; None is unlimited.
        **settings: Settings that override ``rif.toml`` and ``RIF_*``, by the names of ``Settings``.
            ``proposer`` may be a proposer, ``entailment`` a scorer, and ``lexicon`` a lexicon. A limit of
            calls to language models holds for all searches of the attack, until a parameter is set.

    Raises:
        UsageError: A keyword is no setting, or something that the settings name cannot be used.
    """

    attack_params: ClassVar[list[str]] = [
        *EvasionAttack.attack_params,
        "target",
        "query_budget",
        *_SETTINGS,
    ]
    # Any object that predicts texts will do; ART's own classes of estimators say nothing about strings.
    _estimator_requirements: tuple[Any, ...] = ()

    def __init__(
        self,
        estimator: Any,
        target: str = "robust_biased",
        *,
        query_budget: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(estimator=estimator)
        if not callable(_prediction_of(estimator)):
            raise UsageError(
                f"the estimator is {type(estimator).__name__}, expected an ART estimator over strings, an "
                "object with predict, or a callable"
            )
        self.target = target
        self.query_budget = query_budget
        loaded = Settings.load()
        unknown = sorted(set(settings) - set(_SETTINGS))
        if unknown:
            raise UsageError(f"unknown setting `{unknown[0]}`; allowed are {', '.join(_SETTINGS)}")
        for name in _SETTINGS:
            setattr(self, name, settings[name] if name in settings else getattr(loaded, name))
        self._check_params()

    def generate(self, x: NDArray[Any], y: NDArray[Any] | None = None, **kwargs: Any) -> NDArray[Any]:
        """The perturbed original text of each row.

        Args:
            x: Texts ``(n,)``, or ready pairs ``(n, 2)``.
            y: Right labels ``(n,)`` or one-hot ``(n, k)``; None: the victim's own predictions.
            **kwargs: None are known.

        Returns:
            Object array ``(n,)``. A row without a finding keeps its text. For ``robust_biased`` the finding
            is the pair: the perturbed original may be the original itself, see ``generate_pairs``.
        """
        records = self.search(x, y, **kwargs)
        texts = [record.perturbed_original if record.is_found else record.original for record in records]
        return _objects(texts)

    def generate_pairs(self, x: NDArray[Any], y: NDArray[Any] | None = None, **kwargs: Any) -> PairBatch:
        """The searched pair of every row that has one: the found one, else the most promising.

        Args:
            x: Texts ``(n,)``, or ready pairs ``(n, 2)``.
            y: Right labels ``(n,)`` or one-hot ``(n, k)``; None: the victim's own predictions.
            **kwargs: None are known.

        Returns:
            Pairs as object arrays of strings. Rows without a sensitive token, and rows on which the victim
            failed, are left out; ``search`` names the reasons.
        """
        records = self.search(x, y, **kwargs)
        kept = [(row, record) for row, record in enumerate(records) if record.is_evaluated]
        found = [record for _, record in kept]

        def predictions(name: str) -> IntArray:
            return np.array([int(np.argmax(r.probabilities[name])) for r in found], dtype=np.int64)

        return PairBatch(
            original=_objects([record.original for record in found]),
            similar=_objects([record.similar for record in found]),
            perturbed_original=_objects([record.perturbed_original for record in found]),
            perturbed_similar=_objects([record.perturbed_similar for record in found]),
            label=np.array([record.label for record in found], dtype=np.int64),
            outcome=np.array([record.outcome for record in found], dtype=np.str_),
            prediction=predictions("perturbed_original"),
            similar_prediction=predictions("perturbed_similar"),
            source=np.array([row for row, _ in kept], dtype=np.int64),
            direction=np.array([str(self.target)] * len(found), dtype=np.str_),
            phase=np.array(["global" if r.edits else "seed" for r in found], dtype=np.str_),
            step=np.array([max(0, len(r.trajectory) - 1) for r in found], dtype=np.int64),
            n_generated=len(found),
            cost={
                "victim_rows": sum(record.queries.get("victim_rows", 0) for record in records),
                "gradient_rows": 0,
                "is_black_box": True,
            },
        )

    def search(self, x: NDArray[Any], y: NDArray[Any] | None = None, **kwargs: Any) -> list[Record]:
        """One record a row, as the TextAttack recipes write them; appended to ``results`` where it is set.

        Args:
            x: Texts ``(n,)``, or ready pairs ``(n, 2)``.
            y: Right labels ``(n,)`` or one-hot ``(n, k)``; None: the victim's own predictions.
            **kwargs: None are known.

        Raises:
            DataError: ``x`` holds no strings, or ``y`` no labels of the victim.
        """
        if kwargs:
            raise UsageError(f"there is no argument {sorted(kwargs)[0]!r}: expected x and y")
        rows = _texts(x)
        parts = self._parts()
        labels = _labels(y, [text for text, _ in rows], parts.engine)
        records = []
        results = self._settings.results
        writer = None if results is None else RecordWriter(results)
        try:
            for (text, similar), label in zip(rows, labels, strict=True):
                records.append(search_example(parts, text, label, similar))
                if writer is not None:
                    writer.write(records[-1])
        finally:
            if writer is not None:
                writer.close()
            if self._store is not None:
                self._store.close()
        return records

    def __getstate__(self) -> dict[str, Any]:
        """Settings only: proposer and store are made again in the other process."""
        return {**self.__dict__, "_proposer": self._objects.get("proposer"), "_store": None}

    def _check_params(self) -> None:
        super()._check_params()
        given = {name: getattr(self, name) for name in _SETTINGS}
        self._objects = {
            name: given.pop(name)
            for name, kind in (("lexicon", Lexicon), ("proposer", Proposer), ("entailment", EntailmentScorer))
            if not isinstance(given[name], str) and isinstance(given[name], kind)
        }
        self._settings = Settings.load().updated(**given)
        self._proposer: Proposer | None = self._objects.get("proposer")
        self._store: SQLiteStore | None = None
        Objective.for_target(self.target)
        if self._settings.saliency == "gradient":
            raise UsageError(
                "saliency gradient needs a white-box victim, and this attack is black-box: "
                "choose delete, mask or random"
            )
        budget = self.query_budget
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 0):
            raise UsageError(f"query_budget must be a whole number of 0 or more, or None, got {budget!r}")

    def _parts(self) -> TextParts:
        settings = self._settings
        lexicon = self._objects.get("lexicon") or embedded_and(settings.lexicon, settings.sensitive)
        counterparts = None if settings.counterparts == "all" else int(settings.counterparts)
        if self._proposer is None:
            self._proposer = self._made_proposer(lexicon)
        scorer = self._objects.get("entailment") or load_scorer(settings.entailment)
        return TextParts(
            engine=VictimEngine(self._predict, output=settings.victim_output, batch_size=settings.batch_size),
            source=PairSource(lexicon, settings.sensitive, counterparts, settings.seed),
            proposer=self._proposer,
            filter=None if scorer is None else self._filter(scorer),
            settings=SearchSettings(
                positions=settings.positions,
                max_positions=settings.max_positions,
                max_edits=settings.max_edits,
                saliency=settings.saliency,
                mask_token=settings.mask_token,
                filter_first=settings.filter_order == "filter-first",
                n_wrong_labels=settings.n_wrong_labels,
            ),
            objective=Objective.for_target(self.target),
            is_filter_free=settings.filter_order == "auto",
            query_budget=self.query_budget,
            seed=settings.seed,
        )

    def _made_proposer(self, lexicon: Lexicon) -> Proposer:
        settings = self._settings
        if asks_models(settings.proposer):
            self._store = open_store(
                cache=settings.cache, folder=settings.cache_dir, size=settings.cache_size
            )
        return settings_proposer(settings, protected=lexicon.is_sensitive, store=self._store)

    def _filter(self, scorer: EntailmentScorer) -> EntailmentFilter:
        settings = self._settings
        return EntailmentFilter(
            scorer,
            min_equivalence=settings.min_equivalence,
            scope=settings.scope,
            veto=None if settings.veto == "none" else settings.veto,
        )

    def _predict(self, texts: list[str]) -> Any:
        return _prediction_of(self.estimator)(_objects(texts))


def _prediction_of(estimator: Any) -> Any:
    """What to call with texts.

    ART's black-box classifiers subtract a mean from their input even where none was asked for, which strings
    do not survive: their function is called itself, unless defences have to be run around it.
    """
    is_plain = not getattr(estimator, "preprocessing_defences", None) and not getattr(
        estimator, "postprocessing_defences", None
    )
    if is_plain and callable(getattr(estimator, "predict_fn", None)):
        return estimator.predict_fn
    return getattr(estimator, "predict", estimator)


def _objects(texts: list[str]) -> NDArray[Any]:
    """Strings as an object array: numpy would cut and pad them otherwise."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


def _texts(x: Any) -> list[tuple[str, str | None]]:
    """Originals, with their similar texts where ready pairs were given."""
    rows = np.asarray(x, dtype=object)
    if rows.ndim == 2 and rows.shape[1] == 1:
        rows = rows[:, 0]
    is_pairs = rows.ndim == 2 and rows.shape[1] == 2
    if rows.ndim != 1 and not is_pairs:
        raise DataError(f"x has shape {rows.shape}, expected (n,) texts or (n, 2) ready pairs")
    for place, value in np.ndenumerate(rows):
        if not isinstance(value, str):
            raise DataError(
                f"x holds {type(value).__name__} in row {place[0]}, expected strings: "
                "give an array of texts, and rows of numbers to the other attacks"
            )
    if is_pairs:
        return [(str(original), str(similar)) for original, similar in rows]
    return [(str(text), None) for text in rows]


def _labels(y: Any, texts: list[str], engine: VictimEngine) -> list[int]:
    if y is None:
        return [int(label) for label in engine.probabilities(texts).argmax(axis=1)] if texts else []
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] > 1:
        values = values.argmax(axis=1)
    elif values.ndim == 2:
        values = values[:, 0]
    if values.shape != (len(texts),):
        raise DataError(
            f"y has shape {np.shape(y)}, expected ({len(texts)},) labels or one-hot rows, one for each text"
        )
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all() or (numbers != np.rint(numbers)).any() or (numbers < 0).any():
        raise DataError("y holds something that is no class number: expected whole numbers from 0 on")
    return [int(number) for number in numbers]
