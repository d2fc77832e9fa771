"""What people are asked: questions with their levels and keys, and how many answers are wanted, as TOML.

A file has a `title`, `instructions`, `consent`, an optional `[plan]`, and one `[[question]]` table per question.
Several files can be asked together: the first `[plan]` counts, and the first `title`, `instructions` and `consent`,
those of one's own files before those of shipped ones. The shipped ones are `paper` (the eight questions of
Balakrishnan et al. 2020), `monk`, `pairs`, `same-person`, `quality` and `edits`.

Faces that show the levels of a question, rendered once by FaceWorld and stored beside the answers.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from transect.errors import BadInput, UnknownName
from transect.records import Question
from transect.runs import toml_files
from transect.runs.folder import spec_hash, write_atomically
from transect.runs.human_answers import RatedQuestion
from transect.runs.pictures import saved

SHIPPED: Final = ("paper", "monk", "pairs", "same-person", "quality", "edits")
RECONSTRUCTIONS: Final = "reconstructions"
"""Of `pairs`: real, fake and duplicate pairs of an inversion and its photographs."""
RESERVED: Final = {"u": "undo", "h": "help", "x": "cannot tell", "Backspace": "undo", "?": "help"}
"""Keys of the page itself."""
ADDED, NEIGHBOURS = "added", "neighbours"
WITHIN_SUBJECTS: Final = ("ends", ADDED, NEIGHBOURS)
"""Of `pairs`: images of one subject."""
_KEYS: Final = "1234567890"
_TEXTS: Final = ("title", "instructions", "consent")
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$")]
_Text = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]
_Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]$")]
_TAKEN: Final = ("id", "study", "rater")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@final
class Level(_Table):
    """One answer. value: what it is in the attribute's units. example: FaceWorld's settings of a face that shows it."""

    name: _Text
    key: _Key | None = None
    value: float | None = Field(default=None, allow_inf_nan=False)
    example: dict[str, float] = {}


@final
class FollowUp(_Table):
    """What is asked about the same images once the question is answered, such as how well one knows the person."""

    text: _Text
    levels: tuple[_Text, ...] = Field(min_length=2, max_length=9)


@final
class Gold(_Table):
    """An image whose answer is known, to see who pays attention. second: of a pair. study: where there are several."""

    image: str
    answer: str
    second: str = ""
    study: str = ""


@final
class RaterQuestion(_Table):
    """One question.

    scale: whether levels have an order, equal steps, or neither. pairs: about two images: the "ends" of each subject's
    row of images, what was "added" to its own (in steps from λ = 0 to the last, else the ends), its "neighbours", the
    "reconstructions" of an inversion beside its photographs, or a CSV file with columns first and second (and study,
    where there are several).
    sided: levels go from the left image to the right one, which change sides at random: two, or more that mirror each
    other, as left, about equal, right. attribute: which attribute the values of the levels are of. skip: whether
    "cannot tell" is offered. studies: which studies' images it is about; () for all.
    """

    name: Name
    text: _Text
    levels: tuple[Level, ...] = Field(min_length=2, max_length=26)
    help: str = Field(default="", max_length=2000)
    source: str = ""
    scale: Literal["nominal", "ordinal", "interval"] = "ordinal"
    attribute: str = ""
    pairs: str = ""
    sided: bool = False
    skip: bool = True
    follow_up: FollowUp | None = None
    gold: tuple[Gold, ...] = ()
    studies: tuple[str, ...] = ()

    @field_validator("levels", mode="before")
    @classmethod
    def _plain_levels(cls, levels: object) -> object:
        """A level may be its name alone; levels without a key get the digits in order."""
        if not isinstance(levels, list):
            return levels
        plain = [{"name": level} if isinstance(level, str) else level for level in levels]
        for place, level in enumerate(plain):
            if isinstance(level, dict) and "key" not in level and place < len(_KEYS):
                plain[place] = {**level, "key": _KEYS[place]}
        return plain

    @field_validator("name")
    @classmethod
    def _free_name(cls, name: str) -> str:
        if name in _TAKEN:
            raise ValueError(f"expected a name other than {', '.join(_TAKEN)}, which exported tables use")
        return name

    @field_validator("levels")
    @classmethod
    def _distinct_levels(cls, levels: tuple[Level, ...]) -> tuple[Level, ...]:
        keys = [level.key.lower() for level in levels if level.key]
        names = [level.name for level in levels]
        for what, each, more in (("key", keys, " (capitals do not count)"), ("name", names, "")):
            if twice := [text for text in each if each.count(text) > 1]:
                raise ValueError(f"expected a different {what} for every level, got {twice[0]!r} twice{more}")
        if taken := [key for key in keys if key in RESERVED]:
            raise ValueError(f"expected keys that the page does not use, got {taken[0]!r} ({RESERVED[taken[0]]})")
        if None in [level.value for level in levels] and any(level.value is not None for level in levels):
            raise ValueError("expected a value for every level or for none")
        of: dict[float, str] = {}
        for level in levels:
            if level.value is not None and of.setdefault(level.value, level.name) != level.name:
                both = f"{level.value:g} of {of[level.value]} and {level.name}"
                raise ValueError(f"expected a different value for every level, got {both}; leave one out")
        return levels

    @model_validator(mode="after")
    def _consistent(self) -> RaterQuestion:
        for gold in self.gold:
            if gold.answer not in self.names:
                among = ", ".join(sorted(self.names))
                raise ValueError(f"expected a gold answer among {among}, got {gold.answer!r}")
            if bool(gold.second) != bool(self.pairs):
                raise ValueError("expected `second` for the known answers of pairs, and none for those of images")
        if self.sided and not self.pairs:
            raise ValueError("sided = true needs pairs, whose images can swap sides")
        if self.sided and len(self.levels) > 2 and not _mirrored(self.values):
            shown = ", ".join(f"{value:g}" for value in self.values)
            raise ValueError(
                "sided = true needs rising, symmetric values from the left image to the right one, such as "
                f"0, 0.5, 1, got {shown}"
            )
        return self

    @property
    def record(self) -> Question:
        """The question as the other stages know it."""
        return Question(self.name, self.text, self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """What the levels are called."""
        return tuple(level.name for level in self.levels)

    def asked(self, values: Sequence[float], unsure: Mapping[str, int] | None = None) -> RatedQuestion:
        """What a column of ratings is about. unsure: by study, how many could not tell."""
        levels, places = self.names, self.places
        return RatedQuestion(self.text, self.attribute, self.scale, levels, tuple(values), places, dict(unsure or {}))

    @property
    def places(self) -> tuple[float, ...]:
        """Each level on a scale from 0 to 1; of levels in no order the indices."""
        last = 1 if self.scale == "nominal" else len(self.levels) - 1
        return tuple(index / last for index in range(len(self.levels)))

    @property
    def details(self) -> tuple[str, ...]:
        """The levels of the follow-up question; none without one."""
        return self.follow_up.levels if self.follow_up else ()

    def turned(self, level: int) -> int:
        """The level that says the same when the two images have changed sides."""
        return len(self.levels) - 1 - level

    @property
    def values(self) -> tuple[float, ...]:
        """Each level in the attribute's units; where none are stated, as `places`."""
        stated = [level.value for level in self.levels]
        return self.places if stated[0] is None else tuple(float(value or 0.0) for value in stated)


@final
class Stop(_Table):
    """Ask no further about an item that has `after` answers of which the share `agreement` is the same."""

    after: int = Field(ge=2, le=1000)
    agreement: float = Field(default=1.0, gt=0.5, le=1.0)


@final
class Plan(_Table):
    """How many answers, in which order, and how attention is tested.

    ratings: per image and question. order: one question after another, each rater beginning with another, or mixed.
    gold_every, repeat_every: every N tasks one with a known answer, or one that the rater has had; 0: none. Where
    both fall on one task, the repeat comes next.
    lease_minutes: how long a task waits for its rater. break_every: tasks after which a break is suggested.
    per_cell: N images of each cell of the design, drawn by the seed; 0: all. All pairs are always asked.
    """

    ratings: int = Field(default=5, ge=1, le=1000)
    order: Literal["by-question", "mixed"] = "by-question"
    stop: Stop | None = None
    gold_every: int = Field(default=0, ge=0)
    repeat_every: int = Field(default=0, ge=0)
    lease_minutes: float = Field(default=10.0, gt=0, le=24 * 60)
    break_every: int = Field(default=50, ge=0)
    per_cell: int = Field(default=0, ge=0)
    seed: int = Field(default=0, ge=0, lt=2**31)


@final
class Questionnaire(_Table):
    """All that is asked of the raters of one run."""

    title: _Text = "What do you see?"
    instructions: str = (
        "You see one picture and one question at a time. Answer what you see at first sight; there is no right or "
        "wrong. Press the key shown next to an answer, or click it. U takes the last answer back."
    )
    consent: str = (
        "Taking part is voluntary, and you can stop at any time by closing the page. We keep your answers and how long "
        "each took, under a number and not under your name. The pictures show faces; some may look strange."
    )
    source: str = ""
    plan: Plan = Plan()
    question: tuple[RaterQuestion, ...] = Field(min_length=1)

    @field_validator("question")
    @classmethod
    def _distinct(cls, questions: tuple[RaterQuestion, ...]) -> tuple[RaterQuestion, ...]:
        names = [question.name for question in questions]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"expected unique question names, got {twice[0]!r} twice")
        return questions

    def named(self, name: str) -> RaterQuestion:
        """The question of that name. Raises UnknownName."""
        for question in self.question:
            if question.name == name:
                return question
        raise UnknownName("question", name, [question.name for question in self.question])


def load(names: Sequence[str | Path] = ("paper",)) -> Questionnaire:
    """The built-in questions of those names, or those in TOML files, together.

    Raises UnknownName (neither built-in nor a file) and BadInput, in one line with file, line and key.

    >>> [one.name for one in load(["monk", "quality"]).question]
    ['skin_tone', 'quality', 'condition']
    """
    read = [toml_files.shipped_or_file(name, SHIPPED, "questions", "shipped", __package__) for name in names]
    questionnaires = [parse(*pair) for pair in read]
    if len(questionnaires) == 1:
        return questionnaires[0]
    plan = next(
        (questionnaire.plan for questionnaire in questionnaires if "plan" in questionnaire.model_fields_set), Plan()
    )
    questions = [each for questionnaire in questionnaires for each in questionnaire.question]
    try:
        Questionnaire._distinct(tuple(questions))
    except ValueError as error:
        raise BadInput(f"{', '.join(where for _, where in read)}: question: {error}; rename one") from None
    texts = {key: text for key in _TEXTS if (text := _text(key, names, questionnaires)) is not None}
    return questionnaires[0].model_copy(update={"plan": plan, "question": tuple(questions), **texts})


def _text(key: str, names: Sequence[str | Path], questionnaires: Sequence[Questionnaire]) -> str | None:
    """What the first file says under a key, one's own before a shipped one; None where no file says anything."""
    stated = [
        (str(n), str(getattr(questionnaire, key)))
        for n, questionnaire in zip(names, questionnaires, strict=True)
        if key in questionnaire.model_fields_set
    ]
    specific = [pair for pair in stated if pair[0] not in SHIPPED]
    if other := [where for where, text in specific if text != specific[0][1]]:
        raise BadInput(f"{specific[0][0]}, {other[0]}: {key}: the files set it differently; keep one")
    return next((text for _, text in specific or stated), None)


def parse(text: str, where: str) -> Questionnaire:
    """A questionnaire from its TOML. Raises BadInput in one line, with the line and the key."""
    return toml_files.checked(Questionnaire, toml_files.parse(text, where), where, text)


def _mirrored(values: Sequence[float]) -> bool:
    """Whether values rise, and each is as far from the low end as its mirror image from the high end.

    >>> _mirrored((0.0, 0.5, 1.0)), _mirrored((0.0, 0.2, 1.0)), _mirrored((1.0, 0.5, 0.0))
    (True, False, False)
    """
    sums = [first + last for first, last in zip(values, reversed(values), strict=True)]
    rising = all(first < last for first, last in itertools.pairwise(values))
    return rising and all(abs(each - sums[0]) < 1e-9 * max(1.0, abs(sums[0])) for each in sums)


_SIZE: Final = 96
_SEED: Final = 7
_POSE: Final = {
    "yaw": 0.0, "pitch": 0.0, "roll": 0.0, "hat": 0.0, "glasses": 0.0, "background": 0.0, "light_azimuth": 10.0,
    "baldness": 0.0, "bangs": 0.0, "facial_hair": 0.0, "hair_style": 4.0, "hair_length": 0.3, "age": 32.0, "smile": 0.0,
    "mouth_open": 0.0, "makeup": 0.0, "lipstick": 0.0, "skin_tone": 4.0, "earrings": 0.0,
}  # fmt: skip
"""All examples show one subject from the front, so that a level differs from the next in nothing else."""


def check_examples(questionnaire: Questionnaire) -> None:
    """Raises BadInput in one line for a setting that the world does not have, or out of its range."""
    from transect.generators.faceworld.attributes import attribute

    for question in questionnaire.question:
        try:
            for setting, value in (each for level in question.levels for each in level.example.items()):
                attribute(setting).check(value)
        except BadInput as error:
            raise BadInput(f"question {question.name}: example: {error}") from None


def render_examples(questionnaire: Questionnaire, home: Path) -> Path:
    """The folder of pictures `<question>-<level>.png` below `home`; those of the same settings are made once."""
    check_examples(questionnaire)
    wanted = {
        f"{question.name}-{place}": level.example
        for question in questionnaire.question
        for place, level in enumerate(question.levels)
        if level.example
    }
    key = spec_hash([wanted, _POSE, _SIZE, _SEED])[:16]
    folder = home / "examples" / key
    missing = {name: settings for name, settings in wanted.items() if not (folder / f"{name}.png").exists()}
    if missing:
        _render(missing, folder)
    return folder


def _render(wanted: dict[str, dict[str, float]], folder: Path) -> None:
    from transect.generators.faceworld.world import FaceWorld

    world = FaceWorld(image_size=_SIZE)
    for name, settings in wanted.items():
        latents = world.set(world.sample([_SEED]), {**_POSE, **settings})
        write_atomically(folder / f"{name}.png", saved(world.render(latents).pixels[0]))
