"""What does the audit say, in plain words? The opening of the report: verdicts, what was shown, what it cannot show.

A sentence is Markup whose numbers are printed by the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup

from transect.effects.outcomes import OF_TRUTH
from transect.reports import album, verdicts
from transect.reports.answer_picture import Judged, picture
from transect.reports.blocks import Answer, Block, Bullets, Folded, Heading, Paragraph, Part, Secondary, summary
from transect.reports.closing_parts import computed_on_photographs
from transect.reports.document import Document, Entry
from transect.reports.drawing.svg import joined, tag
from transect.reports.next_steps import next_steps
from transect.reports.records import Gallery
from transect.reports.results import StudyEntry, names_of, significant
from transect.reports.study_parts import what_differs
from transect.reports.verdicts import people_repeat, subjects_words, titled
from transect.reports.wording import ATTRIBUTE_NOTE, correction, effect_style, listed, outcome_words, short_name
from transect.runs.wording import spaced

_MOST_NAMES: Final = 3
_MOST_STRIPS: Final = 2
_MOST_SENTENCES: Final = 5
"""The most verdicts of one kind on the first page."""
_REACHED: Final = Markup(
    "A difference is found where its test is significant after correction. No difference larger than the margin: two "
    "one-sided tests, whose intervals are narrower than those that are shown, place the difference of every pair of "
    "levels inside the margin, so that a difference as large as the margin is overlooked in at most one of twenty "
    "audits. Each attribute and outcome is judged separately: of many that differ, one may be overlooked more often. "
    "Otherwise the verdict is inconclusive. State the margin with <code>--margin</code>; the default is two percentage "
    "points for rates."
)


def cautions(document: Document) -> Iterator[Block]:
    """What stands before the answer: a world that is not validated, alarms of controls, and what to check first."""
    if unvalidated := notice(document):
        yield Paragraph(unvalidated, "notice")
    yield from (tag("p", alarm, class_="notice alarm", role="alert") for alarm in alarms(document))
    if warnings := document.texts("/warnings"):
        items = tag("ul", joined(tag("li", text) for text in warnings))
        yield tag("div", Markup("<strong>Check first.</strong>") + items, class_="notice")


def about(document: Document) -> Paragraph:
    """What was varied, in how many images, and which models and subjects where the title does not say it."""
    places = [document.entry("studies", number) for number in range(len(document.results.studies))]
    shown = [_seen(document, place, named=bool(places[1:])) for place in places]
    names = list(dict.fromkeys(short_name(name) for place in places for name in names_of(place.row)))
    unnamed = [name for name in names if name not in document.results.title]
    whose = Markup("{}: ").format(", ".join(unnamed)) if len(unnamed) <= _MOST_NAMES and unnamed else Markup()
    text = whose + Markup("; ").join(shown)
    return Paragraph(text[0].upper() + text[1:] if text[0].islower() and not whose else text, "fine")


def _seen(document: Document, place: Entry[StudyEntry], *, named: bool) -> Markup:
    """What the images of a study show."""
    how = "varied" if place.row.basis == "experimental" else "observed"
    words = listed([spaced(attribute.name) for attribute in place.row.attributes]) or "nothing"
    told = subjects_words(place.row) in document.results.title
    return Markup("{}{}{} {}, {}").format(
        Markup("{}: ").format(place.text("name")) if named else "",
        "" if told else Markup("{}, ").format(_subjects(place)),
        words, how, place.counted("images", "image"),
    )  # fmt: skip


def summary_part(document: Document, shown: Gallery, sentences: verdicts.Told) -> Part:
    """The first part: verdicts, an example, and what is folded below."""
    shows = shown_answer(document)
    said = verdicts.opening(document, sentences) or [Markup("No verdict: no attribute was compared.")]
    worlds: list[Block] = []
    if replicated := document.texts("/replicated"):
        worlds = [tag("h3", "In several worlds", class_="verdict"), Bullets(replicated, "verdicts")]
    strip, limits = _strongest(document, shown), document.texts("/limits")
    questions = [Paragraph(question(document, study)) for study in range(len(document.results.studies))]
    listed_all = _listed(verdicts.groups(document, sentences))
    return summary(
        Answer(said, blocks=shows),
        *worlds,
        *next_steps(document),
        *strip,
        *([Folded("All verdicts in words", listed_all)] if listed_all else []),
        Folded("What was shown", [tag("p", document.text("/question"), class_="question"), *questions]),
        Folded("What this audit cannot show", [Bullets(limits, "limits"), Paragraph(ATTRIBUTE_NOTE, "note")]),
        Folded("How verdicts are reached", [Paragraph(_REACHED), Paragraph(family_words(document))]),
    )


def shown_answer(document: Document) -> list[Block]:
    """The picture of the answer."""
    rows = verdicts.judged(document)
    change = Markup("Change of the outcome with its {} % interval").format(document.level("/family/confidence"))
    return picture(rows, _meanings(document, rows), change)


def _meanings(document: Document, rows: Sequence[Judged]) -> dict[str, str | Markup]:
    """What the marks of the picture mean; the correction, where it alone makes a row inconclusive."""
    corrected = Markup(", after correction for {}").format(document.counted("/family/size", "test"))
    by_it = any(row.verdict == "cannot tell" and row.excludes_zero for row in rows)
    return {
        "found": "found" + corrected,
        "check": "reacts as it should",
        "no difference": "none larger than the margin",
        "cannot tell": "inconclusive" + (corrected if by_it else Markup()),
        "not judged": "not judged",
        "not estimable": "not estimable",
    }


def _listed(groups: tuple[verdicts.Group, ...]) -> list[Block]:
    blocks: list[Block] = []
    for group in groups:
        mark = tag("span", group.mark, class_=f"mark {group.kind.replace(' ', '-')}", aria_hidden="true")
        blocks.append(tag("h3", Markup("{} {}").format(mark, group.heading), class_="verdict"))
        blocks.append(Bullets(group.sentences[:_MOST_SENTENCES], "verdicts"))
        if more := group.sentences[_MOST_SENTENCES:]:
            blocks.append(Secondary([Heading(group.heading), Bullets(more, "verdicts")]))
    return blocks


def _strongest(document: Document, shown: Gallery) -> list[Block]:
    """Images along the attribute of each target's first difference or interaction found, and what differs in them."""
    results = document.results
    found = [row for row in results.verdicts if row.verdict == "found" and not row.check]
    crossed = [results.interactions[row.interaction] for row in results.found_interactions]
    chosen = [(row.study, row.target, row.attribute) for row in found]
    chosen += [(row.study, row.target, name) for row in crossed for name in row.attributes]
    strips: dict[str, list[Block]] = {}
    for study, target, attribute in chosen:
        if target not in strips and (strip := album.strip_along(document, shown, (study, target, attribute))):
            differs = what_differs(results.studies[document.study(study)], attribute)
            strips[target] = [strip, Paragraph(differs, "fine")]
    return [block for blocks in list(strips.values())[:_MOST_STRIPS] for block in blocks]


def alarms(document: Document) -> Iterator[Markup]:
    """A loud sentence for each negative control that shows an effect after adjustment."""
    for row in document.entries("negative_controls"):
        control = row.row
        if control.p_adjusted is None or control.p_adjusted > document.results.family.alpha:
            continue
        study, style = document.results.studies[document.study(control.study)], effect_style(control.unit)
        task = next(target.task for target in study.targets if target.name == control.target)
        low, high = (row.number(end, style, none="none") for end in ("low", "high"))
        yield Markup(
            "<strong>A negative control shows an effect.</strong> {}, which says nothing about a face, changes "
            "the {} of {} by {}{} (interval {} to {}): the target reacts to something irrelevant, or the images "
            "differ in more than was set. Interpret every effect on this page with caution."
        ).format(
            spaced(control.attributes[0]).capitalize(),
            outcome_words(control.outcome, control.unit, task),
            row.text("target"),
            row.number("estimate", style, signed=True),
            " points" if style == "points" else "",
            low,
            high,
        )


def notice(document: Document) -> Markup | None:
    """The warning that the world's photometry is not yet validated; None once it is."""
    if document.results.world.photometry_validated or computed_on_photographs(document):
        return None
    return Markup(
        "<strong>The photometry of this world is not yet validated.</strong> Part of an effect may come from how {} "
        "renders skin, light and camera, and not from the target. {}"
    ).format(document.text("/world/name"), document.text("/world/statement"))


def question(document: Document, study: int) -> Markup:
    """What one study showed to whom."""
    place: Entry[StudyEntry] = document.entry("studies", study)
    entry = place.row
    names = [spaced(attribute.name) for attribute in entry.attributes]
    targets = [Entry(document, f"{place.place}/targets/{k}", target) for k, target in enumerate(entry.targets)]
    opening = Markup("Study <strong>{}</strong>: ").format(place.text("name"))
    if entry.basis == "experimental":
        template = Markup("{}{} of {}, each at every combination of {}, were shown to {}.")
    else:
        template = Markup("{}{} of {}, with {} as sampled from the population, were shown to {}.")
    sentence = template.format(
        opening if len(document.results.studies) > 1 else "",
        place.counted("images", "image"),
        _subjects(place),
        listed(names) or "nothing",
        listed([target.text("name") for target in targets]),
    )
    failed = Markup(" On {} of {} <strong>{} gave no valid answer</strong>.")
    return sentence + Markup("").join(
        failed.format(target.count("n_failed"), target.counted("n_images", "image"), target.text("name"))
        for target in targets
        if target.row.n_failed
    )


def _subjects(study: Entry[StudyEntry]) -> Markup:
    of = study.counted("subjects", *titled(study.row))
    if not people_repeat(study.row):
        return of
    return Markup("{} of {}").format(study.counted("spec/design/subjects", "photograph"), of)


def family_words(document: Document) -> Markup:
    """How many tests there are, how many are significant, and how many effects are not estimable."""
    family = document.results.family
    verb = "is" if family.significant == 1 else "are"
    opening = Markup(
        "{} of {} {} significant at the {} % level after correction for multiple tests ({} method)."
    ).format(
        document.number("/family/significant", "count"),
        document.counted("/family/size", "test"),
        verb,
        document.number("/family/alpha", "percent", 0),
        correction(document),
    )
    opening += _selected(document) + _unlisted(document)
    if not family.not_estimable:
        return opening
    return Markup("{} Not estimable: {} of the effects, for the reasons under Exclusions.").format(
        opening, document.number("/family/not_estimable", "count")
    )


def _selected(document: Document) -> Markup:
    """What was done about the choice of the differences that are listed."""
    selection = document.results.selection
    if not selection.effects or len(selection.effects) >= selection.of:
        return Markup()
    return Markup(
        " The differences listed were selected from {} because they are significant, and effects so selected look "
        "larger than they are: <code>selection</code> in <code>results.json</code> has a wider interval of each (of "
        "these on average at most one in twenty misses) and its likely value, the estimate shrunk towards zero."
    ).format(document.counted("/selection/of", "comparison"))


def _unlisted(document: Document) -> Markup:
    """The significant effects that no verdict is about, because the right answer changes with their attribute."""
    results = document.results
    about = {
        (study.name, target.name): re.match(r"\w*", target.truth or "")
        for study in results.studies
        for target in study.targets
    }
    by_truth = [
        Markup("{} ({})").format(effect.text("name"), effect.text("outcome"))
        for effect in document.entries("effects")
        if significant(effect.row, results.family.alpha)
        and effect.row.outcome in OF_TRUTH
        and (match := about[effect.row.study, effect.row.target])
        and match[0] == effect.row.attribute
    ]
    if not by_truth:
        return Markup()
    return Markup(
        " There is no verdict on errors by the attribute that the truth is about, because the right answer changes "
        "with it: {}."
    ).format(listed(by_truth))
