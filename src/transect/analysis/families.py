"""Which tests share the 5 % of false findings: all of a report, or those of each world by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from transect.analysis.findings import Findings
from transect.records import Effect
from transect.runs.spec import GeneratorDescription


def in_several_worlds(studies: Sequence[Findings]) -> bool:
    """Whether one experiment was made in several worlds: in several generators, or on several sets of photographs."""
    return len({_world(each.spec.generator) for each in studies if each.design.levels and not each.in_steps}) > 1


def _world(generator: GeneratorDescription) -> tuple[str, str]:
    return generator.name, str(generator.facts.get("pictures_sha256", ""))


def of_effects(studies: Sequence[Findings]) -> list[str]:
    """For each effect of some studies, in order, the family that it is tested in."""
    several = in_several_worlds(studies)
    return [study.spec.name if several else "" for study in studies for _ in study.effects]


def corrected(
    effects: Sequence[Effect], families: Sequence[str], correct: Callable[[slice], Sequence[Effect]]
) -> tuple[Effect, ...]:
    """The effects with adjusted p, each family by itself. families: of each effect, those of one family in a row."""
    made: list[Effect] = []
    for _, members in groupby(families):
        made += correct(slice(len(made), len(made) + sum(1 for _ in members)))
    return tuple(made) if families else tuple(effects)
