"""The greedy order by the full matrix of distances, as published: slow, and plain to see."""

import numpy as np
from scipy.spatial.distance import cdist


def allowed_matrix(treatment, *, exact=None, identity=None, second=None, threshold=np.inf, gap=0.0):
    """Which of all n x n pairs keep every constraint."""
    n = len(treatment)
    if gap:
        ok = treatment[:, None] - treatment[None, :] >= gap
    else:
        ok = (treatment[:, None] == 1) & (treatment[None, :] == 0)
    if exact is not None:
        ok &= exact[:, None] == exact[None, :]
    if identity is not None:
        ok &= identity[:, None] != identity[None, :]
    if second is not None:
        ok &= cdist(second, second) < threshold
    return ok & ~np.eye(n, dtype=bool)


def sequential(features, treatment, *, caliper=np.inf, identity=None, **constraints):
    """Pairs (a, b) in the order of distance, ties by a, then by b; all images of a used identity are struck out."""
    people = np.arange(len(treatment)) if identity is None else identity
    distance = cdist(features.astype(float), features.astype(float))
    ok = allowed_matrix(treatment, identity=identity, **constraints) & (distance <= caliper)
    rows, columns = np.nonzero(ok)
    order = np.lexsort((columns, rows, distance[rows, columns]))
    used, pairs = set(), []
    for a, b in zip(rows[order], columns[order], strict=True):
        if not {people[a], people[b]} & used:
            used |= {people[a], people[b]}
            pairs.append((int(a), int(b)))
    return pairs
