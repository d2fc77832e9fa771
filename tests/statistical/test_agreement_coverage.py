"""Intervals of Krippendorff's alpha cover the alpha of these raters over all units, however few are rated (slow)."""

import numpy as np
from scipy.special import ndtri

from transect.annotation.agreement.coefficients import krippendorff_alpha

MANY = 60_000
CUTS = {"half": [0.0], "tenth": [ndtri(0.9)], "five levels": [-1.0, -0.3, 0.3, 1.0]}


def answers(rng, subjects, raters, kind, rho, images=1, missing=0.0):
    """Answers of raters to images of subjects: a normal factor of each image, most of which its subject has too."""
    share = 0.0 if images == 1 else 0.7
    subject = np.repeat(rng.standard_normal((subjects, 1)), images, axis=0)
    image = np.sqrt(share) * subject + np.sqrt(1 - share) * rng.standard_normal(subject.shape)
    seen = np.sqrt(rho) * image + np.sqrt(1 - rho) * rng.standard_normal((len(image), raters))
    levels = np.searchsorted(CUTS[kind], seen).astype(float)
    return np.where(rng.random(levels.shape) < missing, np.nan, levels)


def check(size, make, raters, kind, rho, subjects, images=1, missing=0.0):
    """Intervals contain the truth, and none is a point; tables of equal answers have none."""
    metric = "nominal" if kind in ("half", "tenth") else "ordinal"
    rng = np.random.default_rng([raters, subjects, images, round(100 * rho)])
    truth = krippendorff_alpha(make(rng, MANY // images, raters, kind, rho, images, missing), metric).value
    person, hits, widths = np.arange(subjects * images) // images, [], []
    for _ in range(size.tables):
        alpha = krippendorff_alpha(make(rng, subjects, raters, kind, rho, images, missing), metric, subjects=person)
        if np.isfinite(alpha.value):
            hits.append(alpha.low <= truth <= alpha.high)
            widths.append(alpha.high - alpha.low)
    size.covers(np.mean(hits), len(hits))
    assert images > 1 or missing or min(widths) > 0


def test_few_units_few_raters_and_rare_answers(size, kind, raters, subjects):
    for rho in size.some((0.7, 0.3, 0.95)):
        check(size, answers, raters, kind, rho, subjects)


def test_images_of_one_subject_and_missing_answers(size, kind):
    for subjects in size.some((20, 5, 50)):
        check(size, answers, 3, kind, 0.5, subjects, images=4)
        check(size, answers, 4, kind, 0.5, subjects, missing=0.4)
