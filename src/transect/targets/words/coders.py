"""What gives the free texts of one question numbers beside rules: a judge model, and a user's own functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from transect.errors import BadInput
from transect.said import Said
from transect.targets.words.judging import Judge, judge_of
from transect.targets.words.questions import Kind, QuestionSet, WordQuestion
from transect.targets.words.scoring import Scorers, TextScorer, scorers_of, with_scores

JUDGE: Final = "judge"
SCORERS: Final = "scorers"
"""Keys of a target's description."""


@final
@dataclass(frozen=True, slots=True)
class Coders:
    """The judge of a question's judged codes, and the functions that score its texts; nothing of most questions."""

    judge: Judge | None = None
    scorers: tuple[TextScorer, ...] = ()

    @property
    def there(self) -> bool:
        """Whether texts are judged or scored."""
        return self.judge is not None or bool(self.scorers)

    def facts(self) -> dict[str, Any]:
        """What run.json holds of them: nothing where there are none."""
        judge = {} if self.judge is None else {JUDGE: dict(self.judge.describe())}
        return judge | ({SCORERS: [dict(each.describe()) for each in self.scorers]} if self.scorers else {})

    def coded(self, question: WordQuestion, saids: Sequence[Said]) -> list[Said]:
        """The answers with their codes and scores. Raises what a call raises that concerns the whole run."""
        judged = list(saids) if self.judge is None else self.judge.judged(question, saids)
        return with_scores(judged, self.scorers) if self.scorers else judged


def coders_of(question: WordQuestion, judge: object = None, scorers: Scorers = ()) -> Coders:
    """What codes the texts of a question. judge: what names the model, or itself; None without one.

    Raises BadInput for judged codes without a judge, and what opening them raises.
    """
    if question.judged and judge is None:
        names = ", ".join(code.name for code in question.judged)
        raise BadInput(
            f"{question.name}: expected a model that judges its codes ({names}), got none: add --judge MODEL to "
            "transect audit, or give these codes labels or patterns"
        )
    return Coders(
        judge_of(judge) if question.judged else None, scorers_of(scorers) if question.kind is Kind.TEXT else ()
    )


def check(questions: QuestionSet, judge: object, scorers: Scorers) -> None:
    """Raises BadInput for a judge or functions for which the questions have no text."""
    if judge is not None and not any(question.judged for question in questions):
        raise BadInput(f'--judge: expected codes with judge = "…" in {questions.name}, got none; leave it out')
    if scorers and not any(question.kind is Kind.TEXT for question in questions):
        raise BadInput(f"--scorer: expected questions of kind text in {questions.name}, got none; leave it out")
