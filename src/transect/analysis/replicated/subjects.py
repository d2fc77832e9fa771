"""Which worlds have subjects in common, so that their estimates are not independent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final, final

from transect.analysis import finished_run
from transect.analysis.replicated.records import World
from transect.errors import TransectError
from transect.runs.spec import GeneratorDescription

_SEED: Final = (
    "{first} and {other} are of one generator and draw their subjects by the same seed: their estimates may move "
    "together, which makes the intervals of differences too wide, and they have no mean world; use another --seed"
)
_PHOTOGRAPHS: Final = (
    "{first} and {other} show the same photographs or people: their estimates may move together, which makes the "
    "intervals of differences too wide, and they have no mean world; use other photographs"
)
_PERHAPS: Final = (
    "{first} and {other} may show the same photographs, since one is of inverted photographs: their estimates may move "
    "together, which makes the intervals of differences too wide, and they have no mean world"
)


@final
@dataclass(frozen=True, slots=True)
class Photographed:
    """The photographs that a world's subjects are.

    pictures, table, codes: SHA-256 of the files, of the data set's table, and of the file of inverted photographs; ""
    where there is none. people: who is on those that were shown, by numbers of the table; None where that is not known.
    """

    pictures: str = ""
    table: str = ""
    codes: str = ""
    people: frozenset[int] | None = None

    def shares(self, other: Photographed) -> bool:
        """Whether some photograph or person is in both worlds, as far as that is known."""
        if self.codes and other.codes:
            return self.codes == other.codes
        if self.table and self.table == other.table:
            return self.people is None or other.people is None or bool(self.people & other.people)
        return bool(self.pictures) and self.pictures == other.pictures

    def may_share(self, other: Photographed) -> bool:
        """Whether one is of inverted photographs, and the other of photographs that may be those."""
        one, another = (self, other) if self.codes else (other, self)
        return bool(one.codes) and not another.codes and bool(another.pictures or another.table)


def photographed(generator: GeneratorDescription, place: Path) -> Photographed:
    """The photographs of a run in the folder `place`; none of those of a world that draws its subjects."""
    facts = generator.facts
    if generator.photographs:
        return Photographed(codes=str(generator.photographs.get("sha256", "")))
    source = facts.get("source")
    within = source.get("labels_sha256") if isinstance(source, Mapping) else None
    table = str(facts.get("table_sha256") or facts.get("labels_sha256") or within or "")
    if not table and not generator.edits_photographs:
        return Photographed()
    return Photographed(str(facts.get("pictures_sha256", "")), table, people=_people(place))


def _people(place: Path) -> frozenset[int] | None:
    """Who is on the photographs of a run; None where its tables are not there."""
    try:
        return frozenset(finished_run.read(place).people.tolist())
    except (TransectError, OSError):
        return None


def shared(worlds: Sequence[World], shown: Sequence[Photographed]) -> Iterator[tuple[int, int, str]]:
    """The positions of each two worlds with subjects in common, and that in words. shown: of each its photographs."""
    for (at, first), (to, other) in combinations(enumerate(worlds), 2):
        if shown[at].shares(shown[to]):
            yield at, to, _PHOTOGRAPHS.format(first=first.name, other=other.name)
        elif shown[at].may_share(shown[to]):
            yield at, to, _PERHAPS.format(first=first.name, other=other.name)
        elif _of_one_seed(first, other) and not shown[at].table:
            yield at, to, _SEED.format(first=first.name, other=other.name)


def _of_one_seed(first: World, other: World) -> bool:
    return first.seed is not None and (first.generator, first.seed) == (other.generator, other.seed)
