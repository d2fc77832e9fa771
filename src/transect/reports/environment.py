"""How every page is made: one environment of templates, escaped, and strict about what is missing."""

from __future__ import annotations

import base64
import json
import math
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup

from transect import __version__
from transect.reports.document import pointer
from transect.reports.drawing import crossed, levels, sections, svg
from transect.reports.drawing.intersections import MANY_TABLES
from transect.reports.figure_numbers import crossing_numbers, figure_numbers
from transect.reports.saving import savable
from transect.reports.wording import (
    ATTRIBUTE_NOTE,
    correction_name,
    effect_style,
    level,
    outcome_words,
    rate_style,
    unit_words,
    with_unit,
)
from transect.runs.wording import spaced

if TYPE_CHECKING:
    from jinja2 import Environment

_OF_ADDRESSES = ":/?#[]@!$&'()*+,;=%-._~"


def render(template: str, /, **content: object) -> str:
    """A page as one HTML text: no network, no script, no other file. template: its name, without `.html.j2`."""
    return environment().get_template(f"{template}.html.j2").render(content)


def fragment(template: str, /, **content: object) -> Markup:
    """A part of a page from a template, which escapes what it fills in."""
    return Markup(render(template, **content))  # noqa: S704 - escaped by the template


def decimals(value: float | None, digits: int = 3) -> str:
    """A number with this many decimals, a true minus sign, "unknown" for None and NaN."""
    if value is None or not math.isfinite(value):
        return "unknown"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")  # + 0.0: no minus before zero


def significant(value: float | None, digits: int = 3) -> str:
    """A number with this many significant digits, a true minus sign, "unknown" for None and NaN."""
    if value is None or not math.isfinite(value):
        return "unknown"
    return f"{value:.{digits}g}".replace("-", "−")


def probability(p: float | None) -> str:
    """A p value."""
    return "< 0.0001" if p is not None and p < 5e-5 else decimals(p, 4)


def data_address(image: bytes | None) -> str:
    """A PNG or JPEG as a data address; "" without one."""
    if not image:
        return ""
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image).decode('ascii')}"


@cache
def environment() -> Environment:
    """The templates with their filters."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("transect.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    environment.filters |= {
        "savable": savable,
        "spaced": spaced,
        "unit_words": unit_words,
        "plain_json": lambda value: json.dumps(value, ensure_ascii=False),
        "address": lambda url: quote(url, safe=_OF_ADDRESSES),
        "effect_place": lambda index: pointer("effects", index),
    }
    environment.tests["web_address"] = lambda url: url.startswith(("https://", "http://"))
    environment.globals |= {
        "version": __version__,
        "svg": svg,
        "draw_levels": levels.draw,
        "crossing_numbers": crossing_numbers,
        "figure_numbers": figure_numbers,
        "draw_scatter": crossed.draw,
        "draw_panel": sections.draw,
        "draw_row": sections.draw_row,
        "attribute_note": ATTRIBUTE_NOTE,
        "pointer": pointer,
        "effect_style": effect_style,
        "rate_style": rate_style,
        "outcome_words": outcome_words,
        "level": level,
        "with_unit": with_unit,
        "correction_name": correction_name,
        "most_series": levels.SERIES,
        "many_tables": MANY_TABLES,
    }
    return environment
