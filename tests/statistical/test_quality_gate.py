"""The gate of equal quality passes too unequal levels in at most 5 % (slow)."""

import numpy as np

from transect.effects.equal_quality import MARGIN, quality_differences

IMAGES = 12
WIDE = (-50.0, 50.0)


def test_levels_that_differ_by_the_margin_do_not_pass(size, people, paired):
    """At the margin itself both errors, to pass and to say that it is exceeded, are 5 % at most."""
    rng, verdicts, level = np.random.default_rng(0), [], np.repeat([0.0, 1.0], people * IMAGES)
    who = np.repeat(np.tile(np.arange(people), 2) if paired else np.arange(2 * people), IMAGES)
    for _ in range(size.tables):
        subject = rng.normal(0, 0.3, (2, people)) + (rng.normal(0, 0.3, people) if paired else 0)
        quality = 3 + subject[..., None] + rng.normal(0, 0.5, (2, people, IMAGES))
        quality[1] += MARGIN
        verdicts.append(quality_differences(quality.ravel(), {"a": level}, who, scale=WIDE)[0].verdict)
    size.rejects([verdicts.count(verdict) / size.tables for verdict in ("passed", "failed")])


def test_flaws_that_few_subjects_have_do_not_pass(size, people, share, points, paired):
    """All ratings are 5, but for a share of the subjects at one level: .5 points on average, and often unseen."""
    rng, tables, passed = np.random.default_rng(people), size.tables, 0
    level = np.repeat([0.0, 1.0], people)
    who = np.tile(np.arange(people), 2) if paired else np.arange(2 * people)
    for _ in range(tables):
        flawed = rng.random(people) < share
        quality = np.r_[5 - points * flawed, np.full(people, 5.0)]
        passed += quality_differences(quality, {"a": level}, who)[0].verdict == "passed"
    size.rejects(passed / tables)
