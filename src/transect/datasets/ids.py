"""Names of images in two files, brought together: a.png, photos/a.jpg and a are one image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath


def as_named(wanted: Sequence[object], present: Sequence[object]) -> tuple[list[object], str]:
    """The wanted ids as the present ones are written, and a sentence where they are not the same texts.

    Where any id is in both, they stay as they are. Else names are compared without folder and suffix, unless two of
    either side would be one; an id that agrees with none stays.

    >>> as_named(["a", "x"], ["b.png", "a.png"])
    (['a.png', 'x'], 'ids were compared without folder and suffix: a is a.png')
    >>> as_named(["a.png", "x"], ["b.png", "a.png"])
    (['a.png', 'x'], '')
    """
    asked, stems = [_stem(name) for name in wanted], {_stem(name): name for name in present}
    one_each = len(stems) == len(present) and len(set(asked)) == len(asked)
    if not set(wanted).isdisjoint(present) or stems.keys().isdisjoint(asked) or not one_each:
        return list(wanted), ""
    names = [stems.get(stem, name) for name, stem in zip(wanted, asked, strict=True)]
    first = next(name for name, stem in zip(wanted, asked, strict=True) if stem in stems)
    return names, f"ids were compared without folder and suffix: {first} is {stems[_stem(first)]}"


def _stem(name: object) -> object:
    """A file's name without folder and suffix; what is no text, as it is."""
    return PurePosixPath(name).stem if isinstance(name, str) else name
