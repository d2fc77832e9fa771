"""The images of an inversion, and with the photographs that were inverted the pairs of Singh et al. 2021 (appendix A).

Raters say of each pair whether both images show the same person: two photographs of a person ("real"), a photograph and
the reconstruction of another one ("fake"), or a photograph and a small crop of it ("dup": is the rater attentive?).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final, final

from transect.annotation.sources import DIGITS, KnownPair, Photographs, Shown, digest_of
from transect.datasets import LabelledImages
from transect.datasets.ids import as_named
from transect.errors import BadInput
from transect.inversion.rows import TABLE, parts_of
from transect.runs.folder import FinishedRun
from transect.runs.picture_files import pixels_of_png
from transect.runs.png import png

REAL, FAKE, DUPLICATE = "real", "fake", "dup"
_PHOTOGRAPH, _CROP = "@photograph", "@crop"
_CUT: Final = 20
"""A crop leaves out one part in so many at each side."""


@final
class Reconstructions:
    """The reconstructions of an inversion or encoding, under the ids that it has; failed ones are left out.

    photographs: what was inverted. Their ids are compared as `datasets.ids` does; a photograph is then the image
    "ID@photograph", and a small crop of it "ID@crop", which is shown only in pairs. Who is on each is the data set's
    subject; without one every photograph is another person, and a fake pair is a photograph and its own reconstruction.
    Raises BadInput for an inversion that is not finished, or none of whose photographs are there.
    """

    def __init__(self, run: FinishedRun, photographs: LabelledImages | None = None) -> None:
        self.run, self.identity, self.levels = run, run.spec_hash, ()
        count, self._parts = run.record["images"]["count"], parts_of(run)
        if not run.has_all(TABLE, self._parts):
            run.read_table(TABLE, self._parts)  # says what is missing
        listed = [each for part in range(self._parts) for each in self._index(part)]
        if not listed:
            raise BadInput(f"{run.path}: expected reconstructions, got {count} that failed; invert them again")
        self._photographs = None if photographs is None else Photographs(photographs)
        self.pairs: tuple[KnownPair, ...] = ()
        self.shown = tuple(listed)
        if self._photographs is not None:
            self._join(listed, self._photographs)

    def read(self, block: int) -> list[bytes]:
        """The PNGs of a part of the inversion; beyond those a photograph and its crop."""
        if block < self._parts:
            return [bytes(content) for content in self.run.read_part(TABLE, block)["image"].to_pylist()]
        if self._photographs is None:
            raise KeyError(block)
        (whole,) = self._photographs.read(block - self._parts)
        pixels = pixels_of_png(whole)
        height, width = (max(side // _CUT, 1) for side in pixels.shape[:2])
        return [whole, png(pixels[height:-height, width:-width])]

    def values(self, attribute: str) -> dict[str, float] | None:  # noqa: ARG002  (as `Source` has it)
        """None: what a reconstruction shows is known to nobody but people."""
        return None

    def _index(self, part: int) -> list[Shown]:
        table = self.run.read_part(TABLE, part)
        rows = zip(*(table[name].to_pylist() for name in ("id", "failure", "image")), strict=True)
        return [
            Shown(str(name), 0, 0, 0, hashlib.sha256(content).hexdigest()[:DIGITS], part, row)
            for row, (name, failure, content) in enumerate(rows)
            if not failure
        ]

    def _join(self, listed: list[Shown], photographs: Photographs) -> None:
        """Give every reconstruction its person, and list photographs, crops and pairs."""
        named, _ = as_named([each.id for each in listed], [each.id for each in photographs.shown])
        originals = {each.id: each for each in photographs.shown}
        if missing := [each.id for each, name in zip(listed, named, strict=True) if name not in originals]:
            raise BadInput(
                f"--photographs: expected the {len(listed)} photographs that were inverted, got none named {missing[0]}"
                f"{f' or {len(missing) - 1} others' if missing[1:] else ''}; name their folder or data set"
            )
        of = [originals[str(name)] for name in named]
        fakes = [each._replace(subject=o.person, person=o.person) for each, o in zip(listed, of, strict=True)]
        real = [self._photograph(each, o) for each, o in zip(fakes, of, strict=True)]
        crops = [
            each._replace(id=fake.id + _CROP, digest=digest_of(each.digest.encode(), b"crop"), row=1, alone=False)
            for each, fake in zip(real, fakes, strict=True)
        ]
        self.identity += photographs.identity
        self.shown = (*fakes, *real, *crops)
        self.pairs = tuple(_pairs(fakes))

    def _photograph(self, reconstruction: Shown, original: Shown) -> Shown:
        block = self._parts + original.block
        return reconstruction._replace(id=reconstruction.id + _PHOTOGRAPH, digest=original.digest, block=block, row=0)


def _pairs(reconstructions: list[Shown]) -> Iterator[KnownPair]:
    """Of each person one pair of each kind, from the first two photographs; no real pair of someone with one."""
    people: dict[int, list[str]] = {}
    for each in reconstructions:
        people.setdefault(each.person, []).append(each.id)
    for ids in people.values():
        first, second = ids[0], ids[1] if len(ids) > 1 else ids[0]
        if second != first:
            yield KnownPair(first + _PHOTOGRAPH, second + _PHOTOGRAPH, REAL)
        yield KnownPair(first + _PHOTOGRAPH, second, FAKE)
        yield KnownPair(first + _PHOTOGRAPH, first + _CROP, DUPLICATE)
