"""What the documents claim of each estimator: a method, a world, and whether theory predicts that it is valid there."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources
from typing import Final, final

from transect.jobs.verify import adjusting, audited, contenders, matched, modelling, rating, spoken
from transect.jobs.verify.contenders import Contender
from transect.jobs.verify.faces_world import FACES
from transect.jobs.verify.further_worlds import FURTHER
from transect.jobs.verify.planted import SIMPLE
from transect.jobs.verify.planted_audits import AUDITED
from transect.jobs.verify.spoken_worlds import SPOKEN

WORLDS: Final = SIMPLE + FURTHER + FACES + SPOKEN + AUDITED
"""All worlds, in the order in which the proving ground shows them."""

_MODULES: Final = {
    "adjusting": adjusting, "audited": audited, "contenders": contenders, "matched": matched, "modelling": modelling,
    "rating": rating, "spoken": spoken,
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """What theory expects of a method in a world. estimand: a key of the world's truths. why: in a few words.

    wide: valid with intervals that cover more than they claim, as where few subjects tell.
    """

    method: str
    world: str
    contender: Contender
    expected_valid: bool
    why: str
    estimand: str = "effect"
    wide: bool = False


def _claims() -> tuple[Claim, ...]:
    file = resources.files("transect.jobs.verify").joinpath("facts/claims.csv")
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return tuple(
        Claim(
            r["method"],
            r["world"],
            _contender(r["contender"]),
            r["valid"] in ("yes", "wide"),
            r["why"],
            r["estimand"],
            r["valid"] == "wide",
        )
        for r in rows
    )


def _contender(name: str) -> Contender:
    module, _, function = name.partition(".")
    contender: Contender = getattr(_MODULES[module], function)
    return contender


CLAIMS: Final = _claims()
"""When to use which estimator: row by row, as in the documents; facts/claims.csv lists them."""
