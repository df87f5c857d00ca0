"""Parts of ``benchmarks/edits.py``: how good are the edits that a filter lets pass?"""
