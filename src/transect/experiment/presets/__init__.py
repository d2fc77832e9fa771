"""Presets of an audit: sensible settings for a kind of model, each a TOML file of this folder."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final, final

from transect.errors import BadInput, UnknownName
from transect.protocols import Target
from transect.records import Task

NAMES: Final = ("face-detector", "face-attribute", "face-recognition", "classifier")


@final
@dataclass(frozen=True, slots=True)
class Preset:
    """Settings of an audit for a kind of model.

    meaning: the question that they answer. tasks: those of the models that they are for. otherwise: what to do with
    another model. advice: what the settings leave open; "" for nothing. settings: by name, wherever they stand in an
    `AuditRequest`.
    """

    name: str
    meaning: str
    tasks: tuple[Task, ...]
    otherwise: str
    advice: str
    settings: Mapping[str, object]

    def check(self, targets: Sequence[Target]) -> None:
        """Raises BadInput for a target of another task, with what to do."""
        for target in targets:
            if Task(target.task) not in self.tasks:
                raise BadInput(
                    f"--preset {self.name}: expected a target of task {', '.join(self.tasks)}, got the "
                    f"{target.task} of {target.name}; {self.otherwise}"
                )


def preset(name: str) -> Preset:
    """The preset of that name. Raises UnknownName."""
    if name not in NAMES:
        raise UnknownName("preset", name, NAMES)
    table = tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    tasks = tuple(Task(task) for task in table["tasks"])
    return Preset(name, table["meaning"], tasks, table["otherwise"], table.get("advice", ""), _flat(table["settings"]))


def with_preset(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings, and below them those of the preset that they name: what is stated stays as stated.

    A stated number of observed `images` replaces what a preset varies, and groups `within` which a preset compares are
    those that vary. Raises UnknownName.

    >>> found = with_preset({"preset": "face-detector", "subjects": 5})
    >>> found["subjects"], found["truth"]
    (5, ['face'])
    >>> with_preset({"subjects": 5})
    {'subjects': 5}
    """
    name = settings.get("preset")
    if name is None:
        return dict(settings)
    chosen = dict(preset(str(name)).settings)
    if settings.get("images") is not None:
        chosen.pop("vary", None)
    if "vary" in settings and "within" in chosen:
        varied = [text.partition("=")[0].strip() for text in settings["vary"] or ()]  # type: ignore[attr-defined]
        chosen["within"] = [group for group in chosen["within"] if group in varied]  # type: ignore[attr-defined]
    return {**chosen, **settings}


def _flat(table: Mapping[str, object]) -> dict[str, object]:
    """Settings by name, without the section in which a file has them: no name occurs twice."""
    flat: dict[str, object] = {}
    for name, value in table.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return flat
