"""Counterfactual recognition: does a person still verify after an edit, and for whom does it break?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.analysis.sections.answers import Answers, by_subject, drawn, point, share, table, words
from transect.analysis.sections.places import placed
from transect.effects import intervals, multiplicity, resampling, verification
from transect.effects.contrasts import known_mean, known_means
from transect.effects.observational import SOURCES as OBSERVED
from transect.effects.observational import associations, cut
from transect.effects.verification import SOURCES, Threshold, Verified
from transect.records import Attribute
from transect.reports.records import Figure, Point, Section, Table
from transect.reports.wording import short_name
from transect.runs.wording import counted

_TEXT: Final = (
    "Each image is compared with its subject's reference image: the same subject at the first level of every "
    "attribute that is edited{within}. All else is held: pose, light, background and noise are the same, so an "
    "image without an edit has distance 0, and a non-match is caused by the edit. Two photographs of one "
    "person differ far more: the rates show what an edit alone can do, and do not predict how often people are "
    "rejected.",
    "A match is a cosine distance below the threshold. {threshold}",
    "Edits are shown one at a time, with others at their first level; intervals are 95 %, by subject. The "
    "first image always matches itself, so a rate is the edit's effect and is not tested against 0.",
    "For whom: groups of an attribute that was set are the same subjects, so the attribute causes their "
    "difference; groups of one that came with the subjects are other people, so their difference is an "
    "association. The {tests} of differences are a separate family (Holm).",
)
_FOUND: Final = (
    "The threshold {value:.4g}{ends} was chosen so that at most {requested:g} of {n:,} "
    "comparisons of different subjects' reference images match: {false} did. {interval}"
)
_INTERVAL: Final = (
    "Its interval holds the distances at which the interval of the false match rate, by both subjects of a comparison, "
    "contains the requested rate. Intervals of the rates below include it; the last columns of the table by edit show "
    "the rates at its ends. Differences between groups hold the threshold fixed."
)
_NO_INTERVAL: Final = (
    "{subjects} were compared, fewer than {fewest}: neither the threshold nor a rate at it has an interval."
)
_STATED: Final = (
    "The threshold {value:.4g} was stated. Of {n:,} comparisons of different subjects' reference images {false} match."
)
_LEFT: Final = "Only reference images of the first {n:,} subjects are compared; {left:,} more are not."
_RENDERED: Final = (
    "To a network that learned from photographs, a generator's subjects differ less than people do: a "
    "threshold chosen here is for these images and not the one that a service uses."
)
_Row = dict[str, Any]


@placed(50, "answers")
def section(answers: Answers) -> Section | None:
    """The section of one embedding target in one experiment; None without a threshold."""
    verified = answers.verified
    if verified is None:
        return None
    edits = list(_edits(answers, verified))
    rates = [_edit_row(answers, verified, name, level, mask) for name, level, mask in edits]
    groups = [row for edit in edits for row in _by_groups(answers, verified, *edit)]
    tests = _adjusted(groups)
    return Section(
        key="verification",
        study=answers.study,
        target=answers.target,
        title=f"Verification: {short_name(answers.target)}",
        text=_text(verified, tests),
        warnings=[verified.threshold.reason] if verified.threshold.reason else [],
        figures=[_figure(rates, groups)],
        tables=[
            _false_matches(answers, verified),
            _edit_table(verified, rates),
            _group_table(groups),
            _difference_table(groups),
        ],
        sources=[*SOURCES, OBSERVED["Newcombe hybrid score"], multiplicity.HOLM],
    )


def _text(verified: Verified, tests: int) -> list[str]:
    at = verified.threshold
    within = ", and at the same level of " + " and ".join(map(words, verified.within)) if verified.within else ""
    known = np.isfinite(at.low)
    few = _NO_INTERVAL.format(subjects=counted(at.n_subjects, "subject"), fewest=verification.FEWEST_IDENTITIES)
    ends = f" ({at.low:.4g} to {at.high:.4g})" if known else ""
    numbers = {"value": at.value, "ends": ends, "requested": at.requested, "n": at.n}
    numbers["interval"] = _INTERVAL if known else few
    template = _STATED if np.isnan(at.requested) else _FOUND
    sentence = at.reason or template.format(false=f"{at.false_matches:,}", **numbers)
    lines = [line.format(within=within, threshold=sentence, tests=counted(tests, "test")) for line in _TEXT]
    return [*lines, *([_LEFT.format(n=at.n_subjects, left=at.left_out)] if at.left_out else []), _RENDERED]


_Edit = tuple[str, float, Bool[np.ndarray, " n"]]


def _edits(answers: Answers, verified: Verified) -> Iterator[_Edit]:
    """Each edited attribute, each level of it but the first, and the images where it alone is edited."""
    cells = answers.design.shape
    places = np.indices(cells).reshape(len(cells), -1)[:, answers.cells]
    names = list(answers.design.levels)
    edited = [axis for axis, name in enumerate(names) if name not in verified.within]
    for axis in edited:
        alone = np.all(
            [places[other] == 0 for other in edited if other != axis] or [np.ones(len(answers.cells), bool)], axis=0
        )
        for place, level in enumerate(answers.design.levels[names[axis]][1:], start=1):
            yield names[axis], level, np.asarray(alone & (places[axis] == place))


def _edit_row(answers: Answers, verified: Verified, name: str, level: float, mask: Bool[np.ndarray, " n"]) -> _Row:
    """Non-match rate and mean distance after one edit."""
    rate, low, high, n, *ends = _non_matches(answers.subjects, verified, mask)
    sums, counts = by_subject(np.where(mask, verified.distance, np.nan), answers.subjects)
    far = intervals.mean_interval(sums[:, None], counts[:, None])
    mean = sums.sum() / counts.sum() if counts.sum() else np.nan
    edit = _edit_words(answers, name, level)
    distance = (mean, float(far.low[0]), float(far.high[0]))
    missing = int((mask & ~np.isfinite(verified.non_match)).sum())
    return {"edit": edit, "rate": (rate, low, high), "distance": distance, "n": n, "missing": missing, "ends": ends}


def _at(verified: Verified, threshold: float) -> Float[np.ndarray, " n"]:
    """Non-matches at another threshold; NaN without one."""
    known = np.isfinite(verified.distance) & np.isfinite(threshold)
    return np.where(known, verified.distance >= threshold, np.nan)


def _edit_words(answers: Answers, name: str, level: float) -> str:
    attribute, first = answers.attributes[name], answers.design.levels[name][0]
    return f"{words(name)}: {attribute.label(first)} to {attribute.label(level)}"


def _non_matches(
    subjects: Int[np.ndarray, " n"], verified: Verified, mask: Bool[np.ndarray, " n"]
) -> tuple[float, float, float, int, float, float]:
    """Rate, low, high and images; the rates at the ends of the threshold's interval, which the interval includes."""
    rate, low, high, _, n = share(verified.non_match[mask], subjects[mask])
    at = verified.threshold
    ends = [share(_at(verified, end)[mask], subjects[mask]).value for end in (at.low, at.high)]
    if np.isfinite(at.requested):
        low, high = verification.moved(np.array([rate]), np.array([[low, high]]), np.array([ends]))[0].tolist()
    return rate, low, high, n, ends[0], ends[1]


def _by_groups(
    answers: Answers, verified: Verified, name: str, level: float, mask: Bool[np.ndarray, " n"]
) -> list[_Row]:
    """Rates of an edit in every group, and the difference of the last group (each level of names) from the first."""
    edit = _edit_words(answers, name, level)
    rows = [row for group in verified.within for row in _set_groups(answers, verified, mask, group)]
    rows += [row for group in verified.own for row in _own_groups(answers, verified, mask, group)]
    return [{"edit": edit, **row} for row in rows]


def _set_groups(answers: Answers, verified: Verified, mask: Bool[np.ndarray, " n"], group: str) -> list[_Row]:
    """Groups of an attribute that the experiment set: the same subjects in each."""
    axis = list(answers.design.levels).index(group)
    place = np.unravel_index(answers.cells, answers.design.shape)[axis]
    attribute, levels = answers.attributes[group], answers.design.levels[group]
    seen = [np.where(mask & (place == k), verified.non_match, np.nan) for k in range(len(levels))]
    shares = [known_means(answers.grid(each), axis=1) for each in seen]
    rows = []
    for k, level in enumerate(levels):
        rate = _non_matches(answers.subjects, verified, mask & (place == k))[:4]
        row: _Row = {"group": words(group), "name": attribute.label(level), "rate": rate}
        if k:
            d = (shares[k] - shares[0])[:, None]
            interval = intervals.mean_difference_interval(d, binary=True)
            p, _ = resampling.sign_flip(d, seed=answers.design.seed)
            ends = (float(interval.low[0]), float(interval.high[0]))
            names = f"{attribute.label(levels[0])} to {attribute.label(level)}"
            row |= {
                "difference": (names, known_mean(d), *ends, float(p[0]), int(np.isfinite(d).sum())),
                "basis": "set",
                "reason": "" if interval.methods[0] else "no two subjects whose difference varies",
            }
        rows.append(row)
    return rows


def _own_groups(answers: Answers, verified: Verified, mask: Bool[np.ndarray, " n"], group: str) -> list[_Row]:
    """Groups of an attribute that came with the subjects: others in each."""
    attribute: Attribute = verified.known[group]
    column, values, who = verified.own[group][mask], verified.non_match[mask], answers.subjects[mask]
    groups = cut(attribute, column, answers.bins.get(group))
    none = np.where(np.isfinite(values), "", "failed").astype(object)
    effects = associations(values, none, groups, column, is_binary=True, subjects=who)
    contrasts = {effect.to: effect for effect in effects if effect.kind == "contrast"}
    rows = []
    for k, center in enumerate(groups.centers):
        chosen = np.asarray(groups.index == k)
        rate = _non_matches(answers.subjects, verified, _within(mask, chosen))[:4]
        row: _Row = {"group": words(group), "name": groups.label(k), "rate": rate}
        if (c := contrasts.get(center)) and k:
            names = c.name.partition(": ")[2]
            row |= {
                "difference": (names, c.estimate, c.low, c.high, c.p, c.n_subjects),
                "basis": "came",
                "reason": c.reason,
            }
        rows.append(row)
    return rows


def _within(mask: Bool[np.ndarray, " n"], chosen: Bool[np.ndarray, " m"]) -> Bool[np.ndarray, " n"]:
    """The images of the mask that are chosen among them."""
    inside = mask.copy()
    inside[mask] = chosen
    return inside


def _adjusted(groups: list[_Row]) -> int:
    """Gives each difference its p after Holm's correction; how many there are."""
    tested = [row for row in groups if "difference" in row]
    p = multiplicity.holm(np.array([row["difference"][4] for row in tested], dtype=np.float64))
    for row, value in zip(tested, p, strict=True):
        row["p_adjusted"] = float(value)
    return int(np.isfinite(p).sum())


def _figure(rates: list[_Row], groups: list[_Row]) -> Figure:
    """A panel with every edit, then one with its groups for each."""
    dots = {"Every edit, all subjects": [_dot(row["edit"], (*row["rate"], row["n"])) for row in rates]}
    for row in groups:
        dots.setdefault(row["edit"], []).append(_dot(f"{row['group']} {row['name']}", row["rate"]))
    panels = {heading: {"non-match rate": points} for heading, points in dots.items()}
    title = "How often does verification fail after an edit?"
    caption = "(bars are 95 % intervals by subject; the numbers are images)"
    return drawn("rows", title, caption, panels, "non-match rate", "proportion")


def _dot(label: str, found: tuple[float, float, float, int]) -> Point:
    rate, low, high, n = found
    return point(rate, low=low, high=high, label=label, n=n)


def _false_matches(answers: Answers, verified: Verified) -> Table:
    """What the threshold lets through: all reference images, and those at each level of what was compared within."""
    at: Threshold = verified.threshold
    rows: list[list[object]] = [["all", at.rate, at.rate_low, at.rate_high, at.false_matches, at.n]]
    if verified.within:
        cells = list(answers.design.cells())
        for cell, *numbers in at.groups:
            names = [f"{words(name)} {answers.attributes[name].label(cells[cell][name])}" for name in verified.within]
            rows.append([", ".join(names), *numbers])
    heads = [("reference images", "text"), ("false match rate", "proportion"), ("low", "proportion")]
    heads += [("high", "proportion"), ("false matches", "count"), ("comparisons", "count")]
    return table("False matches of different subjects at the threshold", heads, rows)


def _edit_table(verified: Verified, rates: list[_Row]) -> Table:
    heads = [("edit", "text"), ("non-match rate", "proportion"), ("low", "proportion"), ("high", "proportion")]
    heads += [("mean distance", "number"), ("distance: low", "number"), ("distance: high", "number")]
    heads += [("images", "count"), ("without an answer", "count")]
    ends = () if np.isnan(verified.threshold.requested) else ("low", "high")
    heads += [(f"at threshold's {end}", "proportion") for end in ends]
    rows = [[r["edit"], *r["rate"], *r["distance"], r["n"], r["missing"], *r["ends"][: len(ends)]] for r in rates]
    return table("Non-matches by edit", heads, rows)


def _group_table(groups: list[_Row]) -> Table:
    heads = [("edit", "text"), ("attribute", "text"), ("group", "text"), ("non-match rate", "proportion")]
    heads += [("low", "proportion"), ("high", "proportion"), ("images", "count")]
    rows = [[row["edit"], row["group"], row["name"], *row["rate"]] for row in groups]
    return table("Non-matches by group, edit by edit", heads, rows)


def _difference_table(groups: list[_Row]) -> Table:
    heads = [("edit", "text"), ("attribute", "text"), ("groups", "text"), ("difference", "points"), ("low", "points")]
    heads += [("high", "points"), ("p", "p"), ("p (Holm)", "p"), ("subjects", "count"), ("the attribute", "text")]
    heads += [("why no interval", "text")]
    rows = []
    for r in groups:
        if "difference" in r:
            names, estimate, low, high, p, n = r["difference"]
            basis = "was set" if r["basis"] == "set" else "came with the subjects"
            rows.append([r["edit"], r["group"], names, estimate, low, high, p, r["p_adjusted"], n, basis, r["reason"]])
    return table("For whom: differences between groups", heads, rows)
