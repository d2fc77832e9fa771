"""The words of the page: names of outcomes, attributes, levels and units as a reader says them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from markupsafe import Markup, escape

from transect.reports.columns import table_decimals
from transect.reports.document import Document, Style, pointer, rounded
from transect.reports.entries import EstimatedEntry
from transect.reports.results import AttributeEntry, StudyEntry, TargetEntry
from transect.runs.wording import spaced
from transect.targets.kinds import kinds

ATTRIBUTE_NOTE = "Transect varies appearance, not identity: how a face looks says nothing about who a person is."

_OUTCOMES = {
    "answer": "rate of yes answers",
    "miss": "miss rate",
    "false_alarm": "false-alarm rate",
    "error": "error rate",
    "score": "mean score",
    "loss": "mean loss",
    "distance": "mean embedding distance",
    "non_match": "non-match rate",
    "refusal": "refusal rate",
    "hedge": "rate of hedged answers",
    "unreadable": "rate of unreadable answers",
    "likelihood": "mean likelihood of yes",
    "words": "mean length",
    "preferred": "share of subjects whose image is preferred",
}

_OUTCOME_MEANINGS = {
    "answer": "share of images to which the target says yes",
    "miss": "share of images where the truth is yes and the target says no",
    "false_alarm": "share of images where the truth is no and the target says yes",
    "error": "how often, or how far, the answer differs from the truth",
    "score": "the number that the target gives, averaged over images",
    "loss": "the loss of the target's score against the truth, averaged over images",
    "distance": "distance of the embedding from that of the same subject in the first cell",
    "non_match": "share of images that a verifier would not take for the subject of the reference image",
    "refusal": "share of an image's wordings to which the model declines to answer",
    "hedge": "share of an image's wordings to which it answers that it cannot tell, or more than one thing",
    "unreadable": "share of an image's wordings in which the reply contains no answer",
    "likelihood": "probability that the model gives to yes as its whole answer, whatever it says",
    "words": "words of an answer",
    "preferred": "share of subjects of whose two images the model chooses this one, in whichever order they are shown",
}
_NAMED = {
    "option:": ("rate of “{}”", "share of an image's wordings to which the answer is “{}”"),
    "code:": ("rate of “{}”", "share of an image's wordings whose answer has the code “{}”"),
    "likelihood:": ("mean likelihood of “{}”", "probability that the model gives to “{}” as its whole answer"),
    "score:": ("mean score of {}", "the number that your function {} gives to the answer"),
    "list:": ("mean share of words of {}", "share of an answer's words that are on the list {}"),
}
"""Outcomes named after an option, a code, a list or a function: how their mean is called, and what they count."""

_UNITLESS = {"proportion": "percentage points", "score": "score", "": "units of the outcome"}


def short_name(name: str) -> str:
    """A target's name without what says how it is loaded, for headings and sentences; tables have the whole name.

    >>> short_name("opencv:haarcascade_frontalface_default"), short_name("onnx:models/smile.onnx"), short_name("mine")
    ('frontalface_default', 'smile.onnx', 'mine')
    >>> short_name("vlm:tiny/hire")  # a question asked of a model
    'tiny/hire'
    """
    scheme, _, rest = name.partition(":")
    kind = next((kind for kind in kinds() if kind.prefix.partition(":")[0] == scheme), None)
    if kind is None or kind.in_words:
        return name if kind is None else rest
    return rest.removeprefix("haarcascade_").rpartition("/")[2] or name


def outcome_words(outcome: str, unit: str = "proportion", task: str = "") -> str:
    """How the mean of an outcome is called.

    >>> outcome_words("answer", task="detection"), outcome_words("error", unit="score")
    ('detection rate', 'mean error')
    """
    if outcome == "answer" and task == "detection":
        return "detection rate"
    if outcome == "error" and not unit.startswith("proportion"):
        return "mean error"
    return _named(outcome, 0) or _OUTCOMES.get(outcome, spaced(outcome))


def outcome_meaning(outcome: str, task: str = "") -> str:
    """What one outcome counts, in a clause; empty for an outcome of the user's own."""
    if outcome == "answer" and task == "detection":
        return "share of images in which the detector finds what it looks for"
    if outcome == "miss" and task == "detection":
        return "share of images in which the detector misses what is there"
    return _named(outcome, 1) or _OUTCOME_MEANINGS.get(outcome, "")


def _named(outcome: str, which: int) -> str:
    kind, colon, name = outcome.partition(":")
    words = _NAMED.get(kind + colon)
    return words[which].format(name) if words else ""


def effect_style(unit: str) -> Style:
    """How an effect in this unit is printed."""
    return "points" if unit.partition(" per ")[0] == "proportion" else "plain"


def rate_style(unit: str) -> Style:
    """How a rate in this unit is printed."""
    return "percent" if unit == "proportion" else "plain"


def unit_words(unit: str) -> str:
    """An effect's unit in words."""
    head, _, per = unit.partition(" per ")
    words = _UNITLESS.get(head, head)
    if not per:
        return words
    return f"{words} per unit" if per == "unit" else f"{words} per unit ({per})"


_METHODS = {"holm": "Holm"}


def correction(document: Document) -> str | Markup:
    """The name of the correction for many tests, as the literature writes it."""
    return correction_name(document.results.family.method) or document.text("/family/method")


def correction_name(method: str) -> str:
    """The name of a correction as the literature writes it; empty for another."""
    return _METHODS.get(method, "")


def effect_numbers(row: EstimatedEntry) -> tuple[str, str, str]:
    """Estimate, interval and adjusted p as texts with a true minus; a reason or a dash where there is none."""
    style = effect_style(row.unit)
    if row.estimate is None:
        return "not estimable", row.reason, "–"
    ends, digits = "no interval", table_decimals(row.low, row.high)
    if row.low is not None and row.high is not None:
        ends = f"{rounded(row.low, style, digits)} to {rounded(row.high, style, digits)}"
    p = "–" if row.p_adjusted is None else rounded(row.p_adjusted, "p")
    return rounded(row.estimate, style, digits, signed=True), ends, p


def verdict_words(verdict: str) -> str:
    """The name of a verdict of results.json, as people read it."""
    return "inconclusive" if verdict == "cannot tell" else verdict


def listed(items: Sequence[str | Markup], last: str = "and") -> Markup:
    """Items as an enumeration."""
    if len(items) < 2:
        return escape(items[0]) if items else Markup()
    head = Markup(", ").join(items[:-1])
    return Markup("{} {} {}").format(head, last, items[-1])


def task_of(targets: Iterable[TargetEntry]) -> str:
    """The task of targets; "" where they have several."""
    tasks = {target.task for target in targets}
    return tasks.pop() if len(tasks) == 1 else ""


def attribute_of(study: StudyEntry, name: str) -> tuple[int, AttributeEntry]:
    """Index and entry of an attribute of a study, which `results.read` has checked to be there."""
    return next((index, entry) for index, entry in enumerate(study.attributes) if entry.name == name)


def level(document: Document, study: int, attribute: str, value: float | None, otherwise: str) -> Markup:
    """A level as people read it; the number at `otherwise` where the design has no such level."""
    index, entry = attribute_of(document.results.studies[study], attribute)
    if value is None or value not in entry.levels:
        return document.number(otherwise)
    position = entry.levels.index(value)
    place = pointer("studies", study, "attributes", index)
    if _is_number(entry.labels[position]):
        return document.number(f"{place}/levels/{position}")
    return document.text(f"{place}/labels/{position}")


def measured(attribute: AttributeEntry) -> bool:
    """Whether the levels stand for single numbers, so that distances between them have a meaning on an axis."""
    return attribute.kind in ("continuous", "ordinal") and all(_is_number(label) for label in attribute.labels)


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def headed(document: Document, study: int, attribute: str) -> Markup:
    """An attribute with its unit, as a heading."""
    return Markup("{}{}").format(spaced(attribute), with_unit(document, study, attribute))


def with_unit(document: Document, study: int, attribute: str) -> Markup:
    """The unit of an attribute in parentheses, verbatim; empty where it has none."""
    index, entry = attribute_of(document.results.studies[study], attribute)
    if not entry.unit:
        return Markup()
    return Markup(" ({})").format(document.text(pointer("studies", study, "attributes", index, "unit")))


def is_plural(name: str) -> bool:
    """Whether the noun of an attribute is a plural, by which its verb goes.

    >>> is_plural("glasses"), is_plural("skin_tone"), is_plural("hair_redness")
    (True, False, False)
    """
    return name.endswith("s") and not name.endswith("ss")


def settings_of(value: object, place: str = "", words: str = "") -> Iterator[tuple[str, str, str]]:
    """The settings of a description that are set, nested ones by all their names: words, value, JSON Pointer.

    >>> list(settings_of({"crop": {"width": 8, "color": None}}))
    [('crop, width', '8', '/crop/width')]
    """
    inner: Iterable[tuple[str | int, object]] = ()
    if isinstance(value, Mapping):
        inner = [(key, each) for key, each in value.items() if words or key not in ("name", "task")]
    elif isinstance(value, list | tuple):
        inner = enumerate(value)
    elif value not in (None, ""):
        yield words, value if isinstance(value, str) else json.dumps(value), place
    for key, each in inner:
        name = spaced(key) if isinstance(key, str) else str(key + 1)
        yield from settings_of(each, f"{place}{pointer(key)}", f"{words}, {name}" if words else name)
