"""The page of a matching: valid HTML, no network, the numbers of the summary, filters without a script."""

import io
import re

import html5lib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from transect.analysis.matched.figures import binned, love_rows, pairs_shown, refused_shown
from transect.analysis.matched.request import MatchOptions
from transect.effects.matched_pairs import balance
from transect.errors import BadInput
from transect.jobs.match import groups_of, match
from transect.reports.builder import build


def png(shade):
    sink = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, shade, shade)).save(sink, "PNG")
    return sink.getvalue()


@pytest.fixture
def matched(tmp_path):
    rng = np.random.default_rng(0)
    n = 120
    young = (rng.random(n) < 0.5).astype(float)
    hat = (rng.random(n) < 0.3).astype(float)
    male = (rng.random(n) < 0.25 + 0.5 * young).astype(int)
    x = rng.normal(size=(n, 3)) + young[:, None]
    pictures = [png(i) for i in range(n)]
    (tmp_path / "one.png").write_bytes(png(200))
    table = {"male": male, "young": young, "hat": hat, "face": pictures, "text": ["words"] * n, "path": ["one.png"] * n}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    np.save(tmp_path / "x.npy", x)
    return matched_again(tmp_path), tmp_path


def matched_again(folder, treatment="male", caliper=0.8, **more):
    return match(folder / "x.npy", treatment, folder / "t.parquet", caliper=caliper, **more)


def with_pictures(folder, column):
    return matched_again(folder, options=MatchOptions(pictures=column))


def test_the_page_is_valid_and_stands_alone(matched):
    made, folder = matched
    path = with_pictures(folder, "face").report(folder / "page")
    text = path.read_text()
    html5lib.HTMLParser(strict=True).parse(text)
    assert "<script" not in text
    assert not re.findall(r"(?:src|href)=\"(?!data:|#|match-numbers.html#)", text)
    assert (folder / "page" / "match.json").exists()
    assert made.numbers.verdict[1:] in text
    assert text.count('<figure class="card') == min(60, len(made.table)) + min(
        30, len(made.numbers.matched.pairs.refused)
    )
    assert "data:image/png;base64," in text


@pytest.mark.parametrize("way", ["absolute", "up", "link", "record"])
def test_pictures_outside_the_tables_folder_are_not_read(matched, way):
    """A table that others gave must not put other files of this machine onto a page."""
    _, folder = matched
    outside = folder.parent / f"{folder.name}-outside.png"
    outside.write_bytes(png(9))
    (folder / "link.png").symlink_to(outside)
    said = {"absolute": str(outside), "up": f"../{outside.name}", "link": "link.png"}.get(way, f"../{outside.name}")
    cell = {"bytes": None, "path": said} if way == "record" else said
    table = pq.read_table(folder / "t.parquet").append_column("elsewhere", pa.array([cell] * 120))
    pq.write_table(table, folder / "t.parquet")
    with pytest.raises(BadInput, match="expected a file below"):
        with_pictures(folder, "elsewhere").report(folder / "page")


def test_the_farthest_pairs_and_every_reason_are_shown(matched, monkeypatch):
    """Of many pairs some in equal steps of rank, both ends among them; of many refusals the nearest of each reason."""
    made, _ = matched
    monkeypatch.setattr("transect.analysis.matched.figures.MOST_PAIRS", 5)
    monkeypatch.setattr("transect.analysis.matched.figures.MOST_REFUSED", 4)
    distances = np.sort(made.table["distance"].to_numpy())
    n = len(distances)
    shown = [card.distance for card in pairs_shown(made.numbers)]
    assert n > 5
    assert shown == pytest.approx([distances[round(k * (n - 1) / 4)] for k in range(5)])
    assert len(set(made.numbers.matched.pairs.refused.values())) > 1
    near = made.numbers.matched.pairs.near
    cards = refused_shown(made.numbers)
    assert {card.reason for card in cards} == set(made.numbers.matched.pairs.refused.values())
    for reason in {card.reason for card in cards}:
        of_reason = [row for row, why in made.numbers.matched.pairs.refused.items() if why == reason and row in near]
        assert min(of_reason, key=lambda row: (near[row][1], row)) in [card.a for card in cards]


def test_refused_images_of_several_groups_are_shown_with_their_reasons(matched):
    """Groups by thirds of the rows: the base is the last, and not the first in the alphabet."""
    _, folder = matched
    groups = pa.array(["in"] * 45 + ["mid"] * 45 + ["out"] * 30)
    pq.write_table(pq.read_table(folder / "t.parquet").append_column("place", groups), folder / "t.parquet")
    made = matched_again(folder, "place", 0.6, options=MatchOptions(pictures="face"))
    refused = refused_shown(made.numbers)
    assert groups_of(made.numbers) == ("out", "other groups")
    assert made.numbers.sets + sum(made.numbers.refused.values()) == 30
    assert "caliper (with in)" in made.numbers.refused
    assert {card.reason for card in refused} == set(made.numbers.refused)
    x = np.load(folder / "x.npy")
    for card in refused:
        assert card.a >= 90
        assert card.distance == pytest.approx(np.linalg.norm(x[card.a] - x[card.b]))
        assert (card.b < 45) == card.reason.endswith("(with in)")
        assert card.pictures[1] == png(card.b)
    text = build(made.content.page())
    html5lib.HTMLParser(strict=True).parse(text)


def test_the_love_plot_by_hand():
    """|SMD| 1 before and 0 after on an axis from 0 to 1: marks at both ends, the farthest covariate first."""
    rows = np.arange(8)
    columns = {"small": np.array([0.0, 1, 0, 1, 0, 1, 0, 1]), "far": np.array([1.0, 1, 1, 0, 0, 0, 0, 1])}
    found = balance(columns, rows[:4], rows[4:], (np.array([0]), np.array([7])))
    scale, drawn = love_rows(found, 0.1)
    assert [row.covariate for row, _ in drawn] == ["far", "small"]
    after, before = drawn[0][1]
    assert (after.at, after.low, after.high, after.filled) == (0.0, 0.0, 100 * scale.fraction(1.0), True)
    assert (before.at, before.filled) == (100 * scale.fraction(1.0), False)


def test_the_overlap_histogram_by_hand():
    """Of two treated one lies in the lowest of 24 bins and one in the highest; the one control in the highest."""
    edges, made = binned({"before": (np.array([0.0, 24.0]), np.array([24.0]))})
    assert edges == (0.0, 24.0)
    assert made[0].treated == (50.0, *[0.0] * 22, 50.0)
    assert made[0].control == (*[0.0] * 23, 100.0)
    assert binned({}) == ((0.0, 0.0), [])


def first_screen_of(made):
    text = build(made.content.page())
    return text[text.index('id="summary"') : text.index("</section>", text.index('id="summary"'))]


def outcomes(a, b):
    """Pairs of neighbours, each with a 1 and a 0 in the treatment; the outcome of the first and of the second."""
    n = len(a)
    table = {"hat": [1, 0] * n, "place": np.repeat(np.arange(float(n)), 2), "error": np.stack([a, b], axis=1).ravel()}
    return match(table["place"][:, None], "hat", table, covariates="place", outcomes="error")


def test_pairs_too_few_for_the_margin_cannot_tell_and_say_how_many_could():
    """7 pairs each way of 77 differ: SD .429, and (3.29 .429 / .02)² is 4,985, in two digits 5,000; p is 1, and not printed."""
    a, b = np.zeros(77), np.zeros(77)
    a[:7], b[7:14] = 1, 1
    made = outcomes(a, b)
    summed_up = first_screen_of(made)
    assert "<b>error: it is inconclusive whether hat 1 and hat 0 differ by 2 points or more.</b>" in summed_up
    assert "Within 77 pairs it is 9 % with hat 1 and 9 % with hat 0: a difference of 0 points" in summed_up
    assert "About 5,000 pairs like these would decide it." in summed_up
    assert "(p " not in summed_up.split("Adjusted")[0]


def test_no_difference_above_the_margin_needs_the_90_percent_interval_inside_it():
    """Of 400 equal pairs the interval ends at 1 - .1^(1 / 400), .57 %."""
    summed_up = first_screen_of(outcomes(np.zeros(400), np.zeros(400)))
    assert "<b>error: no difference larger than 2 points.</b>" in summed_up
