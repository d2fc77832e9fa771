"""What would asking cost? Time, and calls and money for targets that are paid per call; the others are free."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from transect.designs import transect_latents
from transect.protocols import Target
from transect.records import Design, Images
from transect.runs.folder import RunFolder


def quotes(targets: Sequence[Target], images: int) -> list[dict[str, Any]]:
    """What each target would cost for so many images that it never saw; nobody is asked for it.

    name, images, calls (0 for a target that is not metered), cost, currency; metered targets add what is spent and
    left of their budgets (None: no limit).
    """
    return [{"target": target.name, **_quote(target, images)} for target in targets]


def total(made: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All of them as JSON has it: images, calls, cost (None where currencies differ), currency, targets.

    >>> total([{"target": "own", "images": 9, "calls": 0, "cost": 0.0, "currency": ""}])["calls"]
    0
    """
    currencies = sorted({one["currency"] for one in made if one["cost"]})
    return {
        "images": max((one["images"] for one in made), default=0),
        "calls": sum(one["calls"] for one in made),
        "cost": round(sum(one["cost"] for one in made), 9) if len(currencies) < 2 else None,
        "currency": currencies[0] if len(currencies) == 1 else "",
        "targets": [dict(one) for one in made],
    }


def lines(targets: Sequence[Target], images: int) -> list[str]:
    """One line for each metered target: the price at most, what is kept, what the budget has left."""
    return [line(one) for one in quotes(targets, images) if "calls_left" in one]


def line(quote: Mapping[str, Any]) -> str:
    """A quote in words.

    >>> line({"target": "acme", "calls": 60, "cost": 0.06, "currency": "USD", "answers_kept": 10, "calls_left": 40,
    ...       "money_left": None})
    'acme: at most 60 calls and 0.06 USD without further tries; 10 answers are kept and free; left: 40 calls'
    """
    left = [] if quote["calls_left"] is None else [f"{quote['calls_left']} calls"]
    left += [] if quote["money_left"] is None else [f"{quote['money_left']:.9g} {quote['currency']}"]
    money = f" and {quote['cost']:.9g} {quote['currency']}" if quote["cost"] else ""
    return (
        f"{quote['target']}: at most {quote['calls']} calls{money} without further tries; {quote['answers_kept']} "
        f"answers are kept and free; left: {', '.join(left) or 'no limit'}"
    )


def announcement(name: str, design: Design, targets: Sequence[Target], minutes: float) -> list[str]:
    """What is said before a study starts: subjects, images, calls, minutes left, and what metered targets cost."""
    calls = design.n_images * len(targets)
    grid = " × ".join(f"{len(v)} {k}" for k, v in design.levels.items()) or "as the population has them"
    names = ", ".join(target.name for target in targets)
    first = (
        f"{name}: {design.subjects} subjects, {grid}: {design.n_images} images, {calls} calls to {names}; about "
        f"{max(minutes, 0.1):.1f} minutes of rendering and asking left"
    )
    return [first, *lines(targets, design.n_images)]


def announce(study: Any, folder: RunFolder, *, quiet: bool) -> None:
    """Say what a study's design costs before it starts, as timed on a few images."""
    left = sum(not folder.has_part("images", part) for part in range(study.n_parts)) / study.n_parts
    seconds = seconds_per_image(study.world, study.design, study.targets, study.limits.timeout)
    images, minutes = study.design.n_images, seconds * study.design.n_images * left / 60
    folder.log("cost", images=images, calls=images * len(study.targets), minutes=round(minutes, 3))
    for text in [] if quiet else announcement(study.name, study.design, study.targets, minutes):
        print(text, file=sys.stderr)


def seconds_per_image(world: Any, design: Design, targets: Sequence[Target], timeout: float) -> float:
    """Rendering and asking, on at most eight images; a first image warms both up and shows whether targets answer.

    A target that counts its calls (`metered = True`) is not asked for this.
    """
    from transect.targets.guard import guarded

    sample = world.sample(design.subject_seeds(0, 1))
    latents = transect_latents(design, sample, world).take(slice(0, 8))
    first = world.render(latents.take(slice(0, 1)))
    free = [target for target in targets if not getattr(target, "metered", False)]
    answering = [target for target in free if not guarded(target, first, timeout=timeout, batch=1).failed.any()]
    started = time.monotonic()
    images: Images = world.render(latents)
    for target in answering:
        guarded(target, images, timeout=timeout, batch=len(images))
    return (time.monotonic() - started) / len(images)


def made(targets: Sequence[Target]) -> dict[str, Any]:
    """Calls and cost of this process, for `--json`; empty where no target is metered."""
    counted = [target.made() for target in targets if hasattr(target, "made")]
    if not counted:
        return {}
    return {"calls": sum(calls for calls, _ in counted), "cost": round(sum(cost for _, cost in counted), 9)}


def close(targets: Sequence[Target]) -> None:
    """Let targets that hold files or connections close them; only when nobody asks them any more."""
    for target in targets:
        if callable(end := getattr(target, "close", None)):
            end()


def _quote(target: Target, images: int) -> dict[str, Any]:
    if hasattr(target, "quote"):
        return dict(target.quote(images))
    return {"images": images, "calls": 0, "cost": 0.0, "currency": ""}


def show(cost: Any, as_json: bool) -> None:
    """Print what an audit would cost, a line per target, or the same as JSON."""
    if as_json:
        print(json.dumps(cost, indent=2, allow_nan=False))
        return
    for one in cost["targets"]:
        text = line(one) if "calls_left" in one else f"{one['target']}: {one['images']} images, no metered calls"
        print(text)
