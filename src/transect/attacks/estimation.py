"""From data and an attacker to leakage, and comparisons of a model's leakage with that of labels.

Every attack that an answer needs (rounds, folds, noise levels, permutations) becomes one Problem; all of them go to
the attacker at once, so that networks train as one batch.

Δ compares a model's predictions with the same predictions, dealt out among items with the same label. They keep which
labels are mistaken for which, so that a model that sees nothing but the label has Δ = 0. Δ as published compares what
is learned from a model's logits with what is learned from hard labels with flipped bits, so part of it is due to the
format; labels with noise keep the F1 alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.attacks import scoring
from transect.attacks.attackers import Attacker
from transect.attacks.attackers.classical import distinct_rows
from transect.attacks.outputs import Outputs, chance_errors
from transect.attacks.perturbation import NOTHING_OCCURS, expected_f1, perturb, solve_rate
from transect.attacks.records import Attack, Evidence, LabelledData, LeakageEstimate, Problem
from transect.attacks.scoring import Fold, balanced_draw, exchanged, folds, stratified_draw
from transect.errors import BadInput

ROUNDS: Final = 5
PERMUTATIONS: Final = 200
PERMUTATIONS_SLOW: Final = 5
_SEEDS_PER_ROUND: Final = 100_003
_PERMUTE: Final = 41


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """How leakage is measured.

    rounds: attackers whose scores are averaged; 0 means five where the attacker or the noise is random, else one.
    permutations: shuffles of the protected attribute behind the null; -1 means 200, or 5 for slow attackers.
    published: the protocol of Wang et al. 2019 as released: train, development and test draws with equal classes, the
    snapshot that is best on the development draw, and scores folded about 50. train_per_class: size of the training
    draw; 0 means the smallest class's for networks and the published protocol, and no draw for others. test_per_class:
    of the development and test draws of the published protocol; 0 means the smallest class's.
    """

    rounds: int = 0
    permutations: int = -1
    seed: int = 0
    published: bool = False
    train_per_class: int = 0
    test_per_class: int = 0

    def __post_init__(self) -> None:
        if self.rounds < 0 or self.permutations < -1 or self.permutations == 1:
            raise BadInput(
                f"expected --rounds of at least 1 and --permutations of 0 or at least 2, got {self.rounds} "
                f"and {self.permutations}"
            )
        if min(self.seed, self.train_per_class, self.test_per_class) < 0:
            raise BadInput("expected a seed and sizes of 0 or more; a size of 0 takes all")
        if self.test_per_class and not self.published:
            raise BadInput(
                f"test_per_class: expected 0 where every test item is scored, got {self.test_per_class}; "
                "leave it out, or use --as-published"
            )


@final
@dataclass(frozen=True)
class Request:
    """One figure to be measured: its attacks, round by round. checked: whether attackers are asked about their own
    training rows too, which tells whether they learned.
    """

    data: LabelledData
    rounds: tuple[tuple[Problem, ...], ...]
    checked: bool = True


@final
@dataclass(frozen=True)
class Plan:
    """The folds of one data set and how attacks on it are drawn up."""

    data: LabelledData
    settings: Settings
    attacker: Attacker
    folds: tuple[Fold, ...]

    @classmethod
    def of(cls, data: LabelledData, attacker: Attacker, settings: Settings) -> Plan:
        """The plan of a data set. Raises BadInput where its splits cannot be used."""
        parts = tuple(folds(data, settings.seed))
        if settings.published and attacker.is_random and not all(len(fold.development) for fold in parts):
            raise BadInput(
                "--as-published selects a snapshot on a development split: give --split with train, val and test"
            )
        return cls(data, settings, attacker, parts)

    @property
    def scored(self) -> Int[np.ndarray, " t"]:
        """Every row that some fold scores."""
        return np.unique(np.concatenate([fold.test for fold in self.folds]))

    def n_rounds(self, noisy: bool = False) -> int:
        """Rounds of one figure."""
        random = self.attacker.is_random or self.settings.published or noisy
        return self.settings.rounds or (ROUNDS if random else 1)

    def evidence(self, evidence: Evidence, share: float = 1.0) -> Request:
        """Attacks on what is seen as it is, by attackers that learn from a share of the training rows."""
        return Request(self.data, tuple(self._round(evidence, r, share=share) for r in range(self.n_rounds())))

    def noisy(self, noise: str, rate: float) -> Request:
        """Attacks on the labels with noise, drawn in each round."""
        knows = self.attacker.knows_noise and self.data.labels.category is not None
        rows = self.scored if knows else None
        rounds = range(self.n_rounds(noisy=True))
        return self.copies([perturb(self.data, noise, rate, self._seed(r), rows) for r in rounds])

    def copies(self, copies: Sequence[Evidence]) -> Request:
        """Attacks on several random copies of what is seen, one a round."""
        return Request(self.data, tuple(self._round(copy, r) for r, copy in enumerate(copies)))

    def shuffled(self, evidence: Evidence) -> Request:
        """Attacks after permuting the protected attribute within each split, once per round. Where subjects repeat,
        whole subjects exchange it within each split or fold, so that folds keep as many of each class, which matters
        where they are few.
        """
        split, subjects = self.data.split, self.data.subjects
        parts = [np.arange(len(self.data))] if subjects is None else [fold.test for fold in self.folds]
        if split is not None:
            parts = [np.flatnonzero(split == p) for p in np.unique(split)]
        usual = PERMUTATIONS_SLOW if self.attacker.is_slow else PERMUTATIONS
        chosen = self.settings.permutations
        dealt = [self._permuted(r, parts) for r in range(usual if chosen < 0 else chosen)]
        rounds = tuple(self._round(evidence, r, protected=groups) for r, groups in enumerate(dealt))
        return Request(self.data, rounds, checked=False)

    def _seed(self, round_number: int) -> int:
        return self.settings.seed * _SEEDS_PER_ROUND + round_number

    def _permuted(self, number: int, parts: Sequence[Int[np.ndarray, " _"]]) -> Int[np.ndarray, " n"]:
        rng = np.random.default_rng([self.settings.seed, number, _PERMUTE])
        protected, subjects = self.data.protected.copy(), self.data.subjects
        for rows in parts:
            groups = protected[rows]
            protected[rows] = rng.permutation(groups) if subjects is None else exchanged(groups, subjects[rows], rng)
        return protected

    def _round(
        self, evidence: Evidence, number: int, *, protected: Int[np.ndarray, " n"] | None = None, share: float = 1.0
    ) -> tuple[Problem, ...]:
        groups = self.data.protected if protected is None else protected
        return tuple(self._problem(evidence, groups, fold, self._seed(number), share) for fold in self.folds)

    def _problem(
        self, evidence: Evidence, protected: Int[np.ndarray, " n"], fold: Fold, seed: int, share: float
    ) -> Problem:
        """Equal classes are drawn for networks, on request, and for everything in the published protocol; otherwise a
        share of the training rows of each class, or of the people where they repeat.
        """
        train, development, test = fold.train, fold.development, fold.test
        published, keys, subjects = self.settings.published, self.data.keys, self.data.subjects
        if share < 1 and subjects is not None:
            train = stratified_draw(train, protected, keys, seed, share, subjects)
        if published or self.attacker.is_random or self.settings.train_per_class:
            train = balanced_draw(train, protected, keys, seed, self._size(train, protected, share))
        elif share < 1 and subjects is None:
            train = stratified_draw(train, protected, keys, seed, share)
        if published:
            development = balanced_draw(development, protected, keys, seed, self.settings.test_per_class)
            test = balanced_draw(test, protected, keys, seed, self.settings.test_per_class)
        kept = development if published else train[:0]
        return Problem(evidence, protected, self.data.n_classes, train, test, kept, seed, subjects)

    def _size(self, rows: Int[np.ndarray, " m"], protected: Int[np.ndarray, " n"], share: float) -> int:
        """Rows of each class; where people repeat, the share was drawn of them, and these are all of their rows."""
        smallest = int(np.bincount(protected[rows], minlength=self.data.n_classes).min())
        wanted = self.settings.train_per_class
        if self.data.subjects is not None and share < 1:
            return min(smallest, max(1, round(share * wanted))) if wanted else smallest
        return max(1, round(share * (wanted or smallest)))


def attack(attacker: Attacker, requests: Sequence[Request], stage: str = "") -> list[list[Attack]]:
    """Every request's rounds, all attacked together; a round scores an item at most once. stage: see `Attacker`."""
    checked = [request.checked and not attacker.knows_noise for request in requests]
    problems = [
        replace(problem, test=np.concatenate([problem.test, problem.train])) if check else problem
        for request, check in zip(requests, checked, strict=True)
        for round_ in request.rounds
        for problem in round_
    ]
    answers = iter(attacker.attack(problems, stage))
    return [
        [_joined([(problem, next(answers)) for problem in round_], check) for round_ in request.rounds]
        for request, check in zip(requests, checked, strict=True)
    ]


def _joined(folds_: Sequence[tuple[Problem, np.ndarray]], check: bool) -> Attack:
    rows = np.concatenate([problem.test for problem, _ in folds_])
    credits = [scoring.credit(scores[: len(p.test)], p.protected[p.test]) for p, scores in folds_]
    own = [_own_gain(problem, scores[len(problem.test) :]) for problem, scores in folds_ if check and _telling(problem)]
    return Attack(rows, np.concatenate(credits), tuple(own))


def _own_gain(problem: Problem, scores: np.ndarray) -> float:
    groups = problem.protected[problem.train]
    return scoring.balanced_accuracy(scoring.credit(scores, groups), groups) - 100 / problem.n_classes


def _telling(problem: Problem) -> bool:
    """Whether the evidence of the training rows says anything of their classes, so that there is something to learn."""
    rows, merged = distinct_rows(problem.evidence, problem.train)
    if problem.evidence.format == "scores":
        values = problem.evidence.matrix[rows]
        return bool((values != values[:1]).any())
    counts = np.zeros((len(rows), problem.n_classes))
    np.add.at(counts, (merged, problem.protected[problem.train]), 1)
    shares = counts / counts.sum(axis=0)
    return bool(np.ptp(shares, axis=1).max() > 1e-9)


def estimate(plan: Plan, rounds: Sequence[Attack]) -> LeakageEstimate:
    """The figure of a request, by the protocol of the plan; NaN with a reason where the attackers did not learn."""
    if reason := scoring.unlearned(rounds):
        return unmeasured(reason, len(np.unique(np.concatenate([each.rows for each in rounds]))), len(rounds))
    if plan.settings.published:
        return scoring.published(rounds, plan.data.protected, plan.data.n_classes)
    return scoring.leakage(rounds, plan.data.protected, len(plan.folds), plan.data.subjects)


def null(plan: Plan, request: Request, rounds: Sequence[Attack]) -> tuple[float, float]:
    """Where 95 % of estimates lie when the evidence says nothing of the protected attribute."""
    scores = []
    for attacked, problems in zip(rounds, request.rounds, strict=True):
        score = scoring.balanced_accuracy(attacked.credit, problems[0].protected[attacked.rows])
        folds_it = plan.settings.published and plan.data.n_classes == 2
        scores.append(50 + abs(score - 50) if folds_it else score)
    return scoring.null_interval(np.array(scores))


def dataset_leakage(data: LabelledData, attacker: Attacker, settings: Settings | None = None) -> LeakageEstimate:
    """How well the attacker infers the protected attribute from the labels: λ_D, in percent.

    >>> from transect.attacks.attackers import Bayes
    >>> from transect.attacks.records import labelled
    >>> verbs = ["cooking"] * 40 + ["driving"] * 40
    >>> people = (["woman"] * 30 + ["man"] * 10) + (["woman"] * 10 + ["man"] * 30)
    >>> dataset_leakage(labelled(verbs, people), Bayes()).estimate  # 30 of 40 either way
    75.0
    """
    return model_leakage(data, data.labels, attacker, settings)


def model_leakage(
    data: LabelledData, answers: Evidence, attacker: Attacker, settings: Settings | None = None
) -> LeakageEstimate:
    """How well the attacker infers the protected attribute from a model's answers on the same items: λ_M, percent."""
    plan = Plan.of(data, attacker, settings or Settings())
    return estimate(plan, attack(attacker, [plan.evidence(answers)])[0])


DEALT: Final = "dealt out within labels"


@final
@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison to make: attacks on the model and on labels, or the reason why it cannot be made."""

    name: str
    noise: str
    requests: tuple[Request, Request] | None
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Δ = λ_M − λ_D(a) in one pair of formats; both attackers are scored on the same items.

    name: "published" (scores against flipped bits), "hard" or "scores". noise: how the labels err in λ_D(a).
    """

    name: str
    noise: str
    model_leakage: LeakageEstimate
    dataset_leakage: LeakageEstimate
    amplification: LeakageEstimate


def comparable(plan: Plan, outputs: Outputs, noise: str, f1: float, *, hard: bool = False) -> list[Pair]:
    """The comparisons that can be made, the headline's first. hard: of hard answers, too, for another model."""
    pairs, published = list[Pair](), plan.settings.published
    scores = None if plan.attacker.knows_noise else outputs.scores  # the closed form takes no scores
    if scores is not None:
        model = plan.evidence(scores)
        pairs += [_pair(plan, "published", "flips", model, scores, f1)] if published else []
        pairs.append(_pair(plan, "scores", DEALT, model, scores, f1))
    if scores is not None and not (hard or published):
        return pairs
    if not plan.attacker.knows_noise or outputs.hard.category is not None:
        model = plan.evidence(outputs.hard)
        kinds = (DEALT, noise) if published else (DEALT,)
        pairs += [_pair(plan, "hard", kind, model, outputs.hard, f1) for kind in kinds]
    return pairs


def dealt(plan: Plan, evidence: Evidence) -> Request:
    """Attacks on the same evidence, dealt out among items with the same label: it says what the label says."""
    rounds = range(plan.n_rounds(noisy=True))
    return plan.copies([chance_errors(plan.data, evidence, plan.settings.seed + r) for r in rounds])


def _pair(plan: Plan, name: str, noise: str, model: Request, evidence: Evidence, f1: float) -> Pair:
    if noise == DEALT:
        return Pair(name, noise, (model, dealt(plan, evidence)))
    if reason := unreachable((plan,), noise, f1):
        return Pair(name, noise, None, reason)
    rate = solve_rate(noise, f1, plan.data.labels, plan.scored)
    return Pair(name, noise, (model, plan.noisy(noise, rate)))


def compared(plan: Plan, pairs: Sequence[Pair], attacks: Mapping[object, list[Attack]]) -> tuple[Comparison, ...]:
    """Each pair's figures. A comparison that cannot be made has λ_M of the same predictions, and the reason."""
    measured = {
        i: Comparison(pair.name, pair.noise, *difference(plan, attacks[i, 0], plan, attacks[i, 1]))
        for i, pair in enumerate(pairs)
        if pair.requests is not None
    }
    models = {comparison.name: comparison.model_leakage for comparison in measured.values()}
    comparisons = []
    for i, pair in enumerate(pairs):
        model, none = models["scores" if pair.name == "published" else pair.name], unmeasured(pair.reason)
        comparisons.append(measured.get(i) or Comparison(pair.name, pair.noise, model, none, none))
    return tuple(comparisons)


def difference(
    plan: Plan, minuend: Sequence[Attack], other: Plan, subtrahend: Sequence[Attack], confidence: float = 0.95
) -> tuple[LeakageEstimate, LeakageEstimate, LeakageEstimate]:
    """Two leakages and the first minus the second, paired over the items that both score.

    confidence: of the interval of the difference; the published protocol has none, its ends are the spread of rounds.
    """
    data = plan.data
    if reason := scoring.unlearned(minuend) or scoring.unlearned(subtrahend):
        apart = unmeasured(reason)
    elif plan.settings.published:
        apart = scoring.published_difference(minuend, subtrahend, data.protected, data.n_classes)
    else:
        folds = max(len(plan.folds), len(other.folds))
        apart = scoring.difference(minuend, subtrahend, data.protected, folds, data.subjects, confidence)
    return estimate(plan, minuend), estimate(other, subtrahend), apart


def contributed(
    plan: Plan, pairs: Sequence[Pair], attacks: Mapping[object, list[Attack]]
) -> Float[np.ndarray, "k c"] | None:
    """What each category and class adds to Δ in the first like-for-like comparison."""
    labels = plan.data.labels
    numbers = [i for i, pair in enumerate(pairs) if pair.requests is not None and pair.name != "published"]
    if labels.category is None or not numbers:
        return None
    model, dataset = attacks[numbers[0], 0], attacks[numbers[0], 1]
    if scoring.unlearned(model) or scoring.unlearned(dataset):
        return None
    return scoring.contributions(model, dataset, plan.data.protected, labels.category, len(labels.names))


def lowest_f1(plan: Plan, noise: str) -> float:
    """The least macro F1 that the noise leaves."""
    return expected_f1(noise, 0.5 if noise == "flips" else 1.0, plan.data.labels, plan.scored)


def unreachable(plans: Sequence[Plan], noise: str, f1: float) -> str:
    """Why no rate of the noise leaves this F1 in one of the plans; "" where one does in all."""
    if np.isnan(f1):
        return NOTHING_OCCURS
    for plan in plans:
        if f1 < (lowest := lowest_f1(plan, noise)):
            return f"the model's F1, {f1:.2f} %, is below {lowest:.2f} %, the least that noise ({noise}) leaves"
    return ""


def unmeasured(reason: str, n: int = 0, rounds: int = 1) -> LeakageEstimate:
    """No figure, and why."""
    return LeakageEstimate(reason=reason, n=n, rounds=rounds)
