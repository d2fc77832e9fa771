"""The first screen of a leakage analysis: what the labels give away, and whether a model gives away more."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup, escape

from transect.attacks.comparisons import DEALT
from transect.attacks.numbers import LeakageNumbers
from transect.attacks.results import model_answers
from transect.jobs.leakage.side_by_side_page import ends_in_words
from transect.reports.blocks import Answer, Paragraph
from transect.reports.document import WrittenDocument

_AS_PUBLISHED = Markup(
    "<strong>As published</strong>: the snapshot is chosen on development data, and each round is scored on a separate "
    "draw and folded about chance, which raises the figures."
)
_ATTRIBUTE = Markup(
    "The attribute {} is what the data set's annotators recorded: an appearance as others perceived it, not an "
    "identity."
)
MOST_CLASSES = 4
"""Classes of the protected attribute that the page names."""


def question(doc: WrittenDocument) -> Markup:
    """What the page answers."""
    asked = Markup("Can {} be guessed from the labels").format(_protected(doc))
    return asked + (", and does a model give away more than they explain?" if doc.value("/amplification") else "?")


def _protected(doc: WrittenDocument) -> Markup:
    """The protected attribute with its classes, where these are few."""
    classes = [doc.text(place) for place in doc.places("/classes")]
    named = Markup(" ({})").format(Markup(" or ").join(classes)) if len(classes) <= MOST_CLASSES else Markup()
    return doc.text("/protected") + named


def answer(doc: WrittenDocument, numbers: LeakageNumbers) -> Answer:
    """Of several models which gives away less, then labels and the first model; at last what the numbers are."""
    sentences = [*map(_claim_first, model_answers(numbers.differences)), _of_labels(doc)]
    if doc.value("/amplification"):
        sentences.append(_of_model(doc))
    return Answer(sentences, (Markup(" ").join(_remarks(doc)),))


def _claim_first(sentence: str) -> Markup:
    """The claim about a model in bold, before the numbers that it rests on."""
    claim, colon, rest = sentence.rpartition(": the attacker")
    return Markup("<b>{}{}</b> the attacker{}").format(claim, ":", rest) if colon else escape(sentence)


def cautions(doc: WrittenDocument) -> Iterator[Paragraph]:
    """The published protocol, the bound, and what the attribute is."""
    if doc.value("/published_protocol"):
        yield Paragraph(_AS_PUBLISHED, "notice")
    yield Paragraph(Markup("{} {}").format(doc.text("/caveat"), _ATTRIBUTE.format(_protected(doc))), "note")


def _of_labels(doc: WrittenDocument) -> Markup:
    claim = (
        Markup("The labels give {} away.") if _given_away(doc) else Markup("The labels are not shown to give {} away.")
    )
    found = Markup(
        "<b>{}</b> An attacker that sees only the labels of an item guesses it with a balanced accuracy of {}; "
        "guessing at random has {} %."
    )
    leak, chance = doc.interval("/dataset_leakage", unit=" %"), doc.number("/chance", "fixed")
    return found.format(claim.format(doc.text("/protected")), leak, chance)


def _given_away(doc: WrittenDocument) -> bool:
    """By the interval, which the published protocol lacks, and by permutations where they were made."""
    estimate, low, limit = (doc.value(at) for at in ("/dataset_leakage/estimate", "/dataset_leakage/low", "/null/high"))
    if estimate is None or low is None:
        return False
    if doc.value("/published_protocol"):
        return limit is not None and bool(estimate > limit)
    return bool(low > doc.value("/chance")) and (limit is None or bool(estimate > limit))


def _of_model(doc: WrittenDocument) -> Markup:
    low, high = (doc.value(f"/amplification/{end}") for end in ("low", "high"))
    against = "From labels with as many random errors"
    if doc.value("/amplification/noise") == DEALT:
        against = "From the same predictions, shuffled among items with the same label"
    claim = gives_away(low, high, published=doc.value("/published_protocol")).format(_whose(doc))
    found = Markup("<b>{}</b> From them the attacker has a balanced accuracy of {}. {}, it has {}: a difference of {}.")
    leak, more = doc.interval("/model_leakage", unit=" %"), doc.interval("/amplification", unit=" points", signed=True)
    return found.format(claim, leak, against, _compared_with(doc), more)


def _compared_with(doc: WrittenDocument) -> Markup:
    """The leakage that the model's is compared with: of the comparison that is the headline."""
    kind = doc.value("/amplification/format"), doc.value("/amplification/noise")
    places = doc.places("/comparisons")
    place = next(at for at in places if (doc.value(f"{at}/name"), doc.value(f"{at}/noise")) == kind)
    return doc.interval(f"{place}/dataset_leakage", unit=" %")


def _whose(doc: WrittenDocument) -> Markup:
    """Of several models the first one's name."""
    if doc.value("/differences"):
        return Markup("The predictions of {}").format(doc.text("/model"))
    return Markup("The model's predictions")


def gives_away(low: float | None, high: float | None, *, published: bool = False) -> Markup:
    """What the interval of the amplification says, which the published protocol lacks; {} is for whose predictions.

    >>> str(gives_away(0.2, 3.9))
    '{} give away more than the labels explain.'
    """
    if published or low is None or high is None:
        of_what = "The published protocol has" if published else "There is"
        return Markup("{{}} may or may not give away more than the labels explain. {} no interval.").format(of_what)
    if low > 0:
        return Markup("{} give away more than the labels explain.")
    if high < 0:
        return Markup("{} give away less than the labels explain.")
    return Markup("{} are not shown to give away more, or less, than the labels explain.")


def _remarks(doc: WrittenDocument) -> Iterator[Markup]:
    yield Markup(
        "In brackets: {}. Balanced accuracy is the share of right guesses as a mean over the classes; on {}."
    ).format(ends_in_words(doc), doc.counted("/dataset_leakage/n", "item"))
    if doc.value("/null/low") is not None:
        low, high = (doc.number(f"/null/{end}", "fixed") for end in ("low", "high"))
        yield Markup("If the labels said nothing, {} % of estimates would lie between {} and {} %.").format(
            doc.number("/confidence", "name"), low, high
        )
    if doc.value("/amplification"):
        precision = Markup()
        if doc.value("/model_mean_average_precision") is not None:
            precision = Markup(", mAP {} %").format(doc.number("/model_mean_average_precision", "fixed"))
        yield Markup("The macro F₁ of the model's own predictions is {} %{}.").format(
            doc.number("/model_f1", "fixed"), precision
        )
