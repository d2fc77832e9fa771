"""What an audit would cost, as a result with a table and a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar, final

import pyarrow as pa

from transect.experiment.costs import Cost, line
from transect.reports.short_page import ShortPageResult
from transect.runs.wording import counted


@final
@dataclass(frozen=True, slots=True)
class CostResult(ShortPageResult[Cost]):
    """The result of `transect.audit_cost`."""

    JOB: ClassVar[str] = "audit-cost"
    TITLE: ClassVar[str] = "Cost of an audit"
    TABLE: ClassVar[str] = "Targets"

    @property
    def table(self) -> pa.Table:
        """One row per target, with the fields of its quote."""
        return pa.Table.from_pylist([asdict(quote) for quote in self.numbers.targets])

    def headline(self) -> str:
        """Images, calls and money in one line."""
        cost = self.numbers
        money = "in several currencies" if cost.cost is None else f"{cost.cost:.9g} {cost.currency}".rstrip()
        return f"{counted(cost.images, 'image')}; at most {counted(cost.calls, 'metered call')}; cost {money}"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """One row per target."""
        return ["target", "cost"], [[quote.target, line(quote)] for quote in self.numbers.targets]
