"""Reads a page as a strict browser and an auditor would: its tree, and whether each number is what it claims to be."""

import json
import re
from decimal import Decimal

import html5lib

SVG = "{http://www.w3.org/2000/svg}"


def parse(page):
    """The tree of a page; raises html5lib.html5parser.ParseError where it is not valid HTML."""
    parser = html5lib.HTMLParser(strict=True, tree=html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
    return parser.parse(page)


def text_of(element):
    return "".join(element.itertext())


def plain_text(sentence):
    """The words of a sentence without its markup."""
    return sentence.striptags()


def classes(element):
    return (element.get("class") or "").split()


def at(results, place):
    """What stands at a JSON Pointer, read by the letter of RFC 6901."""
    for token in place.removeprefix("/").split("/"):
        key = token.replace("~1", "/").replace("~0", "~")
        results = results[int(key)] if isinstance(results, list) else results[key]
    return results


def number_faults(tree, results):
    """Every printed number that is not the rounding of what stands at its place."""
    return [fault for element in tree.iter("data") for fault in _faults(element, results)]


def _faults(element, results):
    place, text = element.get("data-source"), text_of(element)
    try:
        value = at(results, place)
    except LookupError:
        return [f"{place}: no such place"]
    if json.loads(element.get("value")) != value or isinstance(value, bool):
        return [f"{place}: the raw value is {value}, the page has {element.get('value')}"]
    if text.startswith("<"):
        limit = Decimal(text.removeprefix("<").strip())
        return [] if Decimal(value) < limit else [f"{place}: {value} is not {text}"]
    shown = Decimal(text.replace("−", "-").replace("+", "", 1 if text.startswith("+") else 0).replace(",", ""))
    half_a_digit = Decimal("0.5000001") * Decimal(10) ** shown.as_tuple().exponent
    exact = Decimal(value) * (-1 if element.get("data-shown") == "negated" else 1)
    fits = any(abs(shown - scale * exact) <= half_a_digit for scale in _scales(place, results))
    return [] if fits else [f"{place}: {text} is not a rounding of {value}"]


def _rests_on(place, results):
    """The estimate in whose unit a number of a verdict is; the place itself for any other number."""
    row, _, key = place.rpartition("/")
    if key in ("low", "high", "margin") and row.startswith(("/verdicts/", "/found_interactions/")):
        entry = at(results, row)
        table, index = ("effects", entry["effect"]) if "effect" in entry else ("interactions", entry["interaction"])
        return f"/{table}/{index}/estimate"
    return "/selection/confidence" if place.endswith("/confidence") and "found_" in place else place


def _scales(place, results):
    """Proportions are printed a hundredfold; the level and the confidence either way; all else as it is."""
    place = _rests_on(place, results)
    table, _, rest = place.removeprefix("/").partition("/")
    if table == "family":
        return (1, 100)
    if place == "/selection/confidence" or place.endswith("/spec/confidence"):
        return (100,)
    if table == "selection" and rest.rpartition("/")[2] in ("low", "high", "shrunken"):
        unit = results["effects"][at(results, place.rpartition("/")[0])["effect"]]["unit"]
        return (100,) if unit == "proportion" else (1,)
    shown = ("estimate", "rate", "low", "high", "always_low", "always_high")
    if table in ("effects", "rates") and rest.rpartition("/")[2] in shown:
        unit = results[table][int(rest.split("/")[0])]["unit"]
        return (100,) if unit.split(" per ")[0] == "proportion" else (1,)
    if table in ("interactions", "negative_controls") and rest.rpartition("/")[2] in (
        "estimate",
        "low",
        "high",
        "detectable",
    ):
        return (100,) if results[table][int(rest.split("/")[0])]["unit"] == "proportion" else (1,)
    if table == "projections" and rest.rpartition("/")[2] in ("estimate", "low", "high"):
        row = at(results, place.rpartition("/")[0])
        unit = results[table][int(rest.split("/")[0])]["unit"]
        return (100,) if unit == "proportion" and row["quantity"] != "ratio of rates" else (1,)
    if table == "sections":
        return _section_scales(rest.split("/"), results["sections"])
    if table == "plans" and rest.rpartition("/")[2] in ("target_difference", "power", "detectable_difference"):
        return (100,) if results[table][int(rest.split("/")[0])]["unit"] == "proportion" else (1, 100)
    return (1,)


def _section_scales(tokens, sections):
    """By the unit of a figure's panel or of a table's column."""
    section = sections[int(tokens[0])]
    if tokens[1] == "tables":
        unit = section["tables"][int(tokens[2])]["units"][int(tokens[5])]
    else:
        unit = (
            section["figures"][int(tokens[2])]["panels"][int(tokens[4])]["unit"]
            if tokens[-1] in ("value", "low", "high")
            else ""
        )
    return (100,) if unit in ("proportion", "points") else (1,)


def text_faults(tree, results):
    """Every verbatim text that differs from what stands at its place, and every key that is not there."""
    faults = []
    for element in tree.iter():
        place = element.get("data-source")
        if place is not None and element.tag != "data" and "none" not in classes(element):
            value, text = at(results, place), text_of(element)
            same = text == value or (not isinstance(value, str) and json.loads(text) == value)
            faults += [] if same else [f"{place}: {text!r} is not {value!r}"]
        key = element.get("data-key")
        if key is not None:
            at(results, key)
            name = key.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
            faults += [] if text_of(element) == name else [f"{key}: {text_of(element)!r}"]
    return faults


def loose_digits(tree):
    """Runs of digits in the visible text of the page that name no place in results.json.

    Ticks of axes, the day of the run and commands to copy are none of its numbers.
    """
    body = tree.find("body")
    return re.findall(r"\S*\d\S*", " ".join(_loose(body)))


def _loose(element):
    sourced = element.get("data-source") is not None or element.get("data-key") is not None
    if sourced or element.get("data-tick") is not None or element.tag in ("time", "code"):
        return
    if not str(element.tag).startswith(SVG) and element.tag not in ("style", "title"):
        yield element.text or ""
    for child in element:
        yield from _loose(child)
        yield child.tail or ""
