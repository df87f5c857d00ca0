"""ADF and EIDIG one row at a time: what the batched attacks are measured against.

Written from the publications' pseudo-code, with plain numpy and an ART estimator, and nothing of the
attacks of the package but the random numbers of a row, so that both walk the same way.
"""
