"""A study file: what a protocol runs, step by step, as TOML; and the files that ship."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    model_validator,
)

from transect.errors import BadInput
from transect.runs import toml_files
from transect.studies import SHIPPED

HERE: Final = "here"
"""The reference to a step's own folder."""
_FOLDER: Final = "shipped"

Scalar: TypeAlias = StrictBool | StrictInt | StrictFloat | StrictStr
Value: TypeAlias = Scalar | tuple[Scalar, ...]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,60}\.[a-z]{1,8}$")]
StepName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,40}$")]
VariableName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,40}$")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@final
class Step(_Table):
    """One step: a command with its arguments and options, or a wait for ratings of the images of `of`.

    when: run only where this is true. if_used: run only where a later step refers to it. page: the step's page, where
    it is not in the step's folder. raters: answers to each question about each image. questions, photographs: as
    `annotate serve` takes them. files: texts that are written into the step's folder before it runs.
    """

    name: StepName
    does: Text
    run: str = ""
    arguments: tuple[Value, ...] = ()
    options: dict[str, Value] = {}
    files: dict[FileName, StrictStr] = {}
    when: StrictStr | StrictBool = True
    if_used: bool = False
    page: str = ""
    waits_for: Literal["ratings"] | None = None
    of: str = ""
    raters: StrictInt | StrictStr = 1
    questions: tuple[str, ...] = ()
    photographs: str = ""

    @model_validator(mode="after")
    def _one_kind(self) -> Step:
        if bool(self.run) == bool(self.waits_for):
            raise ValueError('expected either run = "a command" or waits_for = "ratings"')
        if self.waits_for and not self.of:
            raise ValueError('expected of = "{step}", the step whose images are rated, with waits_for')
        return self


@final
class Claim(_Table):
    """A figure of the paper beside one of this study. value: a JSON pointer into the step's answer, times `scale`."""

    about: Text
    published: Text
    step: StepName
    value: str
    scale: float = 1.0
    note: str = ""


@final
class StudyFile(_Table):
    """A protocol. needs: variables that the user must set, with what each is. profiles: variables by profile.

    The first profile is the default and names every variable that has a default; the others replace some.
    """

    title: Text
    paper: Text
    profiles: dict[StepName, dict[VariableName, Value]] = Field(min_length=1)
    needs: dict[VariableName, Text] = {}
    step: tuple[Step, ...] = Field(min_length=1)
    claim: tuple[Claim, ...] = ()

    @property
    def default_profile(self) -> str:
        """The name of the first profile."""
        return next(iter(self.profiles))


def read_study(name: str | Path) -> tuple[StudyFile, str]:
    """A study that ships, by name, or of a TOML file; and the name of its run folder.

    Raises UnknownName for neither; BadInput, with the line, for a file that is no study.
    """
    text, where = toml_files.shipped_or_file(name, SHIPPED, "study", _FOLDER, "transect.studies")
    study = toml_files.checked(StudyFile, toml_files.parse(text, where), where, text)
    _check_names(study, where)
    return study, Path(name).stem


def shipped_text(name: str) -> str:
    """The text of a study that ships. Raises UnknownName for another name."""
    from transect.errors import UnknownName

    if name not in SHIPPED:
        raise UnknownName("study", name, SHIPPED, "see: transect study --list")
    return toml_files.shipped_or_file(name, SHIPPED, "study", _FOLDER, "transect.studies")[0]


def _check_names(study: StudyFile, where: str) -> None:
    steps = [step.name for step in study.step]
    if twice := [name for name, count in Counter(steps).items() if count > 1]:
        raise BadInput(f"{where}: expected steps of different names, got {twice[0]} twice; rename one")
    known = variables_of(study)
    if both := [name for name in steps if name in known or name == HERE]:
        raise BadInput(f"{where}: step {both[0]}: expected a name that no variable has; rename one")
    default = study.profiles[study.default_profile]
    for profile, values in study.profiles.items():
        if lacking := [name for name in values if name not in default and name not in study.needs]:
            raise BadInput(
                f"{where}: profile {profile}: expected variables of the first profile, {study.default_profile}, got "
                f"{lacking[0]}; add it there, or to [needs]"
            )
    for claim in study.claim:
        if claim.step not in steps:
            raise BadInput(f"{where}: claim {claim.about!r}: unknown step {claim.step!r}; name one of the steps")


def variables_of(study: StudyFile) -> Mapping[str, Value | None]:
    """Every variable with its default, None where the user must set it."""
    return {**dict.fromkeys(study.needs), **study.profiles[study.default_profile]}
