"""Which pages of a PDF each drawing of a page is on: Chromium writes a link's rectangle once for each page it is on."""

import re
from collections import defaultdict

FITS = 990
"""Pixels of height that fit on one sheet of A4 between the margins."""
_COVER = """
fits => {
  const drawings = [...document.querySelectorAll('figure, .panel, .effect, .plot, .square, .proportion, .shot, .card, .pair')]
    .filter(one => { const box = one.getBoundingClientRect(); return box.height > 0 && box.height < fits; });
  drawings.forEach((one, place) => {
    const link = document.createElement('a');
    link.href = `https://drawing.test/${place}`;
    link.style.cssText = 'position:absolute;inset:0;display:block';
    one.style.position = 'relative';
    one.append(link);
  });
  return drawings.map(one => `${one.tagName}.${one.className}: ${one.textContent.trim().slice(0, 60)}`);
}
"""


def printed(view):
    """Each drawing that fits on a sheet, and the numbers of the sheets that it is on. view: a Playwright page."""
    view.emulate_media(media="print")
    view.set_viewport_size({"width": 680, "height": 994})  # A4 less the margins, so that heights are those on paper
    names = view.evaluate(_COVER, FITS)
    places = links_of(view.pdf(prefer_css_page_size=True))
    return [(name, places.get(place, set())) for place, name in enumerate(names)]


def links_of(pdf):
    """By the number of a drawing, the pages with a link to it."""
    objects = {int(number): body for number, body in re.findall(rb"(?:^|\n)(\d+) 0 obj\s(.*?)endobj", pdf, re.DOTALL)}
    sheets = defaultdict(set)
    pages = [body for body in objects.values() if re.search(rb"/Type\s*/Page\b", body)]
    for number, page in enumerate(pages):
        listed = re.search(rb"/Annots\s*\[(.*?)\]", page, re.DOTALL)
        for reference in re.findall(rb"(\d+) 0 R", listed.group(1)) if listed else []:
            found = re.search(rb"drawing\.test/(\d+)", objects[int(reference)])
            if found:
                sheets[int(found.group(1))].add(number)
    return sheets
