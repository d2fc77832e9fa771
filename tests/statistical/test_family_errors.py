"""How often does a page claim a difference or an interaction where there is none, in any of its studies?"""

import numpy as np

from transect.effects.analysis import adjust, mirrors_of, with_mirrors
from transect.effects.contrasts import contrasts, interactions
from transect.effects.resampling import sign_flip
from transect.records import Attribute, Design, Effect

NAMES, SUBJECTS = ("glasses", "hat", "smile"), 30
KNOWN = {name: Attribute(name, "binary", name, levels=("no", "yes")) for name in NAMES}
DESIGN = Design(dict.fromkeys(NAMES, (0.0, 1.0)), subjects=SUBJECTS)


def families_of(rng, worlds):
    """Every effect and interaction of some worlds with its p, of scores that no attribute moves, and of 1 - score."""
    made, families = [], []
    for world in range(worlds):
        y = rng.normal(size=(SUBJECTS, 2, 2, 2)) + rng.normal(size=(SUBJECTS, 1, 1, 1))
        mirrors = mirrors_of({"score": y.reshape(SUBJECTS, -1), "error": 1 - y.reshape(SUBJECTS, -1)})
        for outcome, values in (("score", y), ("error", 1 - y)):
            given = values, np.full(y.shape, "", object), DESIGN, KNOWN
            rows = [*contrasts(*given), *interactions(*given, orders=(2, 3))]
            p = sign_flip(np.stack([row.differences for row in rows], axis=1), resamples=999, seed=world)[0]
            effects = [
                Effect(
                    0.1,
                    0,
                    0.2,
                    name=row.name,
                    attribute="",
                    target=f"t{world}",
                    outcome=outcome,
                    p=value,
                    unit="score",
                    n_subjects=SUBJECTS,
                    n_images=8 * SUBJECTS,
                )
                for row, value in zip(rows, p, strict=True)
            ]
            made += with_mirrors(effects, {(f"t{world}", name): other for name, other in mirrors.items()})
            families += [(world, hasattr(row, "attributes")) for row in rows]
    return made, families


def test_a_page_of_several_worlds_with_interactions_claims_what_is_not_in_at_most_five_per_cent(size, worlds):
    rng = np.random.default_rng(worlds)
    together, apart = [], []
    for _ in range(size.tables):
        effects, families = families_of(rng, worlds)
        together.append(any(effect.p_adjusted <= 0.05 for effect in adjust(effects)))
        each = [[e for e, f in zip(effects, families, strict=True) if f == one] for one in dict.fromkeys(families)]
        apart.append(any(effect.p_adjusted <= 0.05 for family in each for effect in adjust(family)))
    print(f"one family {np.mean(together):.3f}; each world's effects and interactions apart {np.mean(apart):.3f}")
    size.rejects(np.mean(together))
