"""How a report counts: settings that an audit and a later report share, and that the run folder keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class ReportSettings:
    """How a report counts; an empty setting leaves the stored one, or the default.

    by: errors are counted by the combinations of these attributes. bins: cut points of observed attributes, as
    "age=30,50"; without, a range is cut at its terciles. boundary: the near-boundary band, with steps. covariates:
    what errors are adjusted for; without, all attributes, and all ratings but those of the picture (fakeness, quality).
    margin: a difference up to which two rates count as equal, 0.02 by default, or texts as "miss=0.01" by outcome.
    `by` and `bins` take what raters saw too, as "gender" or "perceived_gender".
    """

    by: Sequence[str] = ()
    bins: Sequence[str] = ()
    boundary: tuple[float, float] | None = None
    covariates: Sequence[str] = ()
    margin: float | str | Sequence[str] = ()
