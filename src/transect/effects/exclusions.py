"""Which images are left out, and why? Counts by short category; nothing is dropped without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects.outcomes import category

NO_ANSWER: Final = "no valid answer"
"""The category of a NaN that came without a reason."""


@final
@dataclass(frozen=True, slots=True)
class Exclusions:
    """codes: int64, the shape of the outcomes; -1 where there is a value, else the index into `names`."""

    codes: Int[np.ndarray, " ..."]
    names: tuple[str, ...]

    @classmethod
    def of(cls, values: Float[np.ndarray, " ..."], reasons: np.ndarray) -> Exclusions:
        """From outcomes (NaN: none) and the reasons, texts of the same shape."""
        codes = np.full(values.shape, -1, dtype=np.int64)
        invalid = ~np.isfinite(values)
        texts = [category(str(text)) or NO_ANSWER for text in np.asarray(reasons, dtype=object)[invalid]]
        names = tuple(dict.fromkeys(texts))
        index = {name: code for code, name in enumerate(names)}
        codes[invalid] = [index[text] for text in texts]
        return cls(codes, names)

    def count(self, rows: Bool[np.ndarray, " ..."]) -> dict[str, int]:
        """Images left out among `rows`, by category."""
        codes = self.codes[rows]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.names))
        return {name: int(images) for name, images in zip(self.names, counts, strict=True) if images}
