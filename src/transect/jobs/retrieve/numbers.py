"""The numbers of a retrieval: what `transect retrieve --json` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from transect.effects.retrieval import RetrievalSkew


@final
@dataclass(frozen=True, slots=True)
class QuerySkew:
    """One query over the levels of one attribute of one study. p_adjusted: of `skew.p`, over all queries (Holm)."""

    query: str
    study: str
    attribute: str
    levels: tuple[str, ...]
    skew: RetrievalSkew
    p_adjusted: float


@final
@dataclass(frozen=True, slots=True)
class RetrieveNumbers:
    """Retrieval by queries over the images of a run.

    run: its folder's name. model: the network. images: that were ranked; pruned: of a run with rules, those left out.
    first: numbers of images K. notes: what was left out, and why.
    """

    run: str
    model: str
    images: int
    pruned: int
    first: tuple[int, ...]
    queries: tuple[QuerySkew, ...]
    notes: tuple[str, ...]
    sources: tuple[str, ...]
    seconds: float
