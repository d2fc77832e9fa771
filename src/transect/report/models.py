"""What every entry of `results.json` is made of: the frozen base model and the kinds of numbers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1)]
Estimate = Number | None
JsonObject = dict[str, Any]


class Model(BaseModel):
    """Frozen, nothing unknown, no silent conversion of text into numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
