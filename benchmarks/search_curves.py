"""The paper's Fig. 4 on planted targets: failures by calls with bands, and failures by α, over 20 seeds.

    python benchmarks/search_curves.py [--seeds 20] [--calls 100] [--out FILE.json] [--svg FILE.svg]

One box of 8 % of a cube of four dimensions, and the same with two more dimensions that stand for a latent part and do
not matter; another box for each seed. Counted are failures at least a tenth of the diagonal apart. Bands are
means ± 2 standard errors over seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
from _records import MORE, record
from planted_failures import conduct, failing_target

from transect.designs.search import ActiveSearch, History, Interrogation, Random, apart

ALPHAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
RATE, DIMENSIONS, LATENT = 0.08, 4, 2


def curve(strategy, seed, dimensions, calls, batch=1):
    """Failures apart after each call."""
    target = failing_target("one box", dimensions, RATE, seed)
    history = conduct(strategy, History.empty(dimensions), target, budget=calls, batch=batch)
    counted = np.zeros(calls)
    counted[np.flatnonzero(history.failed)[apart(history.found)]] = 1
    return counted.cumsum()


def band(curves):
    """Mean, and the ends of the band, after each call."""
    made = np.array(curves)
    error = 2 * made.std(axis=0, ddof=1) / len(made) ** 0.5
    mean = made.mean(axis=0)
    return {"mean": mean.tolist(), "low": (mean - error).tolist(), "high": (mean + error).tolist()}


def strategies(latent):
    """Name and maker of each strategy of a figure."""
    made = {"random": Random, "active search": ActiveSearch}
    for alpha in ALPHAS if not latent else (0.2, 0.6):
        made[f"α = {alpha:g}"] = lambda seed, alpha=alpha: Interrogation(seed, alpha=alpha)
    return made


SHOWN = (("random", "#57606a"), ("α = 0.2", "#c2571a"), ("α = 0.6", "#9a5b88"), ("active search", "#1f6f8b"))
WIDTH, HEIGHT, LEFT, TOP, PANEL, TALL = 920, 330, 50, 40, 380, 230


def figure(found):
    """Curves with bands on the left, the sweep of α on the right, as plain SVG on white."""
    curves, calls = found["curves"], found["calls"]
    top = max(curves[f"{name}, {DIMENSIONS} dimensions"]["high"][-1] for name, _ in SHOWN)
    body = [_axes(LEFT, top, "failures apart, by calls", (0, calls // 2, calls))]
    for number, (name, color) in enumerate(SHOWN):
        made = curves[f"{name}, {DIMENSIONS} dimensions"]
        x = [LEFT + PANEL * (i + 1) / calls for i in range(calls)]
        ends = [*zip(x, made["high"], strict=True), *zip(x[::-1], made["low"][::-1], strict=True)]
        body.append(f'<polygon points="{_points(ends, top)}" fill="{color}" opacity=".2"/>')
        body.append(
            f'<polyline points="{_points(zip(x, made["mean"], strict=True), top)}" fill="none" stroke="{color}" '
            'stroke-width="2"/>'
        )
        words = f"McDuff et al., {name}" if name.startswith("α") else name
        body.append(f'<text x="{LEFT + 12}" y="{TOP + 16 + 17 * number}" fill="{color}">{words}</text>')
    right = LEFT + PANEL + 70
    sweep = [(alpha, curves[f"α = {alpha:g}, {DIMENSIONS} dimensions"]) for alpha in ALPHAS]
    most = 1.1 * max(made["high"][-1] for _, made in sweep)
    body.append(_axes(right, most, f"failures apart after {calls} calls, by α", ALPHAS))
    for alpha, made in sweep:
        x = right + PANEL * alpha / 1.0
        low, high, mean = (TOP + TALL * (1 - max(made[end][-1], 0) / most) for end in ("low", "high", "mean"))
        body.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="#9a5b88" stroke-width="2"/>'
        )
        body.append(f'<circle cx="{x:.1f}" cy="{mean:.1f}" r="4" fill="#9a5b88"/>')
    title = "Failures by calls, and by the weight of diversity, on planted targets"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{title}" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#1f2328">'
        f"<title>{title}</title>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#fff"/>{"".join(body)}</svg>\n'
    )


def _points(pairs, top):
    return " ".join(f"{x:.1f},{TOP + TALL * (1 - max(y, 0) / top):.1f}" for x, y in pairs)


def _axes(left, top, words, ticks):
    """Title, a line for each quarter of the height with its number, and ticks below."""
    lines = [f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{words}</text>']
    for share in (0, 0.5, 1):
        y = TOP + TALL * (1 - share)
        lines.append(f'<line x1="{left}" x2="{left + PANEL}" y1="{y}" y2="{y}" stroke="#d8dee4"/>')
        lines.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end" fill="#57606a">{share * top:.3g}</text>')
    for tick in ticks:
        x = left + PANEL * tick / max(ticks)
        lines.append(f'<text x="{x:.1f}" y="{TOP + TALL + 20}" text-anchor="middle" fill="#57606a">{tick:g}</text>')
    return "".join(lines)


def main():
    """Print means after a quarter, half and all calls; keep the curves where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--svg", type=Path, help="where to draw; from --out alone where it has all curves")
    given = parser.parse_args()
    places = [given.calls // 4 - 1, given.calls // 2 - 1, given.calls - 1]
    found = json.loads(given.out.read_text())["curves"] if given.out and given.out.exists() else {}
    print(f"strategy | dimensions | after {' | '.join(str(place + 1) for place in places)} calls", flush=True)
    for latent in (0, LATENT):
        for name, make in strategies(latent).items():
            d, batch = DIMENSIONS + latent, 8 if name == "active search" else 1
            key = f"{name}, {d} dimensions"
            if key not in found:
                found[key] = band([curve(make(seed), seed, d, given.calls, batch) for seed in range(given.seeds)])
            made = found[key]
            cells = [f"{made['mean'][p]:.1f} [{made['low'][p]:.1f}, {made['high'][p]:.1f}]" for p in places]
            print(f"{name} | {d} | {' | '.join(cells)}", flush=True)
            base = found[f"random, {d} dimensions"]["mean"][-1] if f"random, {d} dimensions" in found else 0.0
            if name != "random":
                ratio = made["mean"][-1] / base if base > 0 else np.nan
                record(f"{name}, one box in {d} dimensions", "random points", ratio, MORE, given.seeds)
            if given.out:
                given.out.write_text(
                    json.dumps({"seeds": given.seeds, "calls": given.calls, "curves": found}, indent=1)
                )
    if given.svg:
        given.svg.write_text(figure({"calls": given.calls, "curves": found}))


if __name__ == "__main__":
    main()
