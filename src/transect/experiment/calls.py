"""What a run keeps of the calls that its targets' answers took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from transect.protocols import CountsCalls, Target
from transect.records import CallCounts, Quote
from transect.runs.folder import canonical_json, slug, write_atomically
from transect.runs.json_records import record_in
from transect.runs.plain_json import plain
from transect.targets.capabilities import answers_in_words
from transect.targets.words.asked import AskedTarget
from transect.targets.words.judging import Judge

FOLDER: Final = "call_counts"


@final
@dataclass(frozen=True, slots=True)
class TargetCalls:
    """The calls to one target of a run. in_words: to a model that is asked in words, a call for each text it was sent.

    money: that all programs so far spent on it, in `currency`; 0 where that is not known.
    """

    target: str
    counts: CallCounts
    in_words: bool = False
    money: float = 0.0
    currency: str = ""


def keep(folder: Path, targets: Sequence[Target]) -> None:
    """Write the counts of each target that has them into a run folder.

    A target that this program did not call leaves those of an earlier program as they are, so that a finished run
    stays as it was although other runs use the same file of answers.
    """
    for target in targets:
        path = folder / FOLDER / f"{slug(target.name)}.json"
        if not isinstance(target, CountsCalls) or (path.exists() and not target.calls_made()[0]):
            continue
        if (counts := target.call_counts()) is not None:
            write_atomically(path, canonical_json(_record(target, counts, target.quote(0))) + "\n")
    for judge in [target.coders.judge for target in targets if isinstance(target, AskedTarget)]:
        if judge is not None:
            _keep_judge(folder, judge)


def _keep_judge(folder: Path, judge: Judge) -> None:
    """As `keep`, of a judge whose calls no target states."""
    path, speaker = folder / FOLDER / f"judge-{slug(judge.name)}.json", judge.speaker
    if not isinstance(speaker, CountsCalls) or (path.exists() and not judge.calls_made()[0]):
        return
    if (counts := speaker.call_counts()) is not None:
        spent = speaker.quote(0)
        name, money = f"{judge.name} (judge)", spent.money_spent or 0.0
        record = plain(TargetCalls(name, counts, in_words=True, money=money, currency=spent.currency))
        write_atomically(path, canonical_json(record) + "\n")


def _record(target: Target, counts: CallCounts, quote: Quote) -> dict[str, object]:
    """What is kept of a target; of one that answers in words with its money."""
    if not answers_in_words(target):
        return {"target": target.name, "counts": plain(counts)}
    record: dict[str, object] = plain(
        TargetCalls(target.name, counts, in_words=True, money=quote.money_spent or 0.0, currency=quote.currency)
    )
    return record


def read(folder: Path) -> list[TargetCalls]:
    """The counts that a run folder keeps; none for a run without such targets. Raises BadInput for a broken file."""
    return [record_in(path, TargetCalls) for path in sorted((folder / FOLDER).glob("*.json"))]
