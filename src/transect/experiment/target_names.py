"""The user's own names of targets: checked, and given to the targets that were opened for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from transect.errors import BadInput
from transect.protocols import Target
from transect.runs.folder import slug

LONGEST: Final = 60
"""Characters of a name: it stands in tables, headings and the names of folders."""


def check_names(names: Sequence[str], targets: int) -> tuple[str, ...]:
    """The names, one per target in their order, without spaces at the ends; () where none was given."""
    cleaned = tuple(name.strip() for name in names)
    if cleaned and len(cleaned) != targets:
        raise BadInput(
            f"--name: expected one name per target ({targets}), in their order, got {len(cleaned)}; give as many, or "
            "leave the option out"
        )
    for name in cleaned:
        if not any(letter.isalnum() for letter in name):
            raise BadInput(f"--name: expected a name with a letter or a digit, got {name!r}; write another")
        if len(name) > LONGEST or not name.isprintable():
            raise BadInput(f"--name: expected one line of at most {LONGEST} characters, got {len(name)}; shorten it")
    folders = [slug(name) for name in cleaned]
    for name, folder in zip(cleaned, folders, strict=True):
        if folders.count(folder) > 1:
            raise BadInput(f"--name: expected a different name for each target, got {name!r} twice; rename one")
    return cleaned


def give_name(target: Target, name: str, source: object) -> None:
    """Give a target that was opened here the user's name."""
    if target is source:
        raise BadInput(
            f"--name: expected the spec of a target or a function, got the object {target.name!r}; set its own name"
        )
    try:
        target.name = name  # type: ignore[misc]
    except AttributeError:
        raise BadInput(f"--name: {target.name} has a fixed name; leave the option out") from None
