"""The generated page and figure of the world's validity: what the facts say, nothing else, in well-formed text."""

from __future__ import annotations

from xml.etree import ElementTree

from transect.generators.faceworld.renderer import RENDERER_VERSION
from validation import world_page
from validation.photometry import STATISTICS, photograph_quantiles

QUANTILES = ("p05", "p25", "p50", "p75", "p95")


def figure_of(value, n=500, **more):
    return {"value": value, "low": value - 0.01, "high": value + 0.01, "n": n, "reason": "", **more}


def facts(version=RENDERER_VERSION):
    """Faces exactly as in photographs, every figure different from the others."""
    rows = [
        {"fifth": k, "statistic": s, **{f"rendered_{q}": getattr(photograph_quantiles()[k, s], q) for q in QUANTILES}}
        for k in range(5)
        for s in STATISTICS
    ]
    reading = {"n": 4000, "visibility": "in every picture"}
    nothing = {"value": None, "low": None, "high": None, "n": 3, "reason": "fewer than 20 held-out pictures show it"}
    return {
        "renderer_version": version,
        "population": "balanced",
        "image_size": 128,
        "sizes": {"photometry": 5000, "held_out": 4000},
        "interval": "95 %, percentile bootstrap by subject",
        "truth": None,
        "found_rule": "a box that overlaps",
        "photometry": {
            "subjects": 5000,
            "medians_inside": 90,
            "medians_outside": [],
            "share_inside": 0.9012,
            "faces_per_fifth": [901, 902, 903, 904, 905],
            "darkest_cheek": 0.2134,
            "rows": rows,
        },
        "targets": [
            {"target": "dlib:hog-face", "by": "", "group": "all", "n": 1000, "share": 0.987, "low": 0.98, "high": 0.99, "reason": ""},
            {"target": "other", "by": "", "group": "all", "n": None, "share": None, "low": None, "high": None, "reason": "needs an optional part"},
        ],
        "attributes": [
            {"attribute": "skin_tone", "role": "attribute", "figure": "r2", "gate": 0.85, "met": True, **figure_of(0.9731), **reading},
            {"attribute": "glasses", "role": "attribute", "figure": "auc", "gate": 0.95, "met": False, **figure_of(0.9312), **reading},
            {"attribute": "yaw", "role": "nuisance", "figure": "r2", "gate": None, "met": None, **figure_of(0.9123), **reading},
            {"attribute": "identity.hat_hue", "role": "identity", "figure": "r2", "gate": None, "met": None, "visibility": "where a hat is worn", **nothing},
        ],
        "identity": figure_of(
            0.9612,
            gate=0.95,
            met=True,
            same_person=figure_of(0.9989, 300),
            recognition={"model": "m.dat", "identities": figure_of(0.7812), "other_people": figure_of(0.9912, 300)},
        ),
        "null_auc": [figure_of(0.5012, 4000)],
        "control_auc": figure_of(0.9876, 500, attribute="smile"),
        "landmarks": {"n": 300, "not_found": 2, "regions": {"nose": {"mean": 0.0213, "median": 0.02, "offset": [0.001, -0.06]}}},
    }  # fmt: skip


def test_page_has_every_figure():
    page = world_page.page(facts())
    for text in (
        "| medians between the photographs' quartiles | 90 of 90 | 81 |",
        "All conditions hold.",
        "| `dlib:hog-face` |  | all | 1000 | .987 | .980 to .990 |",
        "| `other` |  | all |  |  | needs an optional part |",
        "| skin_tone | R² | .973 | .963 to .983 | 4000 | yes | in every picture |",
        "| glasses | AUC | .931 | .921 to .941 | 4000 | **no** | in every picture |",
        "| yaw | R² | .912 | .902 to .922 | 4000 |  | in every picture |",
        "| hat_hue | R² |  | fewer than 20 held-out pictures show it | 3 |  | where a hat is worn |",
        "| one identity code, all else drawn anew | .961 (.951 to .971, 500) | .950: reached |",
        "| the same by dlib's recognition network: one identity code | .781 (.771 to .791, 500) | no gate |",
        "| groups that differ in u alone, split 1 | .501 (.491 to .511, 4000) | covers .5 |",
        "| pairs that differ in `smile` | .988 (.978 to .998, 500) | above .5 |",
        "| nose | 2.1 % | 2.0 % | +0.1 % | -6.0 % |",
    ):
        assert text in page, text
    assert "are not its own" not in page


def test_figures_of_another_renderer_are_labelled():
    assert "they are not its own" in world_page.page(facts("0"))


def test_a_condition_that_is_missed_is_named():
    missed = facts()
    missed["photometry"]["medians_inside"] = 80
    assert "Not reached: 80 of 90 medians lie between the photographs' quartiles (wanted 81)." in world_page.page(
        missed
    )


def test_page_claims_nothing_without_facts():
    page = world_page.page({})
    assert "Nothing was measured" in page
    assert "| earrings | where putting them on" in page


def test_the_figure_draws_both_side_by_side():
    svg = world_page.figure(facts())
    root = ElementTree.fromstring(svg)
    lines = root.findall("{http://www.w3.org/2000/svg}line")
    assert len(lines) == 18 * 5 * 2 * 3
    # Rendered quantiles are the photographs': each pair of thin bars has the same ends.
    thin = [(line.get("y1"), line.get("y2")) for line in lines[::3]]
    for panel in range(18):
        bars = thin[10 * panel : 10 * panel + 10]
        assert bars[:5] == bars[5:]
    assert svg == world_page.figure(facts())


def test_a_quintile_without_faces_has_no_bar():
    few = facts()
    few["photometry"]["rows"][0] |= {f"rendered_{q}": None for q in QUANTILES}
    root = ElementTree.fromstring(world_page.figure(few))
    assert len(root.findall("{http://www.w3.org/2000/svg}line")) == 18 * 5 * 2 * 3 - 3
