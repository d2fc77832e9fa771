"""Every simulation of this folder: its settings, how many tables at each size, and what is promised of them.

Each test draws tables from a world of known truth and counts how often an interval holds it, or a test rejects it. It
has two sizes. **Small** (marker `coverage`, in CI): one setting, the one in which a wrong estimator shows most. The
bound is the binomial one: an estimator that keeps its promise falls beyond it in at most one of 10,000 draws
(`FALSE_ALARM`). One that covers 80 % of the time, or rejects 20 %, is caught with the probability `power` of its row,
at least .8. **Full** (marker `slow`, at night): all settings, and two standard errors, or `slack`.

The seeds are fixed: a row that passes passes on every machine, until somebody changes an estimator.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

FALSE_ALARM = 1e-4
BROKEN_COVERAGE, BROKEN_LEVEL = 0.8, 0.2


@dataclass(frozen=True)
class Row:
    """One test: `full` and `small` are settings, in the order of its arguments; `tables` of either size.

    covers: the least share of intervals that hold the truth; rejects: the most of tables that reject a true null.
    """

    test: str
    full: tuple
    small: tuple
    tables: tuple[int, int]
    covers: float | None = None
    rejects: float | None = None
    slack: float | None = None
    broken: tuple[float, float] = (BROKEN_COVERAGE, BROKEN_LEVEL)

    @property
    def power(self):
        """The chance that the small size fails where the estimator is broken."""
        n = self.tables[0]
        chances = []
        if self.covers is not None:
            chances.append(binom.cdf(least(n, self.covers) - 1, n, self.broken[0]))
        if self.rejects is not None:
            chances.append(binom.sf(most(n, self.rejects), n, self.broken[1]))
        return min(chances, default=1.0)


def least(n, share):
    """The fewest of n that a share of at least this may give."""
    return binom.ppf(FALSE_ALARM, n, share)


def most(n, share):
    """The most of n that a share of at most this may give."""
    return binom.isf(FALSE_ALARM, n, share)


@dataclass(frozen=True)
class Size:
    """One size of a row, which its test asks for the number of tables and gives the shares that it found."""

    row: Row
    small: bool

    @property
    def tables(self):
        return self.row.tables[0 if self.small else 1]

    def some(self, settings):
        """All settings at full size, the first at the small one."""
        settings = list(settings)
        return settings[:1] if self.small else settings

    def least(self, n=None):
        """The least share of n tables that keeps the promise."""
        n, share = n or self.tables, self.row.covers
        slack = 2 * np.sqrt(share * (1 - share) / n) if self.row.slack is None else self.row.slack
        return least(n, share) / n if self.small else share - slack

    def most(self, n=None):
        """The largest share of n tables that keeps the promise."""
        n, share = n or self.tables, self.row.rejects
        slack = 2 * np.sqrt(share * (1 - share) / n) if self.row.slack is None else self.row.slack
        return most(n, share) / n if self.small else share + slack

    def covers(self, shares, n=None):
        """Fails where one of the shares of intervals that hold the truth is too small."""
        print(np.round(shares, 3), "cover; at least", round(self.least(n), 3))
        assert (np.asarray(shares) >= self.least(n) - 1e-12).all(), (shares, self.least(n))

    def rejects(self, shares, n=None):
        """Fails where one of the shares of rejected true nulls is too large."""
        print(np.round(shares, 3), "rejected; at most", round(self.most(n), 3))
        assert (np.asarray(shares) <= self.most(n) + 1e-12).all(), (shares, self.most(n))


def crossed(*axes):
    """All combinations, with tuples of several values spread out: crossed([(1, 2)], [3, 4]) -> (1, 2, 3), (1, 2, 4)."""
    return tuple(
        tuple(itertools.chain.from_iterable(each if type(each) is Several else (each,) for each in point))
        for point in itertools.product(*axes)
    )


class Several(tuple):
    """Values of several arguments that go together."""

    __slots__ = ()


def several(*points):
    return [Several(point) for point in points]


CUTS = ("half", "tenth", "five levels")
KINDS = ("normal", "five answers", "four answers", "exponential", "lognormal")
ALIKE = (0.0, 0.5, 1.0)
NOTHING = ((),)

ROWS = (
    # test_agreement_coverage: Krippendorff's alpha
    Row("few_units_few_raters_and_rare_answers", crossed(CUTS, (2, 3, 5), (10, 20, 50, 200)),
        (("tenth", 2, 10),), (200, 250), covers=0.93),
    Row("images_of_one_subject_and_missing_answers", crossed(CUTS), (("half",),), (200, 250), covers=0.93),
    # test_always_valid_coverage: at every look together
    Row("differences_of_rates_are_covered_at_every_look",
        crossed(several((0.01, 0.01), (0.1, 0.05), (0.3, 0.3), (0.02, 0.2))),
        ((0.3, 0.3),), (120, 400), covers=0.95, slack=0.015),
    Row("scores_with_a_range_are_covered_at_every_look", crossed(("uniform", "skewed", "ties", "outliers")),
        (("ties",),), (120, 200), covers=0.95, slack=0.02),
    # test_score_coverage: scores that have an interval, at their least some 92 %
    Row("means_of_scores_are_covered",
        crossed(("normal", "t3", "exponential", "lognormal", "ties", "ordinal", "unequal spread"), (5, 10, 20, 50)),
        (("lognormal", 20),), (500, 2000), covers=0.94, slack=2 * np.sqrt(0.06 * 0.94 / 1000)),
    Row("differences_of_observed_scores_are_covered",
        crossed(("normal", "t3", "exponential", "lognormal", "ties", "ordinal"), ((20, 20), (12, 60), (60, 8)), (1, 3)),
        (("ordinal", (60, 8), 1),), (300, 1000), covers=0.93, slack=2 * np.sqrt(0.07 * 0.93 / 1000)),
    Row("slopes_of_observed_scores_are_covered",
        crossed(("normal", "t3", "exponential", "lognormal", "fifth"), ("uniform", "exponential", "lognormal"), (50, 200),
        (0, 1)),
        (("lognormal", "exponential", 50, 1), ("fifth", "exponential", 50, 1)), (300, 1000), covers=0.92,
        slack=3 * np.sqrt(0.08 * 0.92 / 1000)),
    # test_band_coverage: all levels at once; the full size allows three standard errors
    Row("bands_of_rates_and_of_their_changes_cover", crossed((0.02, 0.1, 0.3, 0.5), (False, True), (1, 3)),
        ((0.1, True, 3),), (100, 300), covers=0.95, slack=3 * np.sqrt(0.05 * 0.95 / 300)),
    Row("bands_of_scores_cover", crossed(("normal", "uniform", "exponential", "lognormal", "long tail"), (0.3, 0.9)),
        (("lognormal", 0.3),), (100, 300), covers=0.95, slack=3 * np.sqrt(0.05 * 0.95 / 300)),
    # test_changes_coverage: shares that change each way
    Row("shares_of_changes_cover",
        crossed(((0.2, 0.2), (0.05, 0.01)), several((10, 0), (40, 0), (10, 2), (40, 2), (200, 1)), (0.0, 0.6)),
        (((0.2, 0.2), 10, 2, 0.6),), (200, 400), covers=0.93, slack=2 * np.sqrt(0.05 * 0.95 / 400)),
    # test_family_errors: effects and interactions of all studies of a page
    Row("a_page_of_several_worlds_with_interactions_claims_what_is_not_in_at_most_five_per_cent", crossed((1, 3)),
        ((3,),), (150, 1000), rejects=0.05),
    # test_few_subjects_coverage: averages over many cells
    Row("an_effect_in_few_subjects_is_covered", crossed((0.03, 0.05, 0.1), (9, 18)), ((0.05, 9),), (300, 600),
        covers=0.93),
    # test_missing_coverage
    Row("worst_case_bounds_cover_the_effect_of_all_pairs", crossed((10, 40, 150)), ((40,),), (100, 80), covers=0.95),
    Row("intervals_of_trimming_bounds_cover_both_ends",
        crossed((15, 60, 300), several((0.3, 0.4), (0.5, 0.1), (0.0, 0.3))), ((60, 0.3, 0.4),), (100, 300),
        covers=0.95),
    # test_model_differences, test_subject_coverage: leakage
    Row("intervals_cover_the_expected_difference",
        crossed(several((200, 1), (800, 1), (60, 5)), ((0.0, 0.0), (0.0, 0.5), (0.5, 0.6))),
        ((60, 5, (0.0, 0.5)),), (100, 300), covers=0.95),
    Row("habits_do_not_exceed_the_null", crossed(several((40, 25), (100, 10), (400, 5))), ((40, 25),), (100, 200),
        rejects=0.05),
    Row("differences_cover",
        crossed(((0.05, 0.9, 0.05), (0.1, 0.5, 0.4), (0.0, 0.2, 0.8), (0.0, 0.05, 0.95)), (5, 10, 40), ALIKE),
        (((0.1, 0.5, 0.4), 10, 1.0),), (300, 1000), covers=0.93, slack=2 * np.sqrt(0.05 * 0.95 / 1000)),
    # test_overlap_coverage: AIPW; the last number is the largest share withheld
    Row("what_is_printed_is_possible_and_covers",
        ((120, 4, 0.7, 0.0, 0.1), (120, 4, 0.7, -1.3, 0.8), (120, 4, 2.0, 0.0, 0.6), (120, 8, 1.0, -2.0, 1.0), (120,
        4, 0.0, -3.3, 1.0)),
        ((120, 4, 0.7, 0.0, 0.1),), (200, 300), covers=0.93),
    # test_pair_coverage: what people see between two images
    Row("share_of_perceived_differences", crossed((0.0, 1.0, 2.0), (10, 40), (3, 5, 8)), ((1.0, 10, 3),), (200, 200),
        covers=0.93),
    Row("strengths_of_three_levels", crossed((0.0, 0.5, 1.0, 2.0), (3, 8)), ((1.0, 3),), (150, 200), covers=0.93),
    # test_paired_group_coverage, test_paired_model_coverage: two models
    Row("the_interval_of_a_gap_covers_also_where_few_images_differ", (
        ((30, 400), (0.0, 0.0), (0.05, 0.05), 1), ((60, 240), (0.0, 0.0), (0.05, 0.05), 1),
        ((200, 200), (0.1, 0.3), (0.1, 0.12), 1), ((400, 400), (0.02, 0.02), (0.02, 0.04), 1),
        ((30, 200), (0.1, 0.2), (0.2, 0.3), 4),
     ), (((30, 200), (0.1, 0.2), (0.2, 0.3), 4),), (120, 300), covers=0.95),
    Row("intervals_of_rates_and_gaps_cover_the_truth", (
        (60, (0.05, 0.20), (0.05, 0.10)), (300, (0.05, 0.20), (0.05, 0.10)), (300, (0.02, 0.04), (0.02, 0.02)),
        (300, (0.20, 0.10), (0.10, 0.20)), (300, (0.10, 0.10), (0.10, 0.10)),
     ), ((60, (0.05, 0.20), (0.05, 0.10)),), (120, 200), covers=0.94),
    Row("where_models_do_not_differ_one_is_called_better_in_at_most_five_per_cent", (
        (60, (0.10, 0.10), (0.10, 0.10)), (300, (0.05, 0.20), (0.05, 0.20)), (300, (0.20, 0.05), (0.05, 0.20)),
     ), ((60, (0.10, 0.10), (0.10, 0.10)),), (100, 200), rejects=0.05),
    # test_pilot_promise: pilots whose plan reaches its power
    Row("the_limit_of_the_deviation_keeps_the_promise", crossed((10, 20, 40), ("normal", "cells")), ((20, "normal"),),
        (400, 400), covers=0.8, broken=(0.6, 0.0)),
    Row("the_limit_of_the_share_keeps_the_promise", crossed(several((0.4, 20), (0.15, 40), (0.3, 100))), ((0.4, 20),),
        (400, 400), covers=0.8, broken=(0.6, 0.0)),
    # test_plan_power: shares of audits, which the test compares with the power that a plan states
    Row("a_plan_for_averages_over_cells_has_its_power", crossed((0.8, 0.9), several(
        (0.6, 0.1, 0.5, 9, 1), (0.3, 0.1, 0.5, 9, 1), (0.2, 0.05, 0.8, 4, 6), (-0.15, 0.4, 0.2, 18, 1),
        (0.03, 0.1, 0.5, 9, 1),
     )), ((0.8, 0.3, 0.1, 0.5, 9, 1),), (2500, 2500)),
    Row("a_plan_from_a_pilot_of_scores_has_its_power", crossed((3.0, 2.0, 1.4, 1.0, 0.6), (0.05, 0.01)),
        ((1.0, 0.05),), (1500, 1500)),
    # test_powered_rate_coverage, test_prediction_powered_coverage: few ratings, many predictions
    Row("rates_of_few_ratings_cover", crossed((0.05, 0.1, 0.3, 0.5, 0.7, 0.9), ("good", "poor", "useless")),
        ((0.7, "useless"),), (300, 1000), covers=0.93, slack=0.0),
    Row("few_ratings", crossed(KINDS, (10, 15, 20, 50)), (("exponential", 10),), (200, 500), covers=0.93),
    Row("several_images_of_each_subject", crossed((10, 15, 30), (False, True)), ((15, False),), (200, 500),
        covers=0.93),
    # test_quality_gate: levels that differ by the margin and pass
    Row("levels_that_differ_by_the_margin_do_not_pass", crossed((6, 10, 30), (False, True)), ((10, False),),
        (200, 2000), rejects=0.05),
    Row("flaws_that_few_subjects_have_do_not_pass",
        crossed((10, 30, 120), several((0.1, 5.0), (0.2, 2.5), (0.5, 1.0)), (False, True)), ((30, 0.2, 2.5, False),),
        (200, 1000), rejects=0.05),
    # test_projected_ratio_coverage: what a population would see
    Row("the_ratio_of_rates_is_covered", crossed((20, 50, 150), ((0.1, 0.2), (0.05, 0.1), (0.3, 0.3)), (0.0, 0.5, 0.9)),
        ((20, (0.1, 0.2), 0.5),), (150, 400), covers=0.93),
    # test_rate_gaps_coverage, test_recognition_coverage
    Row("equal_groups_rarely_differ", crossed(((20,) * 2, (10,) * 8, (20,) * 8, (40, *(10,) * 4), (80, *(10,) * 7))),
        (((10,) * 8,),), (100, 400), rejects=0.05),
    Row("false_match_rates_cover", crossed((10, 20, 50)), ((20,),), (200, 2000), covers=0.93),
    Row("thresholds_over_groups_and_fnmr_at_them_cover", crossed((20, 50)), ((20,),), (150, 600), covers=0.93),
    # test_rater_groups_coverage: two rates a table
    Row("intervals_hold_for_other_raters", NOTHING, NOTHING, (40, 200), covers=0.95, broken=(0.65, 0.0)),
    # test_repeated_coverage: people on several photographs
    Row("intervals_of_scores_cover", crossed((10, 30, 100), ALIKE), ((10, 1.0),), (300, 1000), covers=0.95),
    Row("intervals_of_skewed_scores_cover_nearly", crossed((30, 100)), ((30,),), (350, 1000), covers=0.89, slack=0.0),
    Row("intervals_of_misses_cover",
        crossed(several((0.3, 0.1), (0.1, 0.1), (0.05, 0.0), (0.02, 0.02)), (10, 30, 100), ALIKE),
        ((0.3, 0.1, 30, 1.0),), (300, 1000), covers=0.95),
    Row("rare_misses_of_the_same_people_cover", crossed((160, 200, 400), (0.0125, 0.025), (8, 20)),
        ((200, 0.0125, 20),), (300, 1000), covers=0.95),
    Row("tests_hold_their_level", crossed((10, 30, 100), (0.0, 1.0)), ((30, 1.0),), (150, 1000), rejects=0.05),
    # test_replication_errors: several worlds
    Row("an_effect_of_one_world_alone_has_one_direction_in_at_most_two_and_a_half_per_cent",
        crossed((0.0, -0.02), ((0.01, 0.01), (0.005, 0.02), (0.03, 0.03))), ((0.0, (0.01, 0.01)),), (500, 4000),
        rejects=0.025),
    Row("an_effect_of_one_world_alone_inside_the_margin_does_not_replicate",
        (*crossed(((0.03, 0.0), (0.02, 0.0)), ((0.005, 0.005), (0.01, 0.01), (0.008, 0.012), (0.005, 0.02))),
         ((0.03, 0.03, 0.0), (0.005,) * 3)), (((0.03, 0.0), (0.008, 0.012)),), (500, 4000), rejects=0.025),
    Row("sizes_that_differ_by_more_than_the_margin_are_called_replicated_in_at_most_five_per_cent",
        crossed(((0.1, 0.3), (0.1, 0.2), (0.1, 0.16)), ((0.01, 0.01), (0.02, 0.02), (0.02, 0.09))),
        (((0.1, 0.16), (0.02, 0.02)),), (500, 4000), rejects=0.05),
    Row("equal_effects_replicate_where_worlds_are_precise_and_have_one_direction_else",
        crossed(((0.005, 0.005), (0.01, 0.01), (0.02, 0.02))), (((0.01, 0.01),),), (500, 4000), rejects=0.05),
    Row("a_page_says_of_any_effect_wrongly_that_it_replicates_in_at_most_five_per_cent", crossed(
        ("one world each", "all worlds but one", "the same null world", "sizes", "everywhere"),
     ), (("sizes",),), (150, 1000), rejects=0.05),
    Row("a_wrong_rendering_costs_no_coverage", crossed(several(
        (0.0, 0.9, False), (0.3, 0.9, False), (-0.2, 0.5, False), (0.3, 0.0, False), (0.1, 0.8, True), (0.3, 0.0, True),
     ), (30, 100)), ((0.3, 0.9, False, 30),), (300, 1500), covers=0.95),
    # test_requirement_errors: a model at the limit
    Row("a_difference_at_the_margin_passes_and_fails_in_at_most_five_per_cent",
        ((150, (0.05, 0.10), 1), (600, (0.02, 0.07), 1), (400, (0.10, 0.10, 0.15), 3), (60, (0.30, 0.25), 2)),
        ((60, (0.30, 0.25), 2),), (120, 400), rejects=0.05),
    Row("a_group_at_the_largest_rate_passes_and_fails_in_at_most_five_per_cent",
        ((150, (0.05, 0.02), 1), (400, (0.05, 0.05, 0.01), 4), (60, (0.2, 0.1), 1)),
        ((400, (0.05, 0.05, 0.01), 4),), (120, 400), rejects=0.05),
    Row("a_gap_that_is_larger_by_the_margin_passes_in_at_most_five_per_cent", crossed((False, True)), ((False,),),
        (100, 400), rejects=0.05),
    Row("the_planned_subjects_pass_where_nothing_differs", ((0.05, 1, 0.04), (0.2, 3, 0.05), (0.01, 1, 0.03)),
        ((0.2, 3, 0.05),), (100, 400), covers=0.9, broken=(0.7, 0.0)),
    # test_retrieval_coverage: shares among the first images
    Row("shares_and_skews_of_the_first_images", crossed((20, 100), ((0.0, 0.5), (0.0, 0.0), (0.0, 0.3, 0.6, 0.0))),
        ((20, (0.0, 0.0)),), (150, 300), covers=0.95, rejects=0.05),
    # searches
    Row("intervals_of_medians_hold_whatever_the_target", crossed((0.0, 0.1, 0.3, 0.5, 0.7, 0.9), (6, 9, 15)),
        ((0.5, 9),), (1000, 4000), covers=0.95, slack=3 * np.sqrt(0.95 * 0.05 / 4000)),
    Row("the_overall_rate_of_active_testing", (("one box", 0.08), ("one box", 0.03), ("two boxes", 0.03)),
        (("one box", 0.08),), (150, 500), covers=0.93, slack=0.0),
    Row("many_times_the_failures_of_random_points", ((0.025, 3.0, 24), (0.055, 4.0, 8)), (), (0, 0)),
    Row("the_three_largest_are_covered_and_not_overstated", crossed((50, 200), ("few", "small", "one")),
        ((50, "small"),), (140, 300), covers=0.93, slack=0.0),
    Row("the_first_of_three_equal_regions_is_not_overstated", NOTHING, (), (0, 500)),
    # test_single_pair_coverage: McNemar's mid-p
    Row("differences_of_single_pairs_are_covered", crossed((5, 10, 20, 50, 150), several(
        (0.02, 0.02), (0.05, 0.01), (0.1, 0.1), (0.2, 0.05), (0.3, 0.1), (0.4, 0.4), (0.6, 0.1),
     )), ((20, 0.3, 0.1),), (300, 2000), covers=0.95),
    # test_slopes_by_person: populations
    Row("slopes_on_a_skewed_attribute_hold_their_level", ((4, 0.5), (6, 1.5), (15, 0.5), (15, 1.0), (15, 1.5)),
        ((15, 1.0),), (200, 1000), rejects=0.06),
    Row("differences_cover_where_a_group_has_few_errors",
        crossed(((0.0, 0.05), (0.05, 0.0), (0.02, 0.1)), ((15, 15), (10, 60)), (0.0, 0.3)),
        (((0.02, 0.1), (10, 60), 0.3),), (200, 300), covers=0.93),
    Row("ratios_of_rates_hold_their_level", (((25, 15), 0.15), ((40, 20), 0.08)), (((25, 15), 0.15),),
        (150, 1000), rejects=0.06),
    # test_verdict_errors
    Row("a_difference_of_the_margin_is_rarely_called_none",
        ((300, (0.05, 0.05, 0.10)), (300, (0.05, 0.10, 0.05)), (800, (0.10, 0.15, 0.10)), (1500, (0.30, 0.30, 0.35))),
        ((300, (0.05, 0.10, 0.05)),), (100, 400), rejects=0.05),
    Row("where_nothing_differs_a_difference_is_found_in_at_most_five_per_cent", ((100, 0.05), (300, 0.2)),
        ((300, 0.2),), (100, 400), rejects=0.05),
    # test_words_coverage: answers in words
    Row("a_sample_of_wordings_covers_the_mean_of_all_wordings", crossed((8, 10), (20, 50, 200)), ((8, 50),),
        (150, 200), covers=0.93),
    Row("effects_of_an_audit_on_refusals_are_covered", (
        (100, (0.005, 0.005)), (100, (0.03, 0.08)), (50, (0.01, 0.06)), (50, (0.0, 0.05)), (100, (0.0, 0.03)),
        (20, (0.3, 0.5)), (200, (0.03, 0.08)), (200, (0.1, 0.2)), (200, (0.3, 0.5)),
     ), ((50, (0.01, 0.06)),), (120, 1000), covers=0.95),
    Row("options_and_places", crossed((15, 60)), ((15,),), (100, 250), covers=0.95, rejects=0.05),
    # test_coverage: what every audit reports, by the rows of docs/research/coverage.md
    Row("coverage_and_level_of_some_rows", (), NOTHING, (1000, 5000), covers=0.93, rejects=0.05),
)  # fmt: skip
DECLARED = {row.test: row for row in ROWS}
