"""An audit's effects on the terminal."""

from __future__ import annotations

import json as json_format
from typing import Any

from transect.console.printing import table


def show(result: Any, as_json: bool, cost: Any = None) -> None:
    """The effects as a short table and where the report is, or the same as JSON."""
    if as_json:
        print(json_format.dumps({**result.summary(), **(cost or {})}, indent=2, allow_nan=False))
        return
    table(["effect", "target", "outcome", "estimate", "95 % interval", "p (adjusted)"], result.rows(), False)
    print(f"report: {result.report}")
