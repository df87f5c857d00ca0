"""Parquet files, and data sets of the hub or of local folders through ``datasets``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rif_plugins.errors import DataError
from rif_plugins.examples.cells import check_names, listed, shown
from rif_plugins.examples.text_files import Row
from rif_plugins.optional import require

_BATCH_ROWS = 512
_MAX_CHUNK_BYTES = 4 << 30  # of one column in one row group, unpacked
_SAVED_DATASET = ("state.json", "dataset_info.json")
_SAVED_SPLITS = "dataset_dict.json"


class ParquetTable:
    """A Parquet file, read in batches of rows and only in the columns that are asked for.

    Raises:
        DataError: It is no Parquet file, or two columns have one name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        with self._opened() as file:
            self.columns: tuple[str, ...] = tuple(file.schema_arrow.names)
        check_names(self.columns, self.name)

    def class_names(self, column: str) -> tuple[str, ...] | None:
        """Parquet files give their labels no second names."""
        del column
        return None

    def rows(self, names: Sequence[str], offset: int = 0) -> Iterator[Row]:
        """File and row for messages, and the values of the columns ``names``.

        Raises:
            DataError: The file is damaged.
        """
        wanted = list(dict.fromkeys(names))
        number = 0
        with self._opened() as file:
            packed = self._checked(file, wanted)
        # A column of one value in a million rows is a few bytes long; as a dictionary it stays small.
        with self._opened(dictionaries=packed) as file:
            batches = file.iter_batches(batch_size=_BATCH_ROWS, columns=wanted)
            while (batch := self._next(batches, number)) is not None:
                skipped = min(batch.num_rows, max(0, offset - number))
                number += skipped
                for record in self._records(batch.slice(skipped), names, number):
                    number += 1
                    yield f"{self.name} row {number}", record

    def _opened(self, dictionaries: Sequence[str] = ()) -> Any:
        parquet = require("pyarrow.parquet", purpose="Parquet files")
        try:
            return parquet.ParquetFile(self.path, read_dictionary=list(dictionaries))
        except Exception as error:
            raise DataError(
                f"cannot read {shown(self.name)} as Parquet ({_reason(error)}): write the file again"
            ) from error

    def _checked(self, file: Any, names: Sequence[str]) -> list[str]:
        """Refuse what would fill the memory before it is unpacked; the columns that hold texts or bytes."""
        types = require("pyarrow.types", purpose="Parquet files")
        packed = []
        for name in names:
            kind = file.schema_arrow.field(name).type
            if types.is_nested(kind):
                raise DataError(
                    f"{self.name}: column {shown(name)} holds {shown(str(kind))}, expected texts or labels"
                )
            if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind):
                packed.append(name)
        metadata = file.metadata
        for group in range(metadata.num_row_groups):
            for place in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(place)
                if chunk.path_in_schema in names and chunk.total_uncompressed_size > _MAX_CHUNK_BYTES:
                    size = chunk.total_uncompressed_size >> 20
                    raise DataError(
                        f"{self.name}: column {shown(chunk.path_in_schema)} has a part of {size} MB, "
                        f"expected {_MAX_CHUNK_BYTES >> 20} at most: write the file with smaller row groups"
                    )
        return packed

    def _next(self, batches: Iterator[Any], number: int) -> Any:
        try:
            return next(batches, None)
        except Exception as error:
            raise self._damaged(number, error) from error

    def _records(self, batch: Any, names: Sequence[str], number: int) -> Iterator[list[Any]]:
        columns = [batch.column(name) for name in names]
        for row in range(batch.num_rows):
            try:
                record = [column[row].as_py() for column in columns]
            except Exception as error:  # bytes that are no UTF-8 show themselves only here
                raise self._damaged(number + row, error) from error
            yield record

    def _damaged(self, number: int, error: Exception) -> DataError:
        return DataError(f"{self.name} row {number + 1}: damaged ({_reason(error)}): write the file again")


class DatasetTable:
    """A data set of the package ``datasets``, in memory or streamed."""

    def __init__(self, dataset: Any, name: str) -> None:
        self.name = name
        self._dataset = dataset
        self.columns: tuple[str, ...] = tuple(dataset.column_names or next(iter(dataset), {}))

    def class_names(self, column: str) -> tuple[str, ...] | None:
        """The names that the data set gives to its labels."""
        feature = (self._dataset.features or {}).get(column)
        names = getattr(feature, "names", None)
        return tuple(map(str, names)) if isinstance(names, list) else None

    def rows(self, names: Sequence[str], offset: int = 0) -> Iterator[Row]:
        """Data set and row for messages, and the values of the columns ``names``.

        Raises:
            DataError: A row cannot be read.
        """
        number = offset
        try:
            chosen = self._dataset.select_columns(list(dict.fromkeys(names)))
            if hasattr(chosen, "__len__") and offset >= len(chosen):
                return
            for record in chosen.skip(offset) if offset else chosen:
                number += 1
                yield f"{self.name} row {number}", [record.get(name) for name in names]
        except DataError:
            raise
        except Exception as error:
            raise DataError(
                f"{self.name} row {number + 1}: cannot be read ({_reason(error)}): check the data set"
            ) from error


def load_dataset_table(spec: str, *, split: str | None, limit: int | None) -> DatasetTable:
    """A data set by its hub name or folder.

    With ``limit`` a hub's data set is streamed, so that a large one is not downloaded for its first rows;
    in the hub's offline mode it is taken from the cache instead.

    Args:
        spec: ``NAME`` or ``NAME:CONFIGURATION`` on the hub; a folder that ``save_to_disk`` wrote, or that
            holds data files.
        split: Which split; may be left out where there is only one.
        limit: How many rows will be read.

    Raises:
        DataError: It cannot be loaded, or ``split`` is needed or unknown.
    """
    datasets = require("datasets", purpose="data sets of the hub")
    folder = Path(spec).expanduser()
    is_local = folder.is_dir()
    name = folder.name if is_local else spec
    try:
        if is_local and any((folder / file).is_file() for file in (*_SAVED_DATASET, _SAVED_SPLITS)):
            loaded = datasets.load_from_disk(str(folder))
        else:
            source, _, configuration = (str(folder), "", "") if is_local else spec.partition(":")
            is_offline = bool(getattr(datasets.config, "HF_HUB_OFFLINE", False))
            is_streamed = limit is not None and not is_local and not is_offline
            loaded = datasets.load_dataset(source, configuration or None, streaming=is_streamed)
    except Exception as error:
        raise DataError(
            f"cannot load the data set {shown(name)} ({_reason(error)}): expected a CSV, TSV, JSONL or "
            "Parquet file, or the name (NAME or NAME:CONFIGURATION) or folder of a data set"
        ) from error
    dataset = _split_of(loaded, split, name)
    return DatasetTable(dataset, f"{name} {split}" if split else name)


def _split_of(loaded: Any, split: str | None, name: str) -> Any:
    if not isinstance(loaded, dict):
        own = str(getattr(loaded, "split", None) or "")
        if split is not None and split != own:
            raise DataError(
                f"{name} is one split ({own or 'without a name'}), got --split {split}: leave it out"
            )
        return loaded
    splits = list(loaded)
    if split is None and len(splits) == 1:
        return loaded[splits[0]]
    if split not in loaded:
        asked = "needs --split" if split is None else f"has no split {shown(split)}"
        raise DataError(f"{name} {asked}: expected one of {listed(splits)}")
    return loaded[split]


def _reason(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:160]
