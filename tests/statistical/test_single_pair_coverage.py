"""One pair of yes or no of each subject: does McNemar's mid-p interval hold the difference?"""

import numpy as np

from transect.effects.resampling import mcnemar_interval


def test_differences_of_single_pairs_are_covered(size, subjects, up, down):
    """up, down: chances that a subject changes either way."""
    rng = np.random.default_rng([subjects, int(1000 * up)])
    tables = rng.multinomial(subjects, [up, down, 1 - up - down], size=size.tables).tolist()
    ends = np.array([mcnemar_interval(b, c, subjects) for b, c, _ in tables])
    print(f"mean width {np.mean(ends[:, 1] - ends[:, 0]):.3f}")
    size.covers(np.mean((ends[:, 0] <= up - down) & (up - down <= ends[:, 1])))
