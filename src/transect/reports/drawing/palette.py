"""The rules of the style sheet that color drawings, for a figure that stands alone: light, without variables."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

from transect.reports.drawing.svg import SERIES

_RULE: Final = re.compile(r"([^{}@]+)\{([^{}]*)\}")
_DRAWS: Final = re.compile(r"(?:^|;)\s*(?:fill|stroke|opacity)")
_PAGE: Final = re.compile(r"::|:not|\bsvg\b")
"""Selectors of what a figure that stands alone does not have."""
_CHANNELS: Final = re.compile(r"rgb\((\d+) (\d+) (\d+)\)")


@cache
def _sheet() -> str:
    text = files("transect.reports").joinpath("templates/style.css").read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


@cache
def colors() -> dict[str, str]:
    """The colors of the light style sheet by name, as "ink", "soft", "paper", and "s0" to "s4" of the series."""
    text = _sheet()
    return dict(re.findall(r"--([\w-]+):\s*([^;]+);", text[: text.index("@media")]))


@cache
def rules() -> tuple[tuple[str, str], ...]:
    """Selector and declarations of each rule that fills or strokes, but those of the marks of series."""
    text = _sheet()
    screen = text[text.index("* { box-sizing") : text.index("@media (min-width")]
    found = [(selector.strip(), " ".join(body.split())) for selector, body in _RULE.findall(screen)]
    drawn = [(selector, body) for selector, body in found if _DRAWS.search(body) and not _PAGE.search(selector)]
    return tuple((selector, _plain(body)) for rule in drawn for selector, body in _of_series(*rule))


def _of_series(selector: str, body: str) -> list[tuple[str, str]]:
    """A rule in the color of a series, as a rule for each series."""
    if "var(--s)" not in body:
        return [(selector, body)]
    return [
        (selector.replace(".series", f".s{number}"), body.replace("var(--s)", f"var(--s{number})"))
        for number in range(SERIES)
    ]


def _plain(body: str) -> str:
    filled = re.sub(r"var\(--([\w-]+)\)", lambda name: colors()[name.group(1)], body)
    return _CHANNELS.sub(lambda rgb: "#" + "".join(f"{int(value):02x}" for value in rgb.groups()), filled)


def style_of(classes: set[str]) -> str:
    """The rules about drawings that have these classes."""
    return " ".join(f"{selector} {{ {body} }}" for selector, body in rules() if _used(selector, classes))


def _used(selector: str, classes: set[str]) -> bool:
    """Whether one of the alternatives of a selector names only classes that are there."""
    return any(set(re.findall(r"\.([\w-]+)", one)) <= classes and "." in one for one in selector.split(","))
