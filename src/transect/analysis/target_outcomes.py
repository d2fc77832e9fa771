"""The outcomes of one target of a finished run, each computed once, and the rule by which its images verify people."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.finished_run import Run
from transect.effects.outcomes import Outcome, compute
from transect.effects.verification import Rule, Threshold, Verified, find_threshold, reference_rows
from transect.experiment.verification import NON_MATCH
from transect.records import Predictions, Task
from transect.runs.spec import TargetEntry


@final
class TargetOutcomes:
    """The answers of one target and what is counted of them.

    Raises CorruptedPart or BadInput where predictions are not of the run's images.
    """

    def __init__(self, run: Run, target: TargetEntry, predictions: Predictions | None = None) -> None:
        self.run, self.target = run, target
        self.predictions = run.predictions(target) if predictions is None else predictions
        self._known: dict[str, Outcome] = {}

    def outcome(self, name: str) -> Outcome:
        """One outcome; that of a pruned image has no value, with the rule as its reason."""
        if name not in self._known:
            self._known[name] = self._computed(name)
        return self._known[name]

    @property
    def in_words(self) -> bool:
        """Whether the target answers a question in words, so that an answer is a share of an image's wordings."""
        return self.target.description.question is not None

    @cached_property
    def possible(self) -> frozenset[str]:
        """Outcomes that can be computed; of a yes or no in words the score too, which is the answer."""
        asked_yes = self.in_words and self.target.task is Task.BINARY
        offered = self.run.offered(self.target, truth=self.labels is not None)
        return frozenset((*offered, *(("score",) if asked_yes else ())))

    @cached_property
    def decisions(self) -> Float[np.ndarray, " n"]:
        """Yes or no as 1 or 0, of several wordings what at least half say; NaN where there is none."""
        if "answer" not in self.possible:
            return np.full(len(self.predictions), np.nan)
        values = self.outcome("answer").values
        return np.where(np.isfinite(values), values >= 0.5, np.nan) if self.in_words else values

    @cached_property
    def mistakes(self) -> Float[np.ndarray, " n"]:
        """The errors, of yes or no 0 or 1; NaN where there is none."""
        if "error" not in self.possible:
            return np.full(len(self.predictions), np.nan)
        values = self.outcome("error").values
        if not self.in_words or self.target.task is Task.REGRESSION or self.labels is None:
            return values
        return np.where(np.isfinite(values), self.decisions != self.labels, np.nan)

    @cached_property
    def labels(self) -> Float[np.ndarray, " n"] | None:
        """The right answer of each image; None where there is none."""
        return self.run.labels(self.target)

    @cached_property
    def rule(self) -> Rule:
        """How images verify people: by the rate in the spec, else by the target's own threshold."""
        stated = self.run.spec.verification
        if stated is None or self.target.task is not Task.EMBEDDING:
            return Rule()
        threshold = self.target.description.threshold if stated.false_match_rate is None else None
        return Rule(threshold, stated.false_match_rate, stated.within)

    @cached_property
    def references(self) -> Int[np.ndarray, " n"]:
        """The row that each image is compared with."""
        return reference_rows(self.run.design, self.rule.within)

    @cached_property
    def threshold(self) -> Threshold:
        """The threshold, found among the reference images; a pruned one has no embedding there."""
        run, rows = self.run, np.unique(self.references)
        embeddings = np.where((run.seen.reasons == "")[rows, None], self.predictions.scores[rows], np.nan)
        return find_threshold(embeddings, run.people[rows], rows % run.design.n_cells, self.rule)

    @cached_property
    def verified(self) -> Verified | None:
        """The images with what is known of the person on them; None without a threshold or an experiment."""
        run, stated = self.run, self.run.spec.verification
        if stated is None or not (run.design.levels and self.rule.verifies):
            return None
        grouping = [attribute for attribute in stated.own if attribute.name in run.true]
        return Verified(
            self.threshold,
            self.outcome("distance").values,
            self.outcome(NON_MATCH).values,
            self.references,
            self.rule.within,
            {attribute.name: run.true[attribute.name][self.references] for attribute in grouping},
            {attribute.name: attribute for attribute in grouping},
        )

    def _computed(self, name: str) -> Outcome:
        description, pruned = self.target.description, self.run.seen.reasons
        outcome = compute(
            name,
            self.predictions,
            truth=self.labels,
            threshold=self.threshold.value if name == NON_MATCH else description.cut,
            positive=description.positive,
            expected_boxes=self.run.expected_boxes(self.target),
            reference=self.references,
        )
        reasons = np.where(outcome.reasons == "", pruned, outcome.reasons)
        return replace(outcome, values=np.where(reasons == "", outcome.values, np.nan), reasons=reasons)
