"""The sentences of the summary, word by word."""

import math

import pytest
from markupsafe import Markup
from report_factory import BCA, CASCADE, make_results
from report_reader import plain_text

from transect.reports import verdicts
from transect.reports.document import Document
from transect.reports.effect_words import finding
from transect.reports.records import Gallery
from transect.reports.results import complete, read
from transect.reports.summary import family_words, notice, question, summarize
from transect.reports.verdicts import cut, groups, interaction_sentence, sentence, with_texts


def document(results):
    return Document(complete(read(results), Gallery(), Gallery()))


def found(index=0, **changes):
    results = make_results()
    results["effects"][index] |= changes
    return plain_text(finding(document(results), index))


def test_a_rise():
    # 0.3149 is 31 points; the interval, 14 points wide, is told without decimals
    text = found(estimate=0.3149, low=0.2401, high=0.3799, p_adjusted=0.001)
    assert text == (
        "Going from skin tone 1 to 10 (Monk scale) raises the miss rate of frontalface_default "
        "by 31 points (95 % interval 24 to 38)."
    )


def test_a_fall_is_told_as_a_positive_size_with_its_interval_turned():
    text = found(estimate=-0.3149, low=-0.3799, high=-0.2401, p_adjusted=0.001)
    assert text.endswith("by 31 points (95 % interval 24 to 38).")
    assert " lowers the miss rate" in text


def test_a_narrow_interval_is_told_with_a_decimal():
    assert found(estimate=0.0214, low=0.0101, high=0.0349, p_adjusted=0.01).endswith(
        "by 2.1 points (95 % interval 1.0 to 3.5)."
    )


def test_no_interval():
    assert "no interval can be given" in found(low=math.nan, high=math.nan, p_adjusted=0.001)


def test_named_levels():
    index = next(i for i, row in enumerate(make_results()["effects"]) if row["attribute"] == "glasses")
    assert found(index, p_adjusted=0.001).startswith("Going from glasses off to on raises the miss rate")


def test_a_slope_and_a_level_that_is_not_in_the_design():
    index = next(i for i, row in enumerate(make_results()["effects"]) if row["kind"] == "slope")
    assert found(index, p_adjusted=0.001).startswith("Each further unit of skin tone (Monk scale) raises")
    assert found(**{"from": 2.5}).startswith("Going from skin tone 2.5 to 10 (Monk scale)")
    assert found(to=math.nan).startswith("skin_tone: 1 to 10 raises")


def test_other_units():
    assert "the mean loss" in sentence_of_outcome("loss", "nats")
    assert sentence_of_outcome("loss", "nats").endswith("by 0.315 nats (95 % interval 0.24 to 0.38).")
    assert sentence_of_outcome("score", "score").endswith("by 0.315 (95 % interval 0.24 to 0.38).")


def sentence_of_outcome(outcome, unit):
    results = make_results()
    results["studies"][0]["outcomes"].append(outcome)
    results["effects"][0] |= {
        "outcome": outcome,
        "unit": unit,
        "estimate": 0.3149,
        "low": 0.24,
        "high": 0.38,
        "p_adjusted": 0.001,
    }
    return plain_text(finding(document(results), 0))


def test_association_is_never_told_as_a_cause():
    text = found(basis="observational", estimate=0.3, low=0.2, high=0.4, p_adjusted=0.001)
    assert text == (
        "Where skin tone is 10 instead of 1 (Monk scale), the miss rate of frontalface_default is higher by 30 points "
        "(95 % interval 20 to 40): an association."
    )


def test_the_summary_states_the_question():
    texts = [plain_text(question(document(make_results()), study)) for study in (0, 1)]
    assert texts[0] == (
        "Study faces: 4,500 images of 150 rendered subjects, each at every combination of skin tone, light level and "
        f"glasses, were shown to {CASCADE} and dlib:hog-face. On 12 of 4,500 images dlib:hog-face gave no valid answer."
    )
    assert texts[1].endswith(
        "each at every combination of smile and facial hair, were shown to opencv:haarcascade_smile."
    )


def test_how_many_tests():
    results = make_results()
    for number, row in enumerate(results["effects"]):
        row["p_adjusted"] = 0.01 if number < 5 else 0.5
    text = plain_text(family_words(document(results)))
    # 19 effects, one of them without estimate; five with an adjusted p of at most 0.05
    assert text == (
        "5 of 18 tests are significant at the 5 % level after correction for multiple tests (Holm method). "
        "Not estimable: 1 of the effects, for the reasons under Exclusions."
    )


@pytest.mark.parametrize("validated", [True, False])
def test_the_notice(validated):
    results = make_results()
    results["world"]["photometry_validated"] = validated
    made = summarize(document(results)).notice
    assert (made is None) == validated
    assert made == notice(document(results))


def test_significant_effects_without_a_verdict_are_stated():
    results = make_results()
    for target in results["studies"][0]["targets"]:
        target["truth"] = "skin_tone>5"
    results["effects"][0] |= {"attribute": "skin_tone", "outcome": "miss", "p_adjusted": 0.001}
    text = plain_text(family_words(document(results)))
    assert "There is no verdict on errors by the attribute that the truth is about" in text
    assert f"{results['effects'][0]['name']} (miss)" in text
    for target in results["studies"][0]["targets"]:
        target["truth"] = "face"
    assert "no verdict on errors" not in plain_text(family_words(document(results)))


def test_a_picked_effect_has_the_interval_of_the_selection_and_its_likely_size():
    """Of 9 comparisons three were picked: 1 - 3 * 0.05 / 9."""
    results = make_results()
    rates = [i for i, row in enumerate(results["effects"]) if row["kind"] == "contrast" and row["outcome"] == "miss"]
    first, second, third = rates[:3]
    for index in (first, second, third):
        results["effects"][index] |= {"estimate": 0.2, "low": 0.1, "high": 0.3, "p_adjusted": 0.001}
    picked = [
        {"effect": first, "low": 0.08, "high": 0.32, "shrunken": 0.15},
        {"effect": second, "low": 0.08, "high": 0.32, "shrunken": 0.2001},
        {"effect": third, "low": None, "high": None, "shrunken": None},
    ]
    results["selection"] = {"of": 9, "confidence": 1 - 0.15 / 9, "effects": picked}
    made = document(results)
    texts = [plain_text(finding(made, index)) for index in (first, second, third)]
    assert texts[0].endswith("by 20 points (98.3 % interval 8 to 32; 15 when corrected for selection).")
    assert texts[1].endswith("by 20 points (98.3 % interval 8 to 32).")
    assert texts[2].endswith("by 20 points (95 % interval 10 to 30).")
    assert "The differences listed were selected of 9 comparisons" in plain_text(family_words(made))
    results["selection"]["of"] = 3
    whole = document(results)
    assert plain_text(finding(whole, first)).endswith("by 20 points (95 % interval 10 to 30).")
    assert "were selected" not in plain_text(family_words(whole))


def with_verdict(**changes):
    """The first verdict of the results, of skin tone and misses, with these values."""
    results = make_results()
    results["verdicts"][0] |= changes
    return results


def test_a_difference_within_the_margin_says_so():
    results = with_verdict(verdict="found", effect=0, low=0.001, high=0.015, margin=0.02)
    assert plain_text(sentence(document(results), 0)).endswith("It is smaller than the margin of 2 points.")
    results = with_verdict(verdict="found", effect=0, low=0.001, high=0.021, margin=0.02)
    assert "margin" not in plain_text(sentence(document(results), 0))


def test_no_difference_states_its_margin_in_the_heading_or_alone():
    results = with_verdict(verdict="no difference", effect=0, low=-0.0041, high=0.0104, margin=0.015)
    results["verdicts"] = results["verdicts"][:1]
    made = document(results)
    (group,) = groups(made)
    assert (group.mark, plain_text(group.heading)) == ("=", "No difference larger than 1.5 points")
    assert plain_text(group.sentences[0]) == (
        "Skin tone, miss rate of frontalface_default: differences −0.4 to +1.0 points (90 % intervals)."
    )
    assert with_texts(made.results).verdicts[0].text == (
        "Skin tone, miss rate of frontalface_default: no difference larger than 1.5 points; "
        "differences −0.4 to +1.0 points (90 % intervals)."
    )


def test_what_cannot_be_told_says_what_it_would_take():
    results = with_verdict(verdict="cannot tell", effect=0, low=-0.03, high=0.06, margin=0.02, subjects_needed=1200)
    results["effects"][0] |= {"estimate": 0.013, "low": -0.041, "high": 0.062, "p_adjusted": 0.4}
    results["verdicts"] = results["verdicts"][:1]
    (group,) = groups(document(results))
    assert plain_text(group.heading) == "Too few subjects to tell 2 points from none"
    assert plain_text(group.sentences[0]) == (
        "Skin tone, miss rate of frontalface_default: +1 points from 1 to 10 (Monk scale) "
        "(95 % interval −4 to 6); needs 1,200 subjects, had 150."
    )
    results["verdicts"][0] |= {"margin": None, "subjects_needed": None}
    (group,) = groups(document(results))
    assert plain_text(group.heading) == "Cannot tell"
    assert plain_text(group.sentences[0]).endswith("state the smallest difference that matters (--margin miss=…).")


def test_a_difference_beyond_the_margin_says_what_would_confirm_it():
    results = with_verdict(
        verdict="cannot tell", effect=0, low=-0.1, high=0.9, margin=0.02, subjects_needed=17_000, subjects_to_confirm=20
    )
    results["effects"][0] |= {"estimate": 0.5, "low": -0.12, "high": 0.88, "p_adjusted": 0.1, "n_subjects": 6}
    results["verdicts"] = results["verdicts"][:1]
    (group,) = groups(document(results))
    assert plain_text(group.sentences[0]).endswith(
        "; needs 20 subjects to confirm a difference this large, had 6; 17,000 to tell 2 points from none."
    )


def test_a_difference_whose_interval_holds_zero_stands_apart():
    results = with_verdict(verdict="found", effect=0, low=-0.01, high=0.3, sized=False)
    results["effects"][0] |= {"estimate": 0.1, "low": -0.02, "high": 0.3, "p_adjusted": 0.03}
    results["verdicts"], results["found_interactions"] = results["verdicts"][:1], []
    (group,) = groups(document(results))
    assert (group.kind, group.mark, plain_text(group.heading)) == ("unsized", "△", "Differences found, size uncertain")
    assert "its size is uncertain" in plain_text(group.sentences[0])


def test_an_interval_that_excludes_zero_and_is_not_significant_says_why():
    results = with_verdict(verdict="cannot tell", effect=0, low=-0.03, high=0.06, margin=0.02, subjects_needed=1200)
    results["effects"][0] |= {"estimate": 0.17, "low": 0.02, "high": 0.3, "p_adjusted": 0.278}
    results["verdicts"], results["family"]["size"] = results["verdicts"][:1], 14
    text = plain_text(sentence(document(results), 0))
    assert "(95 % interval 2 to 30 for it alone; not shown among 14 tests, adjusted p 0.278)" in text


def test_a_difference_without_an_interval_says_why():
    results = with_verdict(verdict="cannot tell", effect=0, low=None, high=None, margin=0.02, subjects_needed=None)
    results["effects"][0] |= {"estimate": 0.0, "low": None, "high": None, "reason": "the differences do not vary"}
    assert plain_text(sentence(document(results), 0)).endswith(", without an interval (the differences do not vary).")


def test_what_cannot_be_judged_is_one_sentence_for_each_target():
    results = make_results()
    rows = results["verdicts"][:3]
    names = [row["attribute"] for row in rows]
    reason = "no score changes within any of 200 subjects, whatever was set"
    for row in rows:
        row |= {"target": CASCADE, "verdict": "not judged", "check": False, "effect": 0, "reason": reason}
    results["verdicts"] = rows
    (group,) = groups(document(results))
    assert (group.mark, plain_text(group.heading), len(group.sentences)) == ("!", "Not judged", 1)
    about = plain_text(group.sentences[0])
    assert about.startswith("Nothing is concluded about ")
    assert about.endswith(f" for frontalface_default: {reason}.")
    assert all(name.replace("_", " ") in about for name in names)


def test_four_verdicts_are_shown_and_the_rest_is_folded():
    results = make_results()
    results["verdicts"] = results["verdicts"][:1] * 12
    shown, rest = cut(groups(document(results)))
    assert sum(len(group.sentences) for group in shown) == 4
    assert sum(len(group.sentences) for group in rest) == 8


def test_effects_and_interactions_are_told_in_turn():
    told = verdicts._in_turn([Markup("a"), Markup("b"), Markup("c")], [Markup("1"), Markup("2")])
    assert told == ["a", "1", "b", "2", "c"]
    assert verdicts._in_turn([], [Markup("1")]) == ["1"]


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
    results["found_interactions"] = [{"interaction": 0, "low": -0.09, "high": 0.01, "confidence": 0.992}]
    planted = {(1.0, -4.0): 0.013, (1.0, 0.0): 0.013, (10.0, -4.0): 0.043, (10.0, 0.0): 0.007}
    for rate in results["rates"]:
        cell = rate["cell"]
        if (rate["target"], rate["outcome"], set(cell)) == (CASCADE, "miss", {"skin_tone", "light_level"}):
            rate["rate"] = planted.get((cell["skin_tone"], cell["light_level"]), rate["rate"])
    assert plain_text(interaction_sentence(document(results), 0)) == (
        "Skin tone × light level, miss rate of frontalface_default: with skin tone 10, 4.3 % at light level −4 against "
        "0.7 % at 0; with skin tone 1, 1.3 % at light level −4 against 1.3 % at 0. The gap with skin tone 10 is larger by "
        "4 points (adjusted p 0.012; its size is uncertain; 99.2 % interval −1 to 9)."
    )
    results["rates"] = [rate for rate in results["rates"] if rate["order"] < 2]
    assert plain_text(interaction_sentence(document(results), 0)) == (
        "Skin tone × light level, miss rate of frontalface_default: together they differ by −4 points "
        "(adjusted p 0.012; its size is uncertain; 99.2 % interval −9 to 1) from the sum of their parts."
    )
