"""What a search is asked to do: its settings, and the checks before anything is rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Final, final

import numpy as np
from jaxtyping import Float

from transect.designs import search
from transect.designs.search.phases import ConfirmedSearch, Phases
from transect.designs.search.space import DIRECTIONS, Space
from transect.effects.outcomes import FACE, Truth, asked_in, kind_of, offered
from transect.errors import BadInput, UnknownName
from transect.experiment import opened_targets, worlds
from transect.experiment.outcome_choice import choose_outcomes, rehearse
from transect.options import Option
from transect.protocols import Target, TargetLike, World
from transect.ratings import gates as required
from transect.records import Design, Predictions, Task
from transect.runs import report_options
from transect.runs.capabilities import check_subjects, generator_entry, world_entry
from transect.runs.environment import versions
from transect.runs.folder import RunFolder, slug
from transect.runs.spec import LimitsEntry, SearchedAttribute, SearchMethod, SearchSpec, StatedTruth, TargetDescription
from transect.runs.tables import said_of
from transect.spoken_answers import AskedSpec
from transect.targets.capabilities import answers_in_words, describe
from transect.targets.guard import Limits
from transect.targets.settings import ModelSettings
from transect.targets.words.speakers import question_set

HALF: Final = 0.5
"""An image fails where this share of its wordings, or more, has the outcome."""
USUAL: Final = "refusal"
"""What counts as a failure where no truth is stated."""


def question_of(target: TargetLike, questions: str | Path | None, question: str = "") -> TargetLike:
    """The target that asks the model one question; the target itself without questions."""
    if questions is None:
        if question:
            raise BadInput("--question needs --questions FILE")
        return target
    names = [each.name for each in question_set(questions)]
    if not question and len(names) > 1:
        raise BadInput(
            f"--questions {questions}: expected one question to search by, got {len(names)} ({', '.join(names)}); "
            "choose one with --question NAME"
        )
    chosen = question_set(questions).named(question or names[0]).name
    return AskedSpec(target, str(questions), chosen)


def outcome_of(target: Target, truth: str | None, wanted: str = "") -> str:
    """The outcome that counts as a failure: the one wanted, else an error where a truth is stated, else a refusal."""
    task, asked = Task(target.task), asked_in(describe(target))
    name = wanted or ("error" if truth is not None and task is Task.BINARY else USUAL)
    choose_outcomes(task, truth, (name,), asked=asked)
    possible = [each for each in offered(task, truth is not None, asked) if kind_of(each, task) == "yes or no"]
    if name not in possible:
        raise BadInput(
            f"--outcome {name}: expected a yes-or-no outcome, got a number; choose from {', '.join(possible)}"
        )
    if truth is not None and name not in ("miss", "false_alarm", "error"):
        raise BadInput(f"--truth {truth}: outcome {name} does not use a truth; leave --truth out")
    return name


def failed(values: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """1 for an image of whose wordings half or more have the outcome, else 0; NaN without a value.

    >>> failed(np.array([0.0, 1 / 3, 0.5, 1.0, np.nan]))
    array([ 0.,  0.,  1.,  1., nan])
    """
    return np.where(np.isfinite(values), (values >= HALF).astype(np.float64), np.nan)


def answers_table_of(target: Target) -> str:
    """The table of what a model said."""
    return f"answers/{slug(target.name)}"


def with_texts(target: Target, answers: Predictions, folder: RunFolder, part: int, ids: list[str]) -> Predictions:
    """The predictions with what was said, where the target answers in words."""
    if not answers_in_words(target):
        return answers
    return replace(answers, said=said_of(folder.read_part(answers_table_of(target), part), ids))


GOALS: Final = ("regions", "failures", "rate")
METHODS: Final = ("ours", "mcduff2019", "random", "sobol")
THEN: Final = {"regions": "confirmed", "rate": "strata"}
"""What follows the points of a goal's first search, in the name of its strategy."""
DEFAULT_ALPHA: Final = 0.6
BATCH: Final = 8
SMALLEST: Final = 20


@final
@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The less common settings of a search.

    alpha_weighs: what alpha is the weight of, "diversity" as Eq. 4 of McDuff et al. 2019 is printed, or "failures" as
    the caption of their Fig. 4a suggests. target: how the target's answers are read, also as a mapping by name.
    """

    space: Annotated[
        str,
        Option(
            "attributes; conditions: levels only, a new subject per call, as in McDuff et al. 2019; latent: "
            "attributes and latent coordinates.",
            opens="value",
        ),
    ] = "attributes"
    latent_dims: Annotated[int, Option("Number of latent coordinates of --space latent.")] = DIRECTIONS
    method: Annotated[
        str,
        Option(
            "ours, random, sobol, or mcduff2019 (with --goal failures): their Eq. 4, one call at a time.", opens="value"
        ),
    ] = "ours"
    alpha: Annotated[float | None, Option("The weight in mcduff2019, 0 to 1; default 0.6.")] = None
    alpha_weighs: Annotated[
        str,
        Option("What --alpha weights: diversity (their Eq. 4), or failures (their Fig. 4a).", opens="value"),
    ] = "diversity"
    by: Annotated[
        tuple[str, ...],
        Option(
            "Also count errors by all combinations of these searched attributes; repeat for 2 or 3.",
            list[str],
            read=tuple,
            opens="value",
        ),
    ] = ()
    directions: Annotated[
        str | Path | None,
        Option("Fitted directions that set the attributes of a learned generator.", Path | None, opens="data"),
    ] = None
    image_size: Annotated[
        int | None, Option("Width and height of the images, in pixels; default 128.", names=("--size",))
    ] = None
    device: Annotated[
        str | None, Option("Where a learned generator computes: cpu, cuda, cuda:1, … Default cpu.", opens="value")
    ] = None
    limits: Limits = field(default_factory=Limits)
    require_validation: Annotated[
        str | Path | None,
        Option(
            "A validation.json of transect annotate validate, whose gates the generator and every searched level must "
            "pass.",
            Path | None,
            metavar="FILE",
            panel="Ratings",
            opens="data",
        ),
    ] = None
    target: ModelSettings | Mapping[str, object] = field(default_factory=ModelSettings)
    name: Annotated[str | None, Option("Name of the target in tables and headings.", opens="value")] = None
    questions: Annotated[
        str | Path | None,
        Option(
            "For a model that answers in words: the questions, a TOML file or a built-in set.", str | None, opens="data"
        ),
    ] = None
    question: Annotated[str, Option("The question to ask, if --questions has several.", opens="value")] = ""
    outcome: Annotated[
        str,
        Option(
            "For models that answer in words, what counts as a failure: refusal (default without --truth), hedge, "
            "unreadable, answer, error, option:NAME or code:NAME, in at least half of an image's wordings.",
            opens="value",
        ),
    ] = ""

    def how_read(self) -> Mapping[str, object]:
        """How the target's answers are read, as `resolve_targets` takes it."""
        return self.target.options() if isinstance(self.target, ModelSettings) else self.target


@final
@dataclass(frozen=True, slots=True)
class SearchPlan:
    """A search, checked: where `target` errs by `truth` on subjects of `world`, over `space`, with `budget` calls.

    truth: None where what is counted in words has no right answer. alpha: the weight of diversity; by: attributes by
    whose combinations errors are counted; gates: raters' validation that the search requires. The last two are not part
    of the spec, since they change no call.
    """

    world: World
    target: Target
    space: Space
    truth: Truth | None
    outcome: str
    budget: int
    goal: str = "regions"
    seed: int = 0
    population: str = "balanced"
    limits: Limits = field(default_factory=Limits)
    method: str = "ours"
    alpha: float = DEFAULT_ALPHA
    by: tuple[str, ...] = ()
    gates: required.Required | None = None

    @property
    def batch(self) -> int:
        """Calls that are chosen at once: one for the method of McDuff et al. 2019, else eight."""
        return 1 if self.method == "mcduff2019" else BATCH

    @property
    def design(self) -> Design:
        """One new subject per call."""
        return Design({}, self.budget, self.seed, self.population)

    @property
    def strategy(self) -> search.Strategy:
        """The strategy for the goal."""
        if self.method == "mcduff2019":
            return search.Interrogation(self.seed, self.alpha, self.space.steps)
        sampler = self._sampler()
        if self.goal == "failures":
            return search.Harvest(self.seed) if sampler is None else sampler
        strategy: ConfirmedSearch | Phases
        if self.goal == "regions":
            strategy = ConfirmedSearch(self.seed, self.budget, self.space.thresholds, strategy=sampler)
        else:
            strategy = Phases(self.seed, self.budget, self.space.thresholds, strategy=sampler)
        if self.method == "ours" or sampler is None:
            return strategy
        return replace(strategy, name=f"{sampler.name}, then {THEN[self.goal]}")

    def _sampler(self) -> search.Explorer | None:
        """What searches in place of the active search."""
        if self.method == "random":
            return search.Random(self.seed)
        if self.method == "sobol":
            return search.Sobol(self.seed)
        return search.Thompson(self.space.steps, self.seed) if self.space.conditions_alone else None

    def spec(self) -> SearchSpec:
        """What recreates the run."""
        from transect.targets import describe

        return SearchSpec(
            versions=versions(),
            name="search",
            generator=generator_entry(self.world),
            world=world_entry(self.world),
            goal=self.goal,
            budget=self.budget,
            seed=self.seed,
            batch=self.batch,
            method=SearchMethod(self.method, self.alpha if self.method == "mcduff2019" else None),
            space=tuple(
                SearchedAttribute(
                    attribute,
                    float(row[0]),
                    float(np.median(row)),
                    float(row[-1]),
                    tuple(np.unique(row).tolist()) if attribute.name in self.space.stepped else None,
                )
                for attribute, row in zip(self.space.attributes, self.space.ranked, strict=True)
            ),
            truth=None if self.truth is None else StatedTruth(*astuple(self.truth)),
            outcome=self.outcome,
            target=TargetDescription(describe(self.target)),
            limits=LimitsEntry(self.limits.timeout, self.limits.batch),
        )


def opened_target(target: TargetLike, options: SearchOptions) -> Target:
    """The target, opened as the options say and named; of a model that answers in words what it is asked."""
    asked = question_of(target, options.questions, options.question)
    name = f"{options.name}/{asked.question}" if options.name and isinstance(asked, AskedSpec) else options.name
    return opened_targets.resolve_targets([asked], options.how_read(), [] if name is None else [name])[0]


def search_for(
    world: World,
    target: Target,
    space: Space,
    *,
    truth: str | None = None,
    budget: int = 400,
    goal: str = "regions",
    seed: int = 0,
    options: SearchOptions | None = None,
) -> SearchPlan:
    """The search of a world's space. Raises BadInput and UnknownName for what cannot be searched."""
    options = options or SearchOptions()
    _check_method(options, goal)
    if budget < SMALLEST:
        raise BadInput(f"expected a --budget of at least {SMALLEST} calls, got {budget}")
    if not 0 <= seed < 1 << 31:
        raise BadInput(f"expected a --seed from 0 to {(1 << 31) - 1}, got {seed}")
    Design({}, budget)  # raises for more calls than any machine keeps
    check_subjects(world, budget)
    stated, outcome = _truth_and_outcome(world, target, truth, options.outcome)
    alpha = DEFAULT_ALPHA if options.alpha is None else options.alpha
    return SearchPlan(
        world,
        target,
        space,
        stated,
        outcome,
        budget,
        goal,
        seed,
        generator_entry(world).population,
        options.limits,
        method=options.method,
        alpha=search.diversity_weight(alpha, options.alpha_weighs),
        by=report_options.check_error_conditions(options.by, [[attribute.name for attribute in space.attributes]]),
        gates=_gates(options.require_validation, world, space),
    )


def _truth_and_outcome(world: World, target: Target, truth: str | None, wanted: str = "") -> tuple[Truth | None, str]:
    attributes = {**worlds.truth_attributes(world), **{each.name: each for each in world.attributes}}
    if answers_in_words(target):
        outcome = outcome_of(target, truth, wanted)
        stated = None if truth is None else Truth.parse(truth, attributes)
        rehearse(target, (outcome,), stated, attributes)
        return stated, outcome
    if wanted:
        raise BadInput(f"--outcome {wanted} applies to models that answer in words; leave --outcome out")
    task = Task(target.task)
    if task in (Task.REGRESSION, Task.EMBEDDING):
        raise BadInput(f"a search needs answers that are right or wrong; {target.name} is a {task} target")
    text = truth or (FACE if task is Task.DETECTION else None)
    if text is None:
        raise BadInput("a search needs a truth; give --truth, for example 'smile>0.5'")
    stated = Truth.parse(text, attributes)
    outcome = "miss" if stated.text == FACE else "error"
    rehearse(target, choose_outcomes(task, text, (outcome,)), stated, attributes)
    return stated, outcome


def _gates(path: str | Path | None, world: World, space: Space) -> required.Required | None:
    """Raters' validation, met by the generator, by all levels searched and over all ranges searched."""
    gates = required.required_for(path, [(world, {})])
    generator = generator_entry(world)
    latent = () if space.latent is None else space.latent.attributes
    for attribute, row in zip(space.attributes, space.ranked, strict=True):
        if gates is None or attribute in latent:
            continue
        if space.by_level(attribute):
            required.check(gates, generator, {attribute.name: np.unique(row).tolist()})
        else:
            required.check_range(gates, generator, attribute.name, float(row[0]), float(row[-1]))
    return gates


def _check_method(options: SearchOptions, goal: str) -> None:
    method, alpha = options.method, options.alpha
    if goal not in GOALS:
        raise UnknownName("goal", goal, GOALS)
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    if method == "mcduff2019" and goal != "failures":
        raise BadInput(f"--method mcduff2019 searches for failures only, got the goal {goal}; give --goal failures")
    if alpha is not None and not 0 <= alpha <= 1:
        raise BadInput(f"expected an --alpha from 0 to 1, got {alpha:g}")
    given = {"--alpha": alpha is not None, "--alpha-weighs": options.alpha_weighs != "diversity"}
    for option in (name for name, is_given in given.items() if is_given and method != "mcduff2019"):
        raise BadInput(
            f"{option} applies to --method mcduff2019, got {method}; choose that method, or leave {option} out"
        )
