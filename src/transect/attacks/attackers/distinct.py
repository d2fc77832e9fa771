"""Which rows of evidence are equal? Attackers that need each distinct row once ask here."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from transect.attacks.records import Evidence


def distinct_rows(
    evidence: Evidence, rows: Int[np.ndarray, " a"]
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " a"]]:
    """One row for each distinct one among `rows`, and which of them each is. Rows of scores all count as distinct.

    >>> evidence = Evidence(("a", "b"), category=np.array([1, 0, 1]))
    >>> distinct_rows(evidence, np.arange(3))
    (array([1, 0]), array([1, 0, 1]))
    """
    if evidence.format == "scores":
        return rows, np.arange(len(rows))
    if evidence.category is not None:
        values = evidence.category[rows]
    else:
        packed = np.packbits(evidence.matrix[rows], axis=1)
        values = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, merged = np.unique(values, return_index=True, return_inverse=True)
    return rows[first], merged.ravel()
