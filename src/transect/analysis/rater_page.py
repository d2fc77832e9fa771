"""The page on the raters: `annotate.html` beside `annotate.json`, which holds every number on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from markupsafe import Markup

from transect.reports import builder
from transect.reports.blocks import Answer, Block, Facts, Page, Paragraph, Part
from transect.reports.builder import data_address
from transect.reports.document import WrittenDocument, pointer
from transect.reports.drawing.svg import joined, tag
from transect.reports.records import PictureGallery, RatedPicture, RaterPage
from transect.reports.section_parts import section_parts
from transect.reports.wording import ATTRIBUTE_NOTE
from transect.runs.json_records import plain
from transect.runs.pictures import PNG, open_rgb, saved

RELIABLE, TENTATIVE = 0.8, 0.667
"""Krippendorff's α from which answers count as reliable, and from which conclusions are tentative."""
MOST: Final = 6
"""Questions that the answer names; the tables have all."""
_TABLE: Final = "Agreement between raters"
_SOURCE: Final = (
    "α is Krippendorff's: 1 for full agreement, 0 for chance; of ordinal answers and of numbers, near answers agree in "
    "part. Raters agree reliably where the whole interval lies at 0.8 or above, well enough for tentative conclusions "
    "where it lies at 0.667 or above, and not enough where it lies below 0.667 (Krippendorff 2004). The intervals are "
    "for other subjects and these raters."
)


def agreement(doc: WrittenDocument, raters: str = "raters") -> Iterator[Answer]:
    """A sentence for each question that was asked of single images; nothing without one. raters: who they are."""
    places = [
        (section, f"{table}/rows/{row}")
        for section in doc.places("/sections")
        for table in doc.places(f"{section}/tables")
        if doc.value(f"{table}/title") == _TABLE
        for row in range(len(doc.value(f"{table}/rows")))
    ]
    if not places:
        return
    several = len({section for section, _ in places}) > 1
    sentences = [_sentence(doc, section if several else "", at, raters) for section, at in places[:MOST]]
    left = len(places) - MOST
    more = [f"{left} more {'question is' if left == 1 else 'questions are'} below."] if left > 0 else []
    yield Answer(sentences, (_SOURCE, *more))


def _sentence(doc: WrittenDocument, section: str, at: str, raters: str) -> Markup:
    """The row's columns: question, scale, equal pairs, α, its ends, median spread, note."""
    study = Markup(" ({})").format(doc.text(f"{section}/study")) if section else ""
    head = Markup("<b>{}</b>{}: ").format(doc.text(f"{at}/0"), study)
    alpha, low, high = (doc.value(f"{at}/{column}") for column in (3, 4, 5))
    if alpha is None:
        reason = doc.text(f"{at}/7") if doc.value(f"{at}/7") else "too few answers"
        return head + Markup("agreement cannot be estimated: {}.").format(reason)
    equal = Markup("{} % of pairs of answers are exactly equal").format(doc.number(f"{at}/2", "percent"))
    ends = Markup(", no interval")
    if low is not None:
        shown = doc.number(f"{at}/4", "fixed", 3), doc.number(f"{at}/5", "fixed", 3)
        ends = Markup(' <span class="range">({} to {}, 95 % interval)</span>').format(*shown)
    number, scale = doc.number(f"{at}/3", "fixed", 2), doc.text(f"{at}/1")
    said = verdict(low, high).format(raters)
    return head + Markup("{}. α of {} answers {}{}; {}.").format(said, scale, number, ends, equal)


def verdict(low: float | None, high: float | None) -> str:
    """What the interval of α, which is over subjects, says of the answers; {} is for who gave them."""
    if low is None or high is None:
        return "inconclusive whether {} agree"
    if low >= RELIABLE:
        return "{} agree reliably"
    if high < TENTATIVE:
        return "{} do not agree enough to rely on"
    if low >= TENTATIVE:
        return "{} agree well enough for tentative conclusions"
    return "inconclusive whether {} agree well enough; collect answers about more subjects"


SIDE: Final = 88
"""Pixels of a picture's longer side; larger ones are reduced, and the page says so."""
LARGEST: Final = 4_000_000
"""Bytes of pictures on the page; galleries that find no room are counted."""

_LIMITS: Final = f"Agreement means that raters give the same answers, not that they are right. {ATTRIBUTE_NOTE}"

_SIMULATED: Final = "answers of simulated raters"

Pictures = Callable[[str, str], bytes]
"""The PNG of an image, by study and id."""


def write(page: RaterPage, pictures: Pictures, folder: Path) -> Path:
    """Write `annotate.html` and `annotate.json` into a folder, which is made if missing; return the page's path."""
    shown, addresses = choose(page, pictures)
    return builder.write(page_of(shown, addresses), folder / "annotate.html", shown)


def page_of(shown: RaterPage, addresses: Mapping[tuple[str, str], str]) -> Page:
    """What the page shows. addresses: of its pictures, as data."""
    doc = WrittenDocument(plain(shown))
    facts = [(name, doc.number(f"/facts{pointer(name)}", "count", none="not known")) for name in shown.facts]
    footer = Markup("Pictures are reduced to at most {} pixels. {}All numbers on this page are in annotate.json.")
    return Page(
        f"What raters saw: {shown.title}",
        (
            Part("summary", "Summary", (*_answers(doc), Paragraph(_LIMITS, "note"), Facts(facts))),
            *section_parts(doc, shown.sections),
            *(_gallery(doc, number, gallery, addresses) for number, gallery in enumerate(shown.galleries)),
        ),
        Markup("What raters saw: {}").format(doc.text("/title")),
        footer=footer.format(SIDE, _left_out(doc, shown.galleries_left_out)),
    )


def _answers(doc: WrittenDocument) -> Iterator[Block]:
    """First that answers come from no people, where they are; then on which questions raters agree."""
    facts = doc.value("/facts")
    simulated = facts.get(_SIMULATED, 0)
    if simulated:
        counts = [doc.number(f"/facts{pointer(name)}", "count") for name in (_SIMULATED, "answers")]
        words = Markup("<b>All {1} answers come from simulated raters. They say nothing about people.</b>")
        if simulated < facts["answers"]:
            words = Markup("{} of {} answers come from simulated raters. These say nothing about people.")
        yield Paragraph(words.format(*counts), "notice")
    yield from agreement(doc, "simulated raters" if simulated == facts["answers"] else "raters")


def _left_out(doc: WrittenDocument, count: int) -> Markup:
    if not count:
        return Markup()
    words = "gallery does" if count == 1 else "galleries do"
    return Markup("{} {} not fit on the page. ").format(doc.number("/galleries_left_out", "count"), words)


def _gallery(
    doc: WrittenDocument, number: int, gallery: PictureGallery, addresses: Mapping[tuple[str, str], str]
) -> Part:
    at = f"/galleries/{number}"
    groups = [
        _group(doc, f"{at}/groups/{place}", group.pictures, addresses)
        for place, group in enumerate(gallery.groups)
        if group.pictures
    ]
    scrolls = {"role": "region", "tabindex": 0, "aria_label": gallery.title} if gallery.layout == "by-score" else {}
    shown = tag("div", joined(groups), class_=gallery.layout, **scrolls)
    title = doc.text(f"{at}/title")
    return Part(f"gallery-{number}", title, (Paragraph(doc.text(f"{at}/text")), shown), gallery.title, study=True)


def _group(
    doc: WrittenDocument, at: str, pictures: Sequence[RatedPicture], addresses: Mapping[tuple[str, str], str]
) -> Markup:
    shown = [_picture(doc, f"{at}/pictures/{place}", one, addresses) for place, one in enumerate(pictures)]
    return tag("div", tag("p", doc.text(f"{at}/label"), class_="fine") + joined(shown), class_="bin")


def _picture(doc: WrittenDocument, at: str, picture: RatedPicture, addresses: Mapping[tuple[str, str], str]) -> Markup:
    words, caption, css = f"Image {picture.id}: {picture.answer_text}", doc.text(f"{at}/answer_text"), "rated"
    if picture.left_out:
        words, css = f"{words}, left out", "rated cut"
        caption += " " + tag("span", doc.text(f"{at}/left_out"), class_="why")
    image = tag("img", src=addresses[picture.study, picture.id], alt=words)
    return tag("figure", image + tag("figcaption", caption), class_=css)


def choose(page: RaterPage, pictures: Pictures) -> tuple[RaterPage, dict[tuple[str, str], str]]:
    """The page with the galleries that there is room for, and their pictures as data addresses."""
    addresses: dict[tuple[str, str], str] = {}
    spent, galleries = 0, []
    for gallery in page.galleries:
        places = {(picture.study, picture.id) for group in gallery.groups for picture in group.pictures}
        new = {place: data_address(reduced(pictures(*place))) for place in sorted(places - addresses.keys())}
        cost = sum(map(len, new.values()))
        if spent + cost > LARGEST:
            continue
        spent += cost
        addresses |= new
        galleries.append(gallery)
    left_out = len(page.galleries) - len(galleries)
    return replace(page, galleries=galleries, galleries_left_out=left_out), addresses


def reduced(png: bytes) -> bytes:
    """A JPEG of the picture whose longer side is at most 88 pixels."""
    from PIL import Image

    small = open_rgb(png, "a picture of the run", PNG)
    small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    return saved(small, "JPEG", quality=88)
