"""How sure is the median of a few repeats?"""

import numpy as np
from scipy.special import bdtr


def median_interval(values, confidence=0.95):
    """Interval of the median of each column, from one of its values to another, whatever the distribution."""
    n, ordered = len(values), np.sort(values, axis=0)
    c = int((2 * bdtr(np.arange(n), n, 0.5) <= 1 - confidence).sum())
    none = np.full(values.shape[1], np.nan)
    return (ordered[c - 1], ordered[n - c]) if c else (none, none)
