"""Results and pictures as a real audit would give them, from a seeded simulation; the pictures are noise."""

import copy
import io
import itertools
import math

import numpy as np
from PIL import Image

from transect.reports import Example, Gallery, Strip

NAN = math.nan
CASCADE, HOG, SMILE = "opencv:haarcascade_frontalface_default", "dlib:hog-face", "opencv:haarcascade_smile"
BCA = "BCa bootstrap over subjects"
SCORE_INTERVAL = "paired score interval (Tango)"


def attribute(name, kind, unit, meaning, levels, labels=None, source="Monk 2023"):
    labels = labels or [f"{value:g}" for value in levels]
    return {
        "name": name,
        "kind": kind,
        "unit": unit,
        "meaning": meaning,
        "levels": [float(value) for value in levels],
        "labels": labels,
        "source": source,
    }


SKIN = attribute("skin_tone", "continuous", "Monk scale", "skin tone on the Monk scale", [1, 3.25, 5.5, 7.75, 10])
LIGHT = attribute("light_level", "continuous", "stops", "scene light relative to nominal", [-4, -2, 0], source="")
GLASSES = attribute("glasses", "binary", "", "wears glasses", [0, 1], ["off", "on"], source="")
SMILING = attribute("smile", "continuous", "", "how far the mouth smiles", [0, 0.5, 1], source="")
BEARD = attribute("facial_hair", "continuous", "", "amount of facial hair", [0, 1], source="")


def target(name, task, n_images, n_failed=0, reasons=None, found_rule=None):
    return {
        "name": name,
        "slug": name.replace(":", "-"),
        "task": task,
        "description": {
            "library": name.split(":")[0],
            "scale_factor": 1.05,
            "minimum_neighbors": 3,
            "preprocess": {"channels": "gray"},
        },
        "n_images": n_images,
        "n_failed": n_failed,
        "failure_reasons": reasons or {},
        "truth": None,
        "found_rule": found_rule,
    }


def study(name, attributes, targets, outcomes, subjects=150, truth="face"):
    cells = math.prod(len(entry["levels"]) for entry in attributes)
    spec = {
        "generator": {"name": "faceworld", "image_size": 96},
        "design": {"levels": {entry["name"]: entry["levels"] for entry in attributes}, "subjects": subjects, "seed": 7},
        "targets": [entry["name"] for entry in targets],
    }
    return {
        "name": name,
        "spec": spec,
        "spec_hash": "9f1c" * 16,
        "basis": "experimental",
        "subjects": subjects,
        "images": subjects * cells,
        "hold": [],
        "population": "balanced",
        "truth": truth,
        "seed": 7,
        "attributes": attributes,
        "targets": targets,
        "outcomes": outcomes,
    }


def simulated(entry, weights, base, generator):
    """A 0/1 outcome [subjects, *levels] from a logistic model with a subject effect."""
    grids = np.meshgrid(*[np.asarray(attribute["levels"]) for attribute in entry["attributes"]], indexing="ij")
    logit = base + sum(weight * grid for weight, grid in zip(weights, grids, strict=True))
    subject = generator.normal(0, 1.2, entry["subjects"]).reshape(-1, *[1] * logit.ndim)
    return (generator.random((entry["subjects"], *logit.shape)) < 1 / (1 + np.exp(-(logit + subject)))).astype(float)


def rates(entry, name, outcome, table, unit="proportion"):
    rows = []
    attributes = entry["attributes"]
    for order in range(min(3, len(attributes)) + 1):
        for chosen in itertools.combinations(range(len(attributes)), order):
            for cell in itertools.product(*(range(len(attributes[axis]["levels"])) for axis in chosen)):
                index = [slice(None)] * table.ndim
                for axis, position in zip(chosen, cell, strict=True):
                    index[axis + 1] = position
                values = table[tuple(index)].ravel()
                low, high = wilson(values) if unit == "proportion" else (values.mean() - 0.1, values.mean() + 0.1)
                rows.append(
                    {
                        "study": entry["name"],
                        "target": name,
                        "outcome": outcome,
                        "cell": {
                            attributes[axis]["name"]: attributes[axis]["levels"][position]
                            for axis, position in zip(chosen, cell, strict=True)
                        },
                        "order": order,
                        "rate": float(values.mean()),
                        "low": float(low),
                        "high": float(high),
                        "n_subjects": entry["subjects"],
                        "n_images": len(values),
                        "excluded": {"failed": 2} if order == 2 and cell == (0, 0) else {},
                        "method": "Wilson, clustered by subject",
                        "unit": unit,
                    }
                )
    return rows


def wilson(values, z=1.96):
    n, rate = len(values), values.mean()
    centre, half = (
        (rate + z * z / (2 * n)) / (1 + z * z / n),
        z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n),
    )
    return max(0.0, centre - half), min(1.0, centre + half)


def effect(entry, name, outcome, attribute_entry, table, axis, kind="contrast", unit="proportion", **changes):
    levels = attribute_entry["levels"]
    first, last = (table.take(position, axis + 1).reshape(len(table), -1).mean(1) for position in (0, -1))
    difference = (last - first) / (1 if kind == "contrast" else levels[-1] - levels[0])
    half = 1.96 * difference.std(ddof=1) / math.sqrt(len(difference))
    z = abs(difference.mean()) / (half / 1.96)
    p = math.erfc(z / math.sqrt(2))
    per = attribute_entry["unit"] or "unit"
    ends = "slope" if kind == "slope" else f"{attribute_entry['labels'][0]} to {attribute_entry['labels'][-1]}"
    return {
        "study": entry["name"],
        "name": f"{attribute_entry['name']}: {ends}",
        "attribute": attribute_entry["name"],
        "outcome": outcome,
        "target": name,
        "kind": kind,
        "from": levels[0] if kind == "contrast" else None,
        "to": levels[-1] if kind == "contrast" else None,
        "estimate": float(difference.mean()),
        "low": float(difference.mean() - half),
        "high": float(difference.mean() + half),
        "p": p,
        "p_adjusted": min(1.0, 9 * p),
        "unit": unit if kind == "contrast" else f"{unit} per {per}",
        "n_subjects": entry["subjects"],
        "n_images": int(table.size),
        "excluded": {},
        "basis": entry["basis"],
        "reason": "",
        "interval_method": BCA,
        "test_method": "sign-flip test, exact",
        "sources": ["efron1987"],
    } | changes


def rows_of(entry, name, outcome, table, unit="proportion"):
    """All effects and rates of one target and outcome."""
    effects = []
    for axis, attribute_entry in enumerate(entry["attributes"]):
        effects.append(effect(entry, name, outcome, attribute_entry, table, axis, unit=unit))
        if len(attribute_entry["levels"]) > 2:
            effects.append(effect(entry, name, outcome, attribute_entry, table, axis, kind="slope", unit=unit))
    return effects, rates(entry, name, outcome, table, unit)


def without_estimate(row, reason):
    return (
        row
        | dict.fromkeys(("estimate", "low", "high", "p", "p_adjusted"), NAN)
        | {"reason": reason, "interval_method": "", "test_method": ""}
    )


def reading(attribute, figure, value, gate, reason=""):
    """A figure of an attribute: interval .01 either way, of 4,000 pictures, against its gate."""
    low, high = (None, None) if value is None else (value - 0.01, value + 0.01)
    return {
        "attribute": attribute,
        "figure": figure,
        "value": value,
        "low": low,
        "high": high,
        "n": 4000 if figure else 0,
        "gate": gate,
        "met": None if gate is None or value is None else value >= gate,
        "visibility": "in every picture" if figure else "",
        "reason": reason,
    }


def make_results(seed=3):
    """Two studies, three targets, three outcomes, effects without estimate, failures."""
    generator = np.random.default_rng(seed)
    rule = "a box with IoU of at least 0.4 with the renderer's face box"
    faces = study(
        "faces",
        [SKIN, LIGHT, GLASSES],
        [
            target(CASCADE, "detection", 4500, found_rule=rule),
            target(HOG, "detection", 4500, 12, {"timeout after 10 s": 9, "raised ValueError": 3}, rule),
        ],
        ["miss", "score"],
    )
    smiles = study("smiles", [SMILING, BEARD], [target(SMILE, "detection", 900)], ["answer"], truth=None)
    effects, all_rates = [], []
    for entry, name, outcome, weights, base, unit in (
        (faces, CASCADE, "miss", (0.32, -0.45, 0.5), -4.6, "proportion"),
        (faces, HOG, "miss", (0.12, -0.2, 0.05), -4.4, "proportion"),
        (faces, CASCADE, "score", (-0.2, 0.3, -0.2), 2.0, "score"),
        (smiles, SMILE, "answer", (2.2, -0.8), -1.0, "proportion"),
    ):
        some_effects, some_rates = rows_of(entry, name, outcome, simulated(entry, weights, base, generator), unit)
        effects += some_effects
        all_rates += some_rates
    template = effects[0] | {
        "target": HOG,
        "outcome": "score",
        "unit": "score",
        "excluded": {"no score": 4500},
        "n_subjects": 0,
        "n_images": 0,
    }
    effects.append(without_estimate(template, "the detector gives no confidence (0 of 4500 images)"))
    results = {
        "schema_version": 1,
        "transect_version": "0.1.0",
        "title": "What moves OpenCV's face detector",
        "question": "What do skin tone, light and glasses cause in face detectors, and facial hair in a smile cascade?",
        "studies": [faces, smiles],
        "effects": effects,
        "rates": all_rates,
        "verdicts": verdicts(effects),
        "family": {"size": sum(not math.isnan(row["p"]) for row in effects), "method": "holm", "alpha": 0.05},
        "world": {
            "name": "faceworld",
            "photometry_validated": False,
            "statement": "Rendered in linear light by a causal model of faces.",
            "maximum_gain_stops": 4.0,
            "photometry": {
                "subjects": 5000,
                "medians": 90,
                "medians_inside": 83,
                "medians_outside": 0,
                "share_inside": 0.7132,
                "fewest_of_a_fifth": 435,
            },
            "identity": {"value": 0.9612, "low": 0.9511, "high": 0.9703, "n": 500},
            "readings": [
                reading("skin_tone", "r2", 0.9731, 0.85),
                reading("light_level", "r2", 0.4012, None),
                reading("glasses", "auc", 0.9402, 0.95),
                reading("smile", None, None, None, "not measured for renderer version 9"),
            ],
        },
        "limits": ["Subjects of one population only."],
        "citations": [
            {
                "key": "efron1987",
                "text": "Efron, B. (1987). Better bootstrap confidence intervals. JASA 82.",
                "url": "https://doi.org/10.2307/2289144",
            },
            {
                "key": "balakrishnan2020",
                "text": "Balakrishnan, G. et al. (2020). Towards causal benchmarking of bias in face analysis. ECCV.",
                "url": "https://arxiv.org/abs/2007.06570",
            },
        ],
    }
    return copy.deepcopy(results)


def verdicts(effects, margin=0.02):
    """A verdict for each study, target, outcome and attribute, as the effects' own intervals have it."""
    groups = {}
    for i, row in enumerate(effects):
        groups.setdefault(tuple(row[key] for key in ("study", "target", "outcome", "attribute")), []).append(i)
    return [verdict(whose, indices, effects, margin) for whose, indices in groups.items()]


def verdict(whose, indices, effects, margin):
    known = [i for i in indices if not math.isnan(effects[i]["estimate"])]
    entry = dict(zip(("study", "target", "outcome", "attribute"), whose, strict=True))
    entry |= {"check": False, "effect": None, "verdict": "not estimable", "reason": effects[indices[0]]["reason"]}
    rates = effects[indices[0]]["unit"].startswith("proportion")
    entry |= {"margin": margin if rates else NAN, "low": NAN, "high": NAN, "subjects_needed": None}
    if not known:
        return entry
    lead = min(known, key=lambda i: (not effects[i]["p_adjusted"] <= 0.05, effects[i]["kind"] != "contrast"))
    low, high = effects[lead]["low"], effects[lead]["high"]
    found = effects[lead]["p_adjusted"] <= 0.05
    inside = rates and -margin < low and high < margin
    said = "found" if found else "no difference" if inside else "cannot tell"
    needed = 420 if rates and said == "cannot tell" else None
    return entry | {"effect": lead, "verdict": said, "low": low, "high": high, "reason": "", "subjects_needed": needed}


def noise_png(seed, width=96, height=96):
    """Random noise with a soft disc; no person."""
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    disc = ((x - width / 2) ** 2 + (y - height / 2) ** 2 < (0.33 * min(width, height)) ** 2)[..., None]
    pixels = 40 + 120 * disc * generator.random(3) + generator.integers(0, 60, (height, width, 3))
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def example(seed, cell, name=CASCADE, study_name="faces", **changes):
    values = {
        "study": study_name,
        "target": name,
        "subject": 1000 + seed,
        "cell": cell,
        "png": noise_png(seed),
        "answer": "found, score 3.2",
        "boxes": ((20.0, 22.0, 75.0, 78.0),),
        "expected_box": (24.0, 20.0, 72.0, 80.0),
    }
    return Example(**(values | changes))


def make_gallery():
    """Strips of two studies, and failures of both kinds."""
    tones = tuple(
        example(5, {"skin_tone": tone, "light_level": -2.0, "glasses": 0.0}, **missed(tone > 6))
        for tone in SKIN["levels"]
    )
    lights = tuple(
        example(6, {"skin_tone": 10.0, "light_level": light, "glasses": 1.0}, HOG, **missed(light < -3))
        for light in LIGHT["levels"]
    )
    smiles = tuple(
        example(
            8, {"smile": smile, "facial_hair": 1.0}, SMILE, "smiles", answer="no smile", boxes=(), expected_box=None
        )
        for smile in SMILING["levels"]
    )
    failures = tuple(
        example(20 + i, {"skin_tone": 10.0, "light_level": -4.0, "glasses": float(i % 2)}, **missed(True))
        for i in range(9)
    )
    failed = example(
        40,
        {"skin_tone": 1.0, "light_level": 0.0, "glasses": 0.0},
        HOG,
        failed=True,
        answer="timeout after 10 s",
        boxes=(),
        expected_box=None,
    )
    strips = (Strip("skin tone, 1 to 10", tones), Strip("light level", lights), Strip("smile", smiles))
    return Gallery(strips, (*failures, failed), failures_total=412)


def missed(yes):
    return {"answer": "no face found", "boxes": (), "wrong": True} if yes else {}
