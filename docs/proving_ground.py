"""Writes the figures of docs/research/proving-ground.md.

python docs/proving_ground.py [--seeds 500]: the table of planted worlds; --world NAME: that of one alone.
python docs/proving_ground.py --images [FOLDER]: the comparison with images and its figure; FOLDER keeps what is
computed, as `transect verify images --out` does.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import effects_figure

from transect.jobs.verify.claims import CLAIMS, WORLDS, Claim
from transect.jobs.verify.estimators import SEEDS, as_rows, prove
from transect.jobs.verify.figures import ImagesFigures, record_of
from transect.jobs.verify.images.sizes import Sizes
from transect.jobs.verify.images.study import compare_methods
from transect.jobs.verify.images.tables import EFFECT_HEADINGS, TRUTH_HEADINGS, by_images, effect_rows, truth_rows
from transect.runs.plain_json import plain

PAGE = Path(__file__).parent / "research" / "proving-ground.md"
FIGURE = Path(__file__).parent / "images" / "effects.svg"
START, END = "<!-- table -->", "<!-- end of table -->"
IMAGES_START, IMAGES_END = "<!-- images -->", "<!-- end of images -->"
COLUMNS = ("method", "expected", "bias", "RMSE", "covers %", "type I %", "power %", "why")


def table(seeds: int) -> str:
    """A section per world: what is planted, and what each method made of it."""
    return f"{seeds} tables per world and row, fewer where a world says so.\n\n" + "\n".join(sections(seeds, CLAIMS))


def sections(seeds: int, claims: Sequence[Claim]) -> list[str]:
    """The sections of the worlds that claims are of."""
    rows = as_rows(prove(seeds, claims=claims, progress=lambda world: print(world, flush=True)))
    why = {(claim.method, claim.world): claim.why for claim in CLAIMS}
    made_sections = []
    for world in [world for world in WORLDS if any(claim.world == world.name for claim in claims)]:
        cells = [
            (method, expected, bias, rmse, covers, one, power, why[method, name])
            for method, name, bias, rmse, covers, one, power, expected, _ in rows
            if name == world.name
        ]
        made = effects_figure.table(COLUMNS, cells)
        made_sections.append(f"### {world.name}\n\n{world.meaning[0].upper()}{world.meaning[1:]}.\n\n{made}")
    return made_sections


def with_world(text: str, name: str, made: str) -> str:
    """The page with one world's section replaced, or added at the end of the table."""
    head, _, rest = text.partition(START)
    tables, _, tail = rest.partition(END)
    own = re.compile(rf"### {re.escape(name)}\n.*?(?=\n\n### |\s*\Z)", flags=re.S)
    if own.search(tables):
        tables = own.sub(lambda _: made.rstrip(), tables)
    else:
        tables = f"{tables.rstrip()}\n\n{made.rstrip()}\n\n"
    return f"{head}{START}{tables}{END}{tail}"


def image_tables(found: Mapping[str, Any]) -> str:
    """The model, its true effects, what each method says at the largest budget, and the errors at every budget."""
    figures = record_of(ImagesFigures, found)
    model, budget = found["model"], max(found["sizes"]["budgets"])
    rates = [f"{100 * model[f'false_{kind}_rate']:.1f}" for kind in ("positive", "negative")]
    return (
        f"On {model['pictures']:,} new images the model is right on {100 * model['accuracy']:.1f} %; it sees a smile "
        f"on {rates[0]} % of the faces without one and none on {rates[1]} % of those with one. Renderer version "
        f"{found['renderer_version']}.\n\n"
        f"{_how_large(found['sizes'])}"
        f"#### The truth, from {found['interventions']:,} interventions (points)\n\n"
        f"{effects_figure.table(TRUTH_HEADINGS, truth_rows(figures))}\n"
        "#### Error by number of images (points, without lipstick; in parentheses: intervals that cover, %)\n\n"
        f"{effects_figure.table(*by_images(figures))}\n"
        f"#### What {budget:,} images say (points; {found['sizes']['repeats']} draws)\n\n"
        f"{effects_figure.table(EFFECT_HEADINGS, effect_rows(figures, budget))}"
    )


def _how_large(sizes: Mapping[str, Any]) -> str:
    """What a smaller run than the full one was made of; nothing of the full one."""
    full = Sizes()
    if sizes["truth"] == full.truth and sizes["repeats"] == full.repeats:
        return ""
    drawn_from = f"{sizes['observed']:,} observed images and {sizes['experiment']:,} subjects of the experiment"
    return (
        f"**A first, smaller run**: {sizes['training']:,} training images, {sizes['truth']:,} subjects for the truth, "
        f"{drawn_from} to draw from, {sizes['repeats']} draws. Differences of a point or two are chance.\n\n"
    )


def replaced(text: str, start: str, end: str, made: str) -> str:
    """The text with what stands between two marks replaced."""
    return re.sub(f"{start}.*{end}", lambda _: f"{start}\n\n{made}\n{end}", text, flags=re.S)


def main() -> None:
    """Replaces what stands between two marks of the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--world", choices=[world.name for world in WORLDS])
    parser.add_argument("--images", type=Path, nargs="?", const=Path("runs/verify-images"), metavar="FOLDER")
    asked = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    if asked.world is not None:
        (made,) = sections(asked.seeds, [claim for claim in CLAIMS if claim.world == asked.world])
        PAGE.write_text(with_world(text, asked.world, made), encoding="utf-8")
        return
    if asked.images is None:
        PAGE.write_text(replaced(text, START, END, table(asked.seeds)), encoding="utf-8")
        return
    write_images(plain(compare_methods(Sizes(), asked.images)))


def write_images(found: Mapping[str, Any]) -> None:
    """Writes the figure and its section of the page."""
    FIGURE.write_text(effects_figure.figure(found), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(text, IMAGES_START, IMAGES_END, image_tables(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
