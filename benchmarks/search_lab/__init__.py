"""Parts of ``benchmarks/search.py``: pairs, victims, contenders, figures, the page."""
