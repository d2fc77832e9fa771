"""What a study costs: calls to models, counted and foretold."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from transect.designs import transect_latents
from transect.designs.pairs import cell_pairs, rule
from transect.engines.protocol import Engine, cores
from transect.experiment import two_images
from transect.protocols import Closable, CountsCalls, Metered, PricedBySize, Target, World
from transect.records import CallCounts, Design, Images, Quote
from transect.runs.folder import RunFolder, canonical_json, slug, write_atomically
from transect.runs.json_records import dumps, plain, record_in
from transect.runs.wording import counted
from transect.targets.capabilities import answers_in_words, is_metered
from transect.targets.words.asked import AskedTarget
from transect.texts import say

if TYPE_CHECKING:
    from transect.experiment.study import Study


CALLS_FOLDER: Final = "call_counts"


@final
@dataclass(frozen=True, slots=True)
class TargetCalls:
    """The calls to one target, one for each text; money: what all programs so far spent on it, 0 if not known."""

    target: str
    counts: CallCounts
    in_words: bool = False
    money: float = 0.0
    currency: str = ""


def keep_calls(folder: Path, targets: Sequence[Target]) -> None:
    """Write the counts of targets into a run folder; a target that this program did not call keeps its earlier ones."""
    for target in targets:
        _keep(folder, slug(target.name), target.name, target, target, in_words=answers_in_words(target))
        judge = target.coders.judge if isinstance(target, AskedTarget) else None
        if judge is not None:  # whose calls no target states
            name = f"{judge.name} (judge)"
            _keep(folder, f"judge-{slug(judge.name)}", name, judge.speaker, judge, in_words=True)


def _keep(folder: Path, file: str, name: str, counting: object, called: Any, *, in_words: bool) -> None:
    """counting: what may know its calls. called: what knows whether this program called it."""
    path = folder / CALLS_FOLDER / f"{file}.json"
    if not isinstance(counting, CountsCalls) or (counts := counting.call_counts()) is None:
        return
    if path.exists() and not called.calls_made()[0]:
        return
    record: dict[str, object] = {"target": name, "counts": plain(counts)}
    if in_words:
        spent = counting.quote(0)
        money = spent.money_spent or 0.0
        record = plain(TargetCalls(name, counts, in_words=True, money=money, currency=spent.currency))
    write_atomically(path, canonical_json(record) + "\n")


def read_calls(folder: Path) -> list[TargetCalls]:
    """The counts that a run folder keeps; none for a run without such targets. Raises BadInput for a broken file."""
    return [record_in(path, TargetCalls) for path in sorted((folder / CALLS_FOLDER).glob("*.json"))]


@final
@dataclass(frozen=True, slots=True)
class Cost:
    """All quotes of a study; cost: their sum, None where currencies differ."""

    images: int
    calls: int
    cost: float | None
    currency: str
    targets: tuple[Quote, ...]


@final
@dataclass(frozen=True, slots=True)
class Spent:
    """Calls to metered targets, and their cost."""

    calls: int
    cost: float


def quotes(targets: Sequence[Target], images: int, side: int) -> list[Quote]:
    """A quote of each target for N square images with so many pixels a side; no target is called for it."""
    made: list[Quote] = []
    for target in targets:
        quote = _quote(target, images, side)
        # Targets that read the same kept answers in different ways ask about an image once.
        first = next((other for other in made if quote.answers_of and other.answers_of == quote.answers_of), None)
        made.append(replace(quote, calls=0, cost=0.0, tokens=0, shared_with=first.target) if first else quote)
        if isinstance(target, AskedTarget) and (judge := target.coders.judge) is not None and judge.metered:
            made.append(judge.quote(target.name, target.question, images))
    return made


def total(quotes: Sequence[Quote]) -> Cost:
    """The sum of quotes."""
    currencies = sorted({quote.currency for quote in quotes if quote.cost})
    return Cost(
        images=max((quote.images for quote in quotes), default=0),
        calls=sum(quote.calls for quote in quotes),
        cost=round(sum(quote.cost for quote in quotes), 9) if len(currencies) < 2 else None,
        currency=currencies[0] if len(currencies) == 1 else "",
        targets=tuple(quotes),
    )


def lines(targets: Sequence[Target], images: int, side: int) -> list[str]:
    """One line for each metered target: the price at most, the answers on disk, the budget that is left."""
    return [line(quote) for quote in quotes(targets, images, side) if quote.metered]


def line(quote: Quote) -> str:
    """A quote in words."""
    if not quote.metered:
        return f"{quote.target}: {counted(quote.images, 'image')}, no metered calls"
    if quote.shared_with:
        return f"{quote.target}: no further calls; it reads the answers to {quote.shared_with}"
    left = [] if quote.calls_left is None else [counted(quote.calls_left, "call")]
    left += [] if quote.money_left is None else [f"{quote.money_left:.9g} {quote.currency}"]
    left += [] if quote.tokens_left is None else [counted(quote.tokens_left, "token")]
    tokens = f", {counted(quote.tokens, 'token')}" if quote.tokens else ""
    money = f" and {quote.cost:.9g} {quote.currency}" if quote.cost else ""
    answers = "1 answer is" if quote.answers_kept == 1 else f"{quote.answers_kept} answers are"
    kept = "" if quote.answers_kept is None else f"; {answers} on disk and free"
    return (
        f"{quote.target}: at most {counted(quote.calls, 'call')}{tokens}{money} without retries{kept}; left: "
        f"{', '.join(left) or 'no limit'}"
    )


def calls_of(targets: Sequence[Target], images: int) -> int:
    """How many calls this many images take: one each, or one for each text that a question in words sends."""
    return sum(images * (target.asks if isinstance(target, AskedTarget) else 1) for target in targets)


def announcement(study: Study, minutes: float) -> list[str]:
    """What a study prints before it starts: subjects, images, calls, minutes left, cost of metered targets."""
    name, design, targets = study.name, study.design, study.targets
    calls = calls_of(targets, design.n_images)
    grid = " × ".join(f"{len(v)} {k}" for k, v in design.levels.items()) or "as sampled"
    names = ", ".join(target.name for target in targets)
    images = f"{counted(design.n_images, 'image')}, {counted(calls, 'call')} to {names}"
    metered = any(is_metered(target) for target in targets)
    work = "rendering and prediction left"
    if metered:
        work = "rendering left; the time of the calls is estimated from the first ones"
    subjects = counted(design.subjects, "photograph" if study.world.name.startswith("photographs:") else "subject")
    first = f"{name}: {subjects}, {grid}: {images}; about {max(minutes, 0.1):.1f} minutes of {work}"
    return [first, *lines(targets, design.n_images, int(study.world.image_size))]


def about_pairs(study: Study) -> list[str]:
    """As `announcement`, of what is asked about two images at once; nothing where nothing is."""
    pairs, matched = two_images.count(study.design, study.matched), study.matched
    if matched is None:
        shown = f"{counted(len(cell_pairs(study.design)), 'pair')} of each subject ({rule(study.design)})"
    else:
        shown = f"{counted(pairs, 'pair')} of two subjects each, matched in {matched.name}"
    texts = [
        f"{study.name}: {one.name}: two images at once, {shown}, in both orders: {counted(pairs * one.asks, 'text')}"
        for one in study.pairs
    ]
    return [*texts, *(line(quote) for one in study.pairs if (quote := one.quote(pairs)).metered)]


def announce(study: Study, folder: RunFolder, engine: Engine, *, quiet: bool) -> None:
    """Print what a study costs before it starts, as timed on a few images on this machine, by cores."""
    left = sum(not folder.has_part("images", part) for part in range(study.n_parts)) / study.n_parts
    seconds = seconds_per_image(study.world, study.design, study.targets, study.limits.timeout)
    images = study.design.n_images
    minutes = seconds * images * left / 60 * cores() / engine.cores
    folder.log("cost", images=images, calls=calls_of(study.targets, images), minutes=round(minutes, 3))
    for text in [] if quiet else [*announcement(study, minutes), *about_pairs(study)]:
        say(text, error=True)


def seconds_per_image(world: World, design: Design, targets: Sequence[Target], timeout: float) -> float:
    """Seconds to render and predict one image, on at most eight after a first; metered targets are not called."""
    from transect.targets.guard import guarded

    sample = world.sample(design.subject_seeds(0, 1))
    latents = transect_latents(design, sample, world).take(slice(0, 8))
    first = world.render(latents.take(slice(0, 1)))
    free = [target for target in targets if not is_metered(target)]
    answering = [target for target in free if not guarded(target, first, timeout=timeout, batch=1).failed.any()]
    started = time.monotonic()
    images: Images = world.render(latents)
    for target in answering:
        guarded(target, images, timeout=timeout, batch=len(images))
    return (time.monotonic() - started) / len(images)


def spent(targets: Sequence[Target]) -> Spent | None:
    """Calls and cost of this process; None where no target is metered."""
    counts = [target.calls_made() for target in targets if isinstance(target, Metered)]
    if not counts:
        return None
    return Spent(sum(calls for calls, _ in counts), round(sum(cost for _, cost in counts), 9))


def spent_by_all(target: Target) -> Spent | None:
    """Calls and cost of all programs so far, where a metered target states them."""
    quote = target.quote(0) if isinstance(target, Metered) else None
    if quote is None or quote.calls_spent is None or quote.money_spent is None:
        return None
    return Spent(quote.calls_spent, quote.money_spent)


def close(targets: Sequence[Target]) -> None:
    """Close the files and connections of targets that are no longer used."""
    for target in targets:
        if isinstance(target, Closable):
            target.close()


def _quote(target: Target, images: int, side: int) -> Quote:
    if isinstance(target, PricedBySize):
        return target.quote_of(images, side)
    return target.quote(images) if isinstance(target, Metered) else Quote(target.name, images, metered=False)


def show(cost: Cost, as_json: bool) -> None:
    """Print a line per target, or the cost as JSON."""
    say(dumps(cost) if as_json else "\n".join(line(quote) for quote in cost.targets))
