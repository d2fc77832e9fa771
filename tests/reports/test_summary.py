"""The sentences of the summary, word by word."""

import math

import pytest
from report_factory import CASCADE, make_results
from report_reader import plain_text

from transect.reports.document import Document
from transect.reports.records import Gallery
from transect.reports.results import complete, read
from transect.reports.summary import family_words, finding, notice, question, summarize


def document(results):
    return Document(complete(read(results), Gallery(), Gallery()))


def sentence(index=0, **changes):
    results = make_results()
    results["effects"][index] |= changes
    return plain_text(finding(document(results), index))


def test_a_rise():
    # 0.3149 is 31 points; the interval, 14 points wide, is told without decimals
    text = sentence(estimate=0.3149, low=0.2401, high=0.3799, p_adjusted=0.001)
    assert text == (
        f"Going from skin tone 1 to 10 (Monk scale) raises the miss rate of {CASCADE} "
        "by 31 points (95 % interval 24 to 38)."
    )


def test_a_fall_is_told_as_a_positive_size_with_its_interval_turned():
    text = sentence(estimate=-0.3149, low=-0.3799, high=-0.2401, p_adjusted=0.001)
    assert text.endswith("by 31 points (95 % interval 24 to 38).")
    assert " lowers the miss rate" in text


def test_a_narrow_interval_is_told_with_a_decimal():
    assert sentence(estimate=0.0214, low=0.0101, high=0.0349, p_adjusted=0.01).endswith(
        "by 2.1 points (95 % interval 1.0 to 3.5)."
    )


def test_an_effect_that_chance_can_explain():
    text = sentence(estimate=0.02, low=-0.011, high=0.051, p_adjusted=0.3)
    assert "changes the miss rate" in text
    assert text.endswith(
        "by +2 points (95 % interval −1 to 5), which after correction "
        "for multiple tests is not statistically different from zero (adjusted p 0.300)."
    )


def test_significance_is_the_adjusted_one_up_to_alpha():
    assert " raises " in sentence(estimate=0.1, low=0.02, high=0.2, p=0.001, p_adjusted=0.05)
    assert " changes " in sentence(estimate=0.1, low=0.02, high=0.2, p=0.001, p_adjusted=0.0501)
    assert "there is no test" in sentence(estimate=0.1, low=0.02, high=0.2, p=0.001, p_adjusted=math.nan)


def test_no_interval_and_no_estimate():
    assert "no interval can be given" in sentence(low=math.nan, high=math.nan, p_adjusted=0.001)
    text = sentence(estimate=math.nan, reason="one subject", p_adjusted=math.nan)
    assert text.endswith("is not estimable (one subject).")


def test_named_levels():
    index = next(i for i, row in enumerate(make_results()["effects"]) if row["attribute"] == "glasses")
    assert sentence(index, p_adjusted=0.001).startswith("Going from glasses off to on raises the miss rate")


def test_a_slope_and_a_level_that_is_not_in_the_design():
    index = next(i for i, row in enumerate(make_results()["effects"]) if row["kind"] == "slope")
    assert sentence(index, p_adjusted=0.001).startswith("Each further unit of skin tone (Monk scale) raises")
    assert sentence(**{"from": 2.5}).startswith("Going from skin tone 2.5 to 10 (Monk scale)")
    assert sentence(to=math.nan).startswith("skin_tone: 1 to 10 raises")


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
    text = sentence(basis="observational", estimate=0.3, low=0.2, high=0.4, p_adjusted=0.001)
    assert text == (
        f"Where skin tone is 10 instead of 1 (Monk scale), the miss rate of {CASCADE} is higher by 30 points "
        "(95 % interval 20 to 40): an association."
    )
    text = sentence(basis="observational", estimate=-0.3, low=-0.4, high=0.1, p_adjusted=0.5)
    assert "differs by −30 points" in text
    assert text.endswith("is not statistically different from zero (adjusted p 0.500).")


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
        "The list above has the largest of them; the effects of each study are complete. "
        "Not estimable: 1 of the effects, for the reasons under Exclusions."
    )


@pytest.mark.parametrize("validated", [True, False])
def test_the_notice(validated):
    results = make_results()
    results["world"]["photometry_validated"] = validated
    made = summarize(document(results)).notice
    assert (made is None) == validated
    assert made == notice(document(results))


def test_significant_effects_that_the_list_leaves_out_are_stated():
    results = make_results()
    for target in results["studies"][0]["targets"]:
        target["truth"] = "skin_tone>5"
    assert "The list above has" not in plain_text(
        family_words(document(results | {"largest": [*range(len(results["effects"]))]}))
    )
    results["effects"][0] |= {"attribute": "skin_tone", "outcome": "miss", "p_adjusted": 0.001}
    text = plain_text(family_words(document(results | {"largest": []})))
    assert "The list above has the largest of them; the effects of each study are complete." in text
    assert "The list leaves out effects on errors of the attribute that the truth is about" in text
    assert f"{results['effects'][0]['name']} (miss)" in text
    for target in results["studies"][0]["targets"]:
        target["truth"] = "face"
    assert "The list leaves out" not in plain_text(family_words(document(results | {"largest": []})))


def test_a_picked_effect_has_the_interval_of_the_selection_and_its_likely_size():
    """Of 9 comparisons three were picked: 1 - 3 * 0.05 / 9."""
    results = make_results()
    first, second, third = results["largest"]
    for index in results["largest"]:
        results["effects"][index] |= {"estimate": 0.2, "low": 0.1, "high": 0.3, "p_adjusted": 0.001}
    picked = [
        {"effect": first, "low": 0.08, "high": 0.32, "shrunken": 0.15},
        {"effect": second, "low": 0.08, "high": 0.32, "shrunken": 0.2001},
        {"effect": third, "low": None, "high": None, "shrunken": None},
    ]
    results["selection"] = {"of": 9, "confidence": 1 - 0.15 / 9, "effects": picked}
    summary = summarize(document(results))
    texts = [plain_text(sentence) for sentence in summary.findings]
    assert texts[0].endswith("by 20 points (likely 15; 98.3 % interval 8 to 32).")
    assert texts[1].endswith("by 20 points (98.3 % interval 8 to 32).")
    assert texts[2].endswith("by 20 points (95 % interval 10 to 30).")
    assert "The effects listed were selected as the largest of 9 comparisons" in plain_text(summary.tested)
    results["selection"]["of"] = 3
    whole = summarize(document(results))
    assert plain_text(whole.findings[0]).endswith("by 20 points (95 % interval 10 to 30).")
    assert "were picked" not in plain_text(whole.tested)
