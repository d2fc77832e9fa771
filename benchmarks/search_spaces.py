"""What is searched: conditions alone, as McDuff et al. 2019; conditions and attributes; and a latent part besides.

    python benchmarks/search_spaces.py [--seeds 20] [--out FILE.json] [--svg FILE.svg]

First their eight conditions with 400 calls: each fails at a rate of its own, as the margins of their Table 2 (face
detection by IBM) give if race and gender multiply, 8.1 % over all; which condition has which rate is drawn anew for
each seed, and every call is a fresh face. Counted are failures, and conditions that have one.

Then FaceWorld's subjects with 100 calls: the target fails on dark-skinned faces with glasses whose identity code lies
on one side of a plane, about 8 % of all; the plane turns with the seed. Conditions are glasses by four skin tones;
attributes are glasses, skin tone and light level; the latent space has the first four coordinates of the identity code
besides.
Counted are failures a tenth of the diagonal apart in that whole space, whatever was searched. Bands are means ± 2
standard errors over seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
from _records import MORE, record
from planted_failures import conduct
from scipy.special import ndtr
from search_curves import ALPHAS, HEIGHT, LEFT, PANEL, TOP, WIDTH, _axes, _points, band

from transect.designs.search import ActiveSearch, History, Interrogation, Random, Thompson, apart
from transect.designs.search.history import stream
from transect.designs.search.interrogation import condition_of
from transect.designs.search.space import space_of
from transect.generators import load

RACE, GENDER = np.array([16.9, 7.63, 3.96, 3.8]) / 100, np.array([11.3, 2.27]) / 6.785
STEPS = ((0.25, 0.5, 0.75), (0.5,))
CALLS, WORLD_CALLS = 400, 100
LATENT = 4
VARY = {
    "conditions": ["glasses=none,thin frame", "skin_tone=2,4,6,9"],
    "attributes": ["glasses=none,thin frame", "skin_tone", "light_level"],
    "latent": ["glasses=none,thin frame", "skin_tone", "light_level"],
}
SIDE = 0.4677
"""Where the plane lies: 32 % of N(0, 1) is beyond; a half of the faces is dark-skinned, and a half has glasses."""


class Conditions:
    """Fails on fresh faces of eight conditions at their rates; of a call it knows the condition alone."""

    def __init__(self, seed):
        self.random = stream(seed, 11)
        self.rates = self.random.permutation(np.outer(RACE, GENDER).ravel())

    def __call__(self, points):
        """1 where a fresh face of the condition fails."""
        return (self.random.random(len(points)) < self.rates[condition_of(points, STEPS)]).astype(float)


class Faces:
    """Fails where glasses, dark skin and the identity code meet; keeps where each call's subject lies in all seven."""

    def __init__(self, world, space, seed):
        self.world, self.space, self.seed = world, space, seed
        normal = stream(seed, 12).standard_normal(LATENT)
        self.normal, self.shown = normal / np.linalg.norm(normal), []
        self.tones = np.sort(_tones(world))

    def __call__(self, points):
        """1 where the subject that a point makes fails."""
        start = sum(map(len, self.shown))
        seeds = np.arange(len(points)) + start + 1_000_000 * (self.seed + 1)
        latents = self.space.subjects(self.world, seeds, points)
        table = self.world.read(latents)
        tone = np.searchsorted(self.tones, table["skin_tone"].to_numpy()) / len(self.tones)
        glasses, light = table["glasses"].to_numpy(), (table["light_level"].to_numpy() + 6) / 7
        identity = latents.values[:, :LATENT]
        self.shown.append(np.column_stack([0.25 + glasses / 2, tone, light, ndtr(identity)]))
        return ((glasses > 0) & (tone > 0.5) & (identity @ self.normal > SIDE)).astype(float)


def _tones(world):
    return world.read(world.sample(np.arange(4096) + (1 << 61)))["skin_tone"].to_numpy()


def condition_strategies():
    """Name and maker of each strategy over eight conditions."""
    made = {"random": Random, "Thompson": lambda seed: Thompson(STEPS, seed)}
    for alpha in ALPHAS:
        made[f"α = {alpha:g}"] = lambda seed, alpha=alpha: Interrogation(seed, alpha, STEPS)
    return made


def on_conditions(make, seed, calls):
    """Failures, and conditions with a failure, after each call."""
    history = conduct(make(seed), History.empty(2), Conditions(seed), budget=calls)
    which, seen, kinds = condition_of(history.points, STEPS), set(), []
    for condition, failed in zip(which, history.failed, strict=True):
        if failed:
            seen.add(condition)
        kinds.append(len(seen))
    return history.failed.cumsum(), np.array(kinds)


def world_strategies(space):
    """Name and maker of each strategy over a space of FaceWorld, and the calls that it chooses at once."""
    own = (lambda seed: Thompson(space.steps, seed)) if space.conditions_alone else ActiveSearch
    made = {"random": (Random, 8), "ours": (own, 8)}
    made["α = 0.2"] = (lambda seed: Interrogation(seed, 0.2, space.steps), 1)
    return made


def on_faces(make, batch, world, space, seed, calls):
    """Failures apart in the whole space after each call."""
    target = Faces(world, space, seed)
    history = conduct(make(seed), History.empty(len(space.attributes)), target, budget=calls, batch=batch)
    shown = np.concatenate(target.shown)
    counted = np.zeros(calls)
    counted[np.flatnonzero(history.failed)[apart(shown[history.failed])]] = 1
    return counted.cumsum()


def measure(found, seeds, keep):
    """Fill in what is not yet in `found`, and keep it after each strategy."""
    for name, make in condition_strategies().items():
        if f"conditions: {name}" not in found:
            runs = [on_conditions(make, seed, CALLS) for seed in range(seeds)]
            found[f"conditions: {name}"] = band([one for one, _ in runs])
            found[f"kinds: {name}"] = band([kinds for _, kinds in runs])
            keep(found)
    world = load("faceworld", image_size=32)
    for kind, vary in VARY.items():
        space = space_of(world, vary, kind=kind, latent_dims=LATENT)
        for name, (make, batch) in world_strategies(space).items():
            if f"{kind}, faces: {name}" not in found:
                runs = [on_faces(make, batch, world, space, seed, WORLD_CALLS) for seed in range(seeds)]
                found[f"{kind}, faces: {name}"] = band(runs)
                keep(found)


def table(found):
    """The numbers after a quarter, half and all calls, with their bands."""
    lines = []
    for name, made in found.items():
        total = len(made["mean"])
        cells = [
            f"{made['mean'][place]:.1f} [{made['low'][place]:.1f}, {made['high'][place]:.1f}]"
            for place in (total // 4 - 1, total // 2 - 1, total - 1)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


COLORS = ("#57606a", "#c2571a", "#9a5b88", "#1f6f8b", "#5d7a2f")
LEFT_PANEL = ("random", "α = 0.2", "α = 0.6", "Thompson")
RIGHT_PANEL = (
    "latent, faces: random",
    "conditions, faces: ours",
    "attributes, faces: ours",
    "latent, faces: ours",
    "latent, faces: α = 0.2",
)
WORDS = {
    "α = 0.2": "McDuff et al., α = 0.2",
    "α = 0.6": "McDuff et al., α = 0.6",
    "Thompson": "Thompson sampling",
    "latent, faces: random": "random",
    "conditions, faces: ours": "ours, conditions alone",
    "attributes, faces: ours": "ours, and attributes",
    "latent, faces: ours": "ours, and a latent part",
    "latent, faces: α = 0.2": "McDuff et al., α = 0.2, and a latent part",
}


def figure(found):
    """Failures by calls over eight conditions on the left, by what is searched on the right, as plain SVG on white."""
    left = {name: found[f"conditions: {name}"] for name in LEFT_PANEL}
    right = {name: found[name] for name in RIGHT_PANEL}
    body = _panel(LEFT, left, "failures over eight conditions, by calls", (0, CALLS // 2, CALLS))
    body += _panel(LEFT + PANEL + 70, right, "failures apart on faces, by calls", (0, WORLD_CALLS // 2, WORLD_CALLS))
    title = "Failures by calls over conditions, attributes and a latent part"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{title}" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#1f2328">'
        f"<title>{title}</title>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#fff"/>{"".join(body)}</svg>\n'
    )


def _panel(left, curves, words, ticks):
    top = max(made["high"][-1] for made in curves.values())
    body = [_axes(left, top, words, ticks)]
    for number, ((name, made), color) in enumerate(zip(curves.items(), COLORS, strict=False)):
        calls = len(made["mean"])
        x = [left + PANEL * (i + 1) / calls for i in range(calls)]
        ends = [*zip(x, made["high"], strict=True), *zip(x[::-1], made["low"][::-1], strict=True)]
        body.append(f'<polygon points="{_points(ends, top)}" fill="{color}" opacity=".2"/>')
        line = _points(zip(x, made["mean"], strict=True), top)
        body.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        words_at = f'x="{left + 12}" y="{TOP + 16 + 17 * number}"'
        body.append(f'<text {words_at} fill="{color}">{WORDS.get(name, name)}</text>')
    return body


def main():
    """Print the means; keep the curves and draw them where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--svg", type=Path)
    given = parser.parse_args()
    found = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}

    def keep(numbers):
        if given.out:
            given.out.write_text(json.dumps(numbers, indent=1))

    measure(found, given.seeds, keep)
    print(table(found))
    for name, made in found.items():
        peer = found.get(f"{name.rpartition(': ')[0]}: random", made)
        if peer is not made:
            ratio = made["mean"][-1] / peer["mean"][-1] if peer["mean"][-1] > 0 else np.nan
            record(name, "random points", ratio, MORE, given.seeds)
    if given.svg:
        given.svg.write_text(figure(found))


if __name__ == "__main__":
    main()
