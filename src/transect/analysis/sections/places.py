"""Where each section of a report stands: the function that makes it declares its place, and `build` finds it.

A new section is a module in this folder with such a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeVar, final

from transect.reports.records import PageName, Section
from transect.runs.report_options import Bins

if TYPE_CHECKING:
    from transect.analysis.findings import Findings
    from transect.analysis.finished_run import Run

Scope = Literal["walks", "answers", "beside", "study", "first", "all", "spec", "folder", "run"]
"""What a function is given, each scope for each of what there is of it.

walks: the answers of one target at steps λ of all attributes. answers: those of one target in one other study; beside:
an experiment and an observation. study: of all targets in a study; first: of the first target in one study; all: in all
studies. spec: of a study; folder: of the report. run: a `RunFindings`.
"""
Make = TypeVar("Make", bound=Callable[..., Iterable[Section] | Section | None])


@final
@dataclass(frozen=True, slots=True)
class RunFindings:
    """A finished run with what was found in it. bins: cut points that the user states."""

    run: Run
    findings: Findings
    bins: Bins | None = None


@final
@dataclass(frozen=True, slots=True)
class Placed:
    """A function that makes sections. at: its place among all; when: whether what it is given has such a section.

    page: where all its sections stand; of those of findings, each may still say that it is of all numbers.
    """

    at: int
    scope: Scope
    make: Callable[..., Iterable[Section] | Section | None]
    when: Callable[..., object]
    page: PageName = "findings"

    def sections(self, *given: object) -> list[Section]:
        """The sections about what is given."""
        made = self.make(*given) if self.when(*given) else None
        found = [] if made is None else [made] if isinstance(made, Section) else list(made)
        return found if self.page == "findings" else [replace(section, page=self.page) for section in found]


PLACED: Final[dict[int, Placed]] = {}
"""Every declared place, by its number."""


def placed(
    at: int, scope: Scope, when: Callable[..., object] = lambda *_: True, page: PageName = "findings"
) -> Callable[[Make], Make]:
    """Declare where the sections that a function makes stand: their place, and the page of findings or of all numbers.

    Raises ValueError where another one stands there.
    """

    def declare(make: Make) -> Make:
        if at in PLACED:
            taken = PLACED[at].make.__module__
            raise ValueError(f"{make.__module__}: expected a separate place, got {at}, which {taken} has")
        PLACED[at] = Placed(at, scope, make, when, page)
        return make

    return declare
