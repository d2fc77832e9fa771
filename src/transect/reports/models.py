"""What every entry of `results.json` is made of: the frozen base model and the kinds of numbers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from transect.reports.records import Count, Estimate, Number

__all__ = ["Count", "Estimate", "JsonObject", "Model", "Number", "Probability"]

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
JsonObject = dict[str, Any]


class Model(BaseModel):
    """Frozen, nothing unknown, no silent conversion of text into numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
