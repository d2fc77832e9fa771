"""The sentences of the summary: what is said of effects, verdicts, interactions and families, and on which conditions."""

import math

from markupsafe import Markup
from report_factory import BCA, CASCADE, make_results
from report_reader import plain_text

from transect.reports.document import Document
from transect.reports.records import Gallery
from transect.reports.results import complete, read
from transect.reports.summary import family_words
from transect.reports.verdicts import (
    finding,
    groups,
    interaction_sentence,
    judged,
    opening,
    sentence,
    told,
    unchanging,
    with_texts,
)

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
    """Each states its interval and its margin; what is inconclusive says how many subjects would do."""
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
        texts = [Markup(group.heading), *group.sentences]
        lines += [
            "",
            f"{name}: {group.kind} {group.mark}",
            *map(plain_text, texts),
            with_texts(made.results, told(made)).verdicts[0].text,
        ]
    snapshot("verdicts", "\n".join(lines))
    assert "margin" not in plain_text(sentence(cases["found, beyond the margin"], 0))


def test_an_effect_that_was_selected_has_one_interval_and_one_sentence_says_what_was_selected():
    """Of 9 comparisons one was picked: its wider interval stands in results.json alone."""
    results = make_results()
    results["effects"][0] |= {"estimate": 0.2, "low": 0.1, "high": 0.3, **SURE}
    picked = [{"effect": 0, "low": 0.08, "high": 0.32, "shrunken": 0.15}]
    results["selection"] = {"of": 9, "confidence": 1 - 0.05 / 9, "effects": picked}
    made = document(results)
    assert plain_text(finding(made, 0)).endswith("(95 % interval 10 to 30).")
    assert "were selected from 9 comparisons" in plain_text(family_words(made))
    results["selection"]["of"] = 1
    assert "were selected" not in plain_text(family_words(document(results)))


def test_one_point_is_singular():
    text = found(estimate=0.01, low=-0.05, high=0.07)
    assert "by 1 point (95 % interval −5 to 7)" in text, text
    made = verdict({"estimate": -0.0104, "low": -0.05, "high": 0.03}, verdict="cannot tell", margin=0.01)
    assert "−1 point from" in plain_text(sentence(made, 0))


def test_the_opening_has_three_sentences_the_gravest_first():
    results = make_results()
    first = results["verdicts"][0]
    kinds = ("found", "found", "found", "cannot tell", "no difference")
    results["verdicts"] = [first | {"verdict": kind, "effect": 0, "check": False, "margin": 0.02} for kind in kinds]
    results["found_interactions"] = []
    made = document(results)
    found_first, found_second, unclear = opening(made, told(made))
    assert found_first == found_second == told(made).verdicts[0]
    assert "Inconclusive" in unclear


def test_outcomes_that_never_occurred_are_not_inconclusive():
    """Their rate stands once under its own heading; a difference that was found stays."""
    made = verdict(verdict="cannot tell", low=-0.01, high=0.01)
    tree = made.results.model_dump(by_alias=True)
    about = {name: tree["verdicts"][0][name] for name in ("study", "target", "outcome")}
    for rate in tree["rates"]:
        if rate["order"] == 0 and about.items() <= rate.items():
            rate["rate"] = 0.0
    never = document(tree)
    assert list(unchanging(never.results)) == [tuple(about.values())]
    (group,) = groups(never, told(never))
    assert group.heading == "The same for every image"
    assert plain_text(group.sentences[0]).startswith("The miss rate of frontalface_default is 0 % of ")
    assert judged(never) == []
    tree["verdicts"][0]["verdict"] = "found"
    assert len(judged(document(tree))) == 1


def test_what_is_not_judged_names_its_outcome():
    results = make_results()
    first = results["verdicts"][0] | {"verdict": "not judged", "effect": 0, "reason": "answers barely track the truth"}
    results["verdicts"] = [first, first | {"attribute": "glasses"}, first | {"outcome": "error"}]
    results["found_interactions"] = []
    made = document(results)
    (group,) = groups(made, told(made))
    (text,) = group.sentences
    name = first["attribute"].replace("_", " ")
    about = [
        f"the miss rate of frontalface_default by {name} and glasses",
        f"the error rate of frontalface_default by {name}",
    ]
    assert plain_text(text).startswith(f"Not judged: {' and '.join(about)}, because answers barely track")


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
        "3.6 points (95 % interval 0.5 to 8.0)."
    )
    results["rates"] = [rate for rate in results["rates"] if rate["order"] < 2]
    assert "together they differ by −3.6 points" in plain_text(interaction_sentence(document(results), 0))
