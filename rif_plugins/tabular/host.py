"""Import ART without the folder that it makes in the user's home.

When it is imported, ART writes ``~/.art/config.json``, which says where it keeps data sets that it downloads;
no attack here needs one. A user who has the folder keeps it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rif_plugins.cache import default_folder
from rif_plugins.errors import UsageError

_HOME_VARIABLES = ("HOME", "USERPROFILE")


def import_host() -> None:
    """Import ART; where the user has no folder of it, its configuration goes beside the cache of answers."""
    if "art.config" in sys.modules or Path("~/.art").expanduser().exists():
        return
    try:
        folder = default_folder()
        folder.mkdir(parents=True, exist_ok=True)
    except (UsageError, OSError):
        return  # ART finds a place of its own
    before = {name: os.environ.get(name) for name in _HOME_VARIABLES}
    os.environ.update(dict.fromkeys(_HOME_VARIABLES, str(folder)))
    try:
        import art.config  # noqa: F401
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
