"""The sentences of the summary: what is said of effects, verdicts, interactions and families, and on which conditions."""

import math

from report_factory import BCA, CASCADE, make_results
from report_reader import plain_text

from transect.reports.document import Document
from transect.reports.records import Gallery
from transect.reports.results import complete, read
from transect.reports.summary import family_words
from transect.reports.verdicts import cut, finding, groups, interaction_sentence, sentence, told, with_texts

SURE = {"p_adjusted": 0.001}
TOLD = {"estimate": 0.3149, "low": 0.2401, "high": 0.3799, **SURE}


def document(results):
    return Document(complete(read(results), Gallery(), Gallery()))


def found(index=0, outcome=None, **changes):
    results = make_results()
    results["studies"][0]["outcomes"] += [outcome] if outcome else []
    results["effects"][index] |= changes | ({"outcome": outcome} if outcome else {})
    return plain_text(finding(document(results), index))


def place(**wanted):
    return next(i for i, row in enumerate(make_results()["effects"]) if wanted.items() <= row.items())


def test_differences_in_words(snapshot):
    """Points have a decimal where the interval is narrow; a fall is a positive size; an association is no cause."""
    scored = {"estimate": 0.3149, "low": 0.24, "high": 0.38, **SURE}
    told = {
        "a rise": found(**TOLD),
        "a fall": found(estimate=-0.3149, low=-0.3799, high=-0.2401, **SURE),
        "a narrow interval": found(estimate=0.0214, low=0.0101, high=0.0349, p_adjusted=0.01),
        "no interval": found(low=math.nan, high=math.nan, **SURE),
        "named levels": found(place(attribute="glasses"), **SURE),
        "a slope": found(place(kind="slope"), **SURE),
        "a level that is not in the design": found(**{"from": 2.5}),
        "no level": found(to=math.nan),
        "nats": found(outcome="loss", unit="nats", **scored),
        "a score": found(outcome="score", unit="score", **scored),
        "an association": found(basis="observational", estimate=0.3, low=0.2, high=0.4, **SURE),
    }
    assert "by 31 points (95 % interval 24 to 38)" in told["a fall"]
    snapshot("differences", "\n".join(f"{name}: {text}" for name, text in told.items()))


def verdict(effect=(), size=None, **changes):
    """The group of the first verdict alone, of skin tone and misses, with these values."""
    results = make_results()
    results["verdicts"][0] |= {"effect": 0, "margin": 0.02, **changes}
    results["effects"][0] |= effect
    results["verdicts"], results["found_interactions"] = results["verdicts"][:1], []
    results["family"] |= {} if size is None else {"size": size}
    return document(results)


def test_verdicts_in_words(snapshot):
    """Their headings state the margin; what cannot be told says what it would take; a sentence alone has both."""
    open_effect = {"estimate": 0.013, "low": -0.041, "high": 0.062, "p_adjusted": 0.4}
    unclear = {"verdict": "cannot tell", "low": -0.03, "high": 0.06, "subjects_needed": 1200}
    large = {"estimate": 0.5, "low": -0.12, "high": 0.88, "p_adjusted": 0.1, "n_subjects": 6}
    alone = {"estimate": 0.17, "low": 0.02, "high": 0.3, "p_adjusted": 0.278}
    still = {"estimate": 0.0, "low": None, "high": None, "reason": "the differences do not vary"}
    cases = {
        "found, within the margin": verdict(verdict="found", low=0.001, high=0.015),
        "found, beyond the margin": verdict(verdict="found", low=0.001, high=0.021),
        "no difference": verdict(verdict="no difference", low=-0.0041, high=0.0104, margin=0.015),
        "cannot tell": verdict(open_effect, **unclear),
        "cannot tell without a margin": verdict(open_effect, **unclear | {"margin": None, "subjects_needed": None}),
        "cannot tell, but few would confirm it": verdict(
            large, **unclear | {"low": -0.1, "high": 0.9, "subjects_needed": 17_000, "subjects_to_confirm": 20}
        ),
        "not shown among 14 tests": verdict(alone, 14, **unclear),
        "no interval": verdict(still, **unclear | {"low": None, "high": None, "subjects_needed": None}),
    }  # fmt: skip
    lines = []
    for name, made in cases.items():
        (group,) = groups(made, told(made))
        texts = [group.heading, *group.sentences]
        lines += [
            "",
            f"{name}: {group.kind} {group.mark}",
            *map(plain_text, texts),
            with_texts(made.results, told(made)).verdicts[0].text,
        ]
    snapshot("verdicts", "\n".join(lines))
    assert "margin" not in plain_text(sentence(cases["found, beyond the margin"], 0).listed)


def test_a_picked_effect_has_the_interval_of_the_selection_and_its_likely_size():
    """Of 9 comparisons three were picked: 1 - 3 * 0.05 / 9."""
    results = make_results()
    rates = [i for i, row in enumerate(results["effects"]) if row["kind"] == "contrast" and row["outcome"] == "miss"]
    first, second, third = rates[:3]
    for index in (first, second, third):
        results["effects"][index] |= {"estimate": 0.2, "low": 0.1, "high": 0.3, **SURE}
    picked = [
        {"effect": first, "low": 0.08, "high": 0.32, "shrunken": 0.15},
        {"effect": second, "low": 0.08, "high": 0.32, "shrunken": 0.2001},
        {"effect": third, "low": None, "high": None, "shrunken": None},
    ]
    results["selection"] = {"of": 9, "confidence": 1 - 0.15 / 9, "effects": picked}
    made = document(results)
    texts = [plain_text(finding(made, index)) for index in (first, second, third)]
    assert texts[0].endswith("(95 % interval 10 to 30; corrected for selection, 98.3 %: 8 to 32, likely 15).")
    assert texts[1].endswith("(95 % interval 10 to 30; corrected for selection, 98.3 %: 8 to 32).")
    assert texts[2].endswith("(95 % interval 10 to 30).")
    assert "were selected of 9 comparisons" in plain_text(family_words(made))
    results["selection"]["of"] = 3
    whole = document(results)
    assert plain_text(finding(whole, first)).endswith("(95 % interval 10 to 30).")
    assert "were selected" not in plain_text(family_words(whole))


def test_four_verdicts_are_shown_and_the_rest_is_folded():
    results = make_results()
    results["verdicts"] = results["verdicts"][:1] * 12
    made = document(results)
    shown, rest = cut(groups(made, told(made)))
    assert sum(len(group.sentences) for group in shown) == 4
    assert sum(len(group.sentences) for group in rest) == 8


def test_an_interaction_is_told_by_the_rates_at_its_corners():
    """Misses: .013 at light skin, .007 and .043 at dark skin in bright and dim light; the larger gap comes first."""
    results = make_results()
    results["interactions"] = [{
        "study": "faces", "target": CASCADE, "outcome": "miss", "name": "skin_tone × light_level",
        "attributes": ["skin_tone", "light_level"], "from": [1.0, -4.0], "to": [10.0, 0.0], "order": 2,
        "estimate": -0.036, "low": -0.08, "high": -0.005, "p": 0.001, "p_adjusted": 0.012, "unit": "proportion",
        "n_subjects": 150, "n_images": 600, "excluded": {}, "reason": "", "interval_method": BCA,
        "test_method": "sign flips", "sources": [], "spec": {},
    }]  # fmt: skip
    results["found_interactions"] = [{"interaction": 0, "low": -0.09, "high": -0.001, "confidence": 0.992}]
    planted = {(1.0, -4.0): 0.013, (1.0, 0.0): 0.013, (10.0, -4.0): 0.043, (10.0, 0.0): 0.007}
    for rate in results["rates"]:
        cell = rate["cell"]
        if (rate["target"], rate["outcome"], set(cell)) == (CASCADE, "miss", {"skin_tone", "light_level"}):
            rate["rate"] = planted.get((cell["skin_tone"], cell["light_level"]), rate["rate"])
    assert plain_text(interaction_sentence(document(results), 0)) == (
        "Skin tone × light level, miss rate of frontalface_default: with skin tone 10, 4.3 % at light level −4 against "
        "0.7 % at 0; with skin tone 1, 1.3 % at light level −4 against 1.3 % at 0. The gap with skin tone 10 is larger by "
        "3.6 points (adjusted p 0.012; 95 % interval 0.5 to 8.0; corrected for selection, 99.2 %: 0.1 to 9.0)."
    )
    results["rates"] = [rate for rate in results["rates"] if rate["order"] < 2]
    assert "together they differ by −3.6 points" in plain_text(interaction_sentence(document(results), 0))
