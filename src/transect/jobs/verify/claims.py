"""What the documents claim of each estimator: a method, a world, and whether theory predicts that it is valid there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from transect.jobs.verify import adjusting, contenders, matched, modelling, rating
from transect.jobs.verify.contenders import Contender
from transect.jobs.verify.faces_world import FACES, NAME
from transect.jobs.verify.further_worlds import FURTHER
from transect.jobs.verify.planted import SIMPLE

WORLDS: Final = SIMPLE + FURTHER + FACES
"""All worlds, in the order in which the proving ground shows them."""


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """What theory expects of a method in a world. estimand: a key of the world's truths. why: in a few words."""

    method: str
    world: str
    contender: Contender
    expected_valid: bool
    why: str
    estimand: str = "effect"


_SIMPLE_CLAIMS: Final = (
    Claim("paired contrast", "null", contenders.paired_contrast, True, "the level is kept"),
    Claim("unadjusted difference", "null", contenders.unadjusted, True, "nothing to adjust for"),
    Claim("OLS, adjusted", "null", adjusting.adjusted_ols, True, "nothing to adjust for"),
    Claim("AIPW", "null", adjusting.adjusted_aipw, True, "nothing to adjust for"),
    Claim("20 tests, uncorrected", "null", contenders.uncorrected_family, False, "twenty chances to be wrong", ""),
    Claim("20 tests, Holm", "null", contenders.holm_family, True, "valid whatever the dependence", ""),
    Claim("20 tests, max-T bootstrap", "null", contenders.max_t_family, True, "valid, and uses the dependence", ""),
    Claim("paired contrast", "direct effect", contenders.paired_contrast, True, "set by experiment"),
    Claim("unadjusted difference", "direct effect", contenders.unadjusted, True, "nothing is correlated with it"),
    Claim("OLS, adjusted", "direct effect", adjusting.adjusted_ols, True, "the model is right"),
    Claim("AIPW", "direct effect", adjusting.adjusted_aipw, True, "both of its models are right"),
    Claim("averaged contrast", "interaction", contenders.averaged_contrast, True, "the average effect, by design"),
    Claim(
        "interaction contrast",
        "interaction",
        contenders.interaction_contrast,
        True,
        "the difference of differences",
        "interaction",
    ),
    Claim(
        "unadjusted difference",
        "interaction",
        contenders.unadjusted,
        False,
        "the other attribute is correlated with it",
    ),
    Claim("OLS, adjusted", "interaction", adjusting.adjusted_ols, False, "weights groups by how mixed they are"),
    Claim("g-computation", "interaction", adjusting.adjusted_g, False, "its model has no interaction"),
    Claim("AIPW", "interaction", adjusting.adjusted_aipw, True, "one right model of two is enough"),
    Claim("paired contrast", "confounded population", contenders.paired_contrast, True, "set by experiment"),
    Claim("unadjusted difference", "confounded population", contenders.unadjusted, False, "a common cause"),
    Claim("OLS, adjusted", "confounded population", adjusting.adjusted_ols, True, "the cause is recorded"),
    Claim("g-computation", "confounded population", adjusting.adjusted_g, True, "the cause is recorded"),
    Claim("AIPW", "confounded population", adjusting.adjusted_aipw, True, "the cause is recorded"),
    Claim("projection", "another population", contenders.projection, True, "weighted by its shares", "impact"),
    Claim(
        "averaged contrast",
        "another population",
        contenders.averaged_contrast,
        False,
        "an effect is not the difference between groups",
        "impact",
    ),
    Claim(
        "contrast of the intended", "entangled manipulation", contenders.score_contrast, False, "two attributes moved"
    ),
    Claim("OLS on perceived", "entangled manipulation", adjusting.perceived_ols, False, "a hidden trait shows in both"),
    Claim(
        "instrumental variables",
        "entangled manipulation",
        adjusting.instrumented_square,
        True,
        "what was set is random",
    ),
    Claim(
        "paired contrast, exact control",
        "hidden attribute",
        contenders.paired_contrast,
        True,
        "everything else is held",
    ),
    Claim(
        "paired contrast, learned direction",
        "hidden attribute",
        contenders.dragging_contrast,
        False,
        "earrings change too",
    ),
    Claim("unadjusted difference", "hidden attribute", contenders.unadjusted, False, "earrings change too"),
    Claim(
        "instrumental variables, learned direction",
        "hidden attribute",
        adjusting.instrumented_dragging,
        False,
        "earrings are another path to the outcome",
    ),
    Claim("OLS, adjusted", "hidden attribute", adjusting.adjusted_ols, False, "earrings were not recorded"),
    Claim("AIPW", "hidden attribute", adjusting.adjusted_aipw, False, "earrings were not recorded"),
    Claim("slope on intended levels", "rater noise", contenders.intended_slope, True, "levels are set without noise"),
    Claim("OLS on ratings", "rater noise", adjusting.rated_ols, False, "noise pulls the slope towards 0"),
    Claim("instrumental variables", "rater noise", adjusting.rated_instrument, True, "levels are set without noise"),
    Claim("people's ratings alone", "rater bias", contenders.people_alone, True, "few, but right"),
    Claim("prediction-powered", "rater bias", contenders.people_and_machine, True, "the machine's bias is subtracted"),
    Claim("machine's ratings alone", "rater bias", contenders.machine_alone, False, "its bias counts as effect"),
    Claim("paired contrast", "near-separated", contenders.paired_contrast, True, "score interval for rare outcomes"),
    Claim("logit", "near-separated", adjusting.pair_logit, False, "no maximum where a level has no error", "log odds"),
    Claim(
        "logistic, C = 1",
        "near-separated",
        adjusting.pair_penalised,
        False,
        "the penalty pulls it towards 0",
        "log odds",
    ),
    Claim("paired contrast of ten cells", "heavy clustering", contenders.cells_contrast, True, "by subject", "within"),
    Claim(
        "difference of images",
        "heavy clustering",
        contenders.images_contrast,
        False,
        "images are not subjects",
        "between",
    ),
    Claim("OLS, images", "heavy clustering", adjusting.image_ols, False, "images are not subjects", "between"),
    Claim("OLS, by subject", "heavy clustering", adjusting.clustered_ols, True, "errors by subject", "between"),
    Claim(
        "logistic, C = 1, images",
        "heavy clustering",
        adjusting.published_penalised,
        False,
        "as published: images are resampled",
        "log odds",
    ),
    Claim(
        "logistic, C = 1, subjects",
        "heavy clustering",
        adjusting.subject_penalised,
        True,
        "subjects are resampled",
        "log odds",
    ),
    Claim("rate of images", "heavy clustering", contenders.image_rate, False, "images are not subjects", "rate"),
    Claim("rate on effective images", "heavy clustering", contenders.subject_rate, True, "design effect", "rate"),
)

_FURTHER_CLAIMS: Final = (
    Claim("GEE logit, subjects", "heavy clustering", modelling.gee_subjects, True, "errors by subject", "log odds"),
    Claim(
        "fractional logit, images",
        "absolute errors",
        modelling.fractional_images,
        False,
        "images are not subjects",
        "log odds",
    ),
    Claim(
        "fractional logit, subjects", "absolute errors", modelling.fractional_subjects, True, "by subject", "log odds"
    ),
    Claim("OLS, by subject", "absolute errors", adjusting.clustered_ols, True, "a difference of means needs no model"),
    Claim("Poisson, adjusted", "rates that multiply", modelling.adjusted_poisson, True, "the model is right", "ratio"),
    Claim("Poisson, unadjusted", "rates that multiply", modelling.unadjusted_poisson, False, "a common cause", "ratio"),
    Claim(
        "logit, read as a ratio of rates",
        "rates that multiply",
        modelling.adjusted_logit,
        False,
        "an odds ratio of common errors is not a ratio of rates",
        "ratio",
    ),
    Claim("OLS, images", "few bearers", adjusting.image_ols, False, "images are not subjects", "between"),
    Claim("OLS, by subject", "few bearers", adjusting.clustered_ols, True, "bias-reduced errors", "between"),
    Claim(
        "rate of images", "unequal subjects", modelling.unequal_images_rate, False, "images are not subjects", "rate"
    ),
    Claim(
        "rate on effective images", "unequal subjects", modelling.unequal_subjects_rate, True, "design effect", "rate"
    ),
    Claim(
        "difference of images",
        "unequal subjects",
        modelling.unequal_images,
        False,
        "images are not subjects",
        "between",
    ),
    Claim(
        "difference by subject", "unequal subjects", modelling.unequal_subjects, True, "errors by subject", "between"
    ),
    Claim("AIPW, an indicator per kind", "kinds", modelling.aipw_of_kinds, True, "the cause is recorded"),
    Claim("OLS, an indicator per kind", "kinds", modelling.ols_of_kinds, True, "the cause is recorded"),
    Claim("AIPW, codes as numbers", "kinds", modelling.aipw_of_codes, False, "codes are not amounts"),
    Claim("OLS on perceived", "dragged answers", modelling.perceived_answers, False, "a hidden trait shows in both"),
    Claim("control-function probit", "dragged answers", modelling.instrumented_answers, True, "what was set is random"),
    Claim("people's rate alone", "rare outcome, rated by few", rating.people_rate, True, "Wilson's interval", "rate"),
    Claim(
        "prediction-powered rate",
        "rare outcome, rated by few",
        rating.powered_rate,
        True,
        "score interval with the machine",
        "rate",
    ),
    Claim(
        "prediction-powered rate, Student's t",
        "rare outcome, rated by few",
        rating.student_rate,
        False,
        "few ratings of yes do not estimate the variance",
        "rate",
    ),
    Claim(
        "machine's rate alone",
        "rare outcome, rated by few",
        rating.machine_rate,
        False,
        "its false alarms outnumber its misses",
        "rate",
    ),
    Claim("people's difference alone", "rare outcome, rated by few", rating.people_difference, True, "score intervals"),
    Claim(
        "prediction-powered difference",
        "rare outcome, rated by few",
        rating.powered_difference,
        True,
        "score intervals with the machine",
    ),
    Claim(
        "machine's difference alone",
        "rare outcome, rated by few",
        rating.machine_difference,
        False,
        "it errs more in one group",
    ),
    Claim("ratio of rates", "hidden cause, ratios", modelling.ratio_alone, False, "the cause was not recorded", ""),
    Claim(
        "E-value beyond the cause",
        "hidden cause, ratios",
        modelling.ratio_beyond_e_value,
        True,
        "no cause of that strength produces such a ratio",
        "",
    ),
    Claim("OLS, adjusted", "hidden cause, line", adjusting.adjusted_ols, False, "the cause was not recorded"),
    Claim(
        "OLS, moved by the planted partial R²",
        "hidden cause, line",
        modelling.adjusted_for_planted,
        True,
        "the cause is as strong as was assumed",
    ),
    Claim(
        "McNemar",
        "hidden cause, pairs",
        modelling.similar_pairs,
        False,
        "matched people still differ in a hidden cause",
        "",
    ),
    Claim(
        "Rosenbaum's bound", "hidden cause, pairs", modelling.pairs_bounded, True, "holds up to the assumed odds", ""
    ),
)

_FACES_CLAIMS: Final = (
    Claim("transects", NAME, contenders.paired_contrast, True, "hair is set, everything else held"),
    Claim(
        "unadjusted difference", NAME, contenders.unadjusted, False, "face shape, tone and age are correlated with it"
    ),
    Claim("OLS, adjusted", NAME, matched.faces_ols, True, "the causes are recorded and nearly linear"),
    Claim("matched, every pair", NAME, matched.every_pair, False, "distant pairs differ"),
    Claim("matched, caliper", NAME, matched.near_pairs, True, "pairs are similar in the recorded covariates"),
    Claim(
        "matched, caliper, adjusted", NAME, matched.adjusted_pairs, True, "regression removes the remaining difference"
    ),
    Claim(
        "matched on propensity", NAME, matched.propensity_pairs, True, "groups are similar in the recorded covariates"
    ),
)

CLAIMS: Final = _SIMPLE_CLAIMS + _FURTHER_CLAIMS + _FACES_CLAIMS
"""When to use which estimator: row by row, as in the documents."""
