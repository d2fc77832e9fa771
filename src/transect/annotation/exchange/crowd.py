"""Tasks and answers for crowd markets: pictures as files, and what each service wants beside them.

Amazon Mechanical Turk: `batch.csv` and `template.html` (a crowd HTML form). SageMaker Ground Truth: `input.jsonl` of
the pictures, and `manifest.jsonl`, an augmented manifest of the answers that are there. Label Studio: for each
question, which is a project of its own there, `tasks-<question>.json` with the answers so far and a
`config-<question>.xml`.
Pictures go into `images/` and are uploaded to what --image-url begins with.

Half of the pairs of a `sided` question change sides, as the service's own page does it by rater: these markets show
everybody the same form, so that sides change by pair, and `flipped` says where. Follow-up questions are asked by the
forms of Mechanical Turk and Label Studio; Ground Truth's image classification knows neither pairs nor who cannot tell,
which are left out and counted.
"""

from __future__ import annotations

import csv
import html
import io
import json
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from transect.annotation.project import Project
from transect.annotation.questions import RaterQuestion
from transect.annotation.reading import Row, rows
from transect.annotation.schema import items
from transect.errors import BadInput
from transect.runs.folder import write_atomically

CANNOT_TELL: Final = "cannot tell"
FOLLOW_UP: Final = "_follow_up"
"""What ends the name of a follow-up's answers in Label Studio."""


class Item(NamedTuple):
    """One image or pair, and one question."""

    study: str
    first: str
    second: str
    question: str


def items_of(project: Project) -> list[Item]:
    """All items, known ones too."""
    query = sa.select(items.c.study, items.c.first, items.c.second, items.c.question).order_by(items.c.id)
    with project.database.reading() as connection:
        return [Item(*row) for row in connection.execute(query)]


def is_flipped(asked: RaterQuestion, item: Item, seed: int) -> bool:
    """Whether a market shows the second picture of a pair first: half of them, where the question has sides."""
    return asked.sided and bool(zlib.crc32(f"{seed}/{'/'.join(item)}".encode()) & 1)


def name_of(study: str, image: str) -> str:
    """The file of a picture, under images/."""
    return f"{study}/{image}.png" if study else f"{image}.png"


def mturk(project: Project, out: Path, image_url: str) -> dict[str, Any]:
    """`batch.csv` (a row per item) and `template.html` for Mechanical Turk's requester pages.

    What the form shows is escaped for HTML, since the service puts it into the page as it stands.
    """
    listed = items_of(project)
    sink = io.StringIO()
    writer = csv.DictWriter(sink, _COLUMNS)
    writer.writeheader()
    writer.writerows(_batch_row(project, one, _addresses(image_url)) for one in listed)
    write_atomically(out / "batch.csv", sink.getvalue().encode())
    page = _TEMPLATE.replace("INSTRUCTIONS", html.escape(project.questionnaire.instructions))
    write_atomically(out / "template.html", page.encode())
    return {"out": str(out), "items": len(listed), "pictures": _pictures(project, listed, out)}


_COLUMNS: Final = (
    "study", "id", "second", "question", "flipped", "image_url", "second_url", "text", "choices", "cannot_tell",
    "follow_up", "follow_up_choices",
)  # fmt: skip


def _batch_row(project: Project, item: Item, address: Callable[[str, str], str]) -> dict[str, str]:
    asked = project.questionnaire.named(item.question)
    flipped = is_flipped(asked, item, project.questionnaire.plan.seed)
    left, right = (item.second, item.first) if flipped else (item.first, item.second)
    follow = asked.follow_up
    shown = {
        "image_url": address(item.study, left),
        "second_url": address(item.study, right) if right else "",
        "text": asked.text,
        "choices": _json([one.name for one in asked.levels]),
        "cannot_tell": CANNOT_TELL if asked.skip else "",
        "follow_up": follow.text if follow else "",
        "follow_up_choices": _json(list(follow.levels) if follow else []),
    }
    key = {"study": item.study, "id": item.first, "second": item.second, "question": item.question}
    return {**key, "flipped": str(int(flipped)), **{name: html.escape(value) for name, value in shown.items()}}


def _json(value: list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)


def ground_truth(project: Project, out: Path, image_url: str) -> dict[str, Any]:
    """`manifest.jsonl`: a line per answer, as Ground Truth writes labels of image classification."""
    address, given = _addresses(image_url), rows(project.database)
    said = [one for one in given if not one.excluded]
    told = [one for one in said if not (one.value is None or one.second or one.repeat)]
    listed = items_of(project)
    single = dict.fromkeys((one.study, one.first) for one in listed if not one.second)
    tasks = [{"source-ref": address(*one), "transect-id": one[1], "transect-study": one[0]} for one in single]
    made = [_classified(one, project.questionnaire.named(one.question), address) for one in told]
    for name, lines in (("manifest.jsonl", made), ("input.jsonl", tasks)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        write_atomically(out / name, text.encode())
    left_out = {
        "answers about pairs": sum(bool(one.second) for one in said),
        "who cannot tell": sum(one.value is None and not one.second for one in said),
        "repeats": sum(one.repeat and one.value is not None and not one.second for one in said),
        "answers of who was shut out": len(given) - len(said),
    }
    return {
        "out": str(out),
        "answers": len(made),
        "pictures": _pictures(project, listed, out),
        "left_out": _some(left_out),
    }


def _some(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _classified(row: Row, asked: RaterQuestion, address: Callable[[str, str], str]) -> dict[str, Any]:
    level = row.value or 0
    follow = asked.follow_up.levels[row.detail] if asked.follow_up and row.detail is not None else None
    return {
        "source-ref": address(row.study, row.first),
        "transect-id": row.first,
        "transect-study": row.study,
        row.question: level,
        f"{row.question}-metadata": {
            "class-name": asked.levels[level].name,
            "job-name": f"transect/{row.question}",
            "worker-id": row.rater,
            "human-annotated": "yes",
            "creation-date": datetime.fromtimestamp(row.given, UTC).isoformat(timespec="milliseconds"),
            "type": "groundtruth/image-classification",
            **({} if follow is None else {"follow-up": follow}),
        },
    }


def check_level_names(asked: RaterQuestion) -> None:
    """Raises BadInput for a level of the name that Label Studio, which knows choices by their names, gives a skip."""
    if asked.skip and CANNOT_TELL in [one.name for one in asked.levels]:
        raise BadInput(
            f"question {asked.name}: expected no level called {CANNOT_TELL!r}, which is what a skip is called in Label "
            "Studio, got one; call it otherwise, or set skip = false"
        )


def label_studio(project: Project, out: Path, image_url: str) -> dict[str, Any]:
    """`tasks-<question>.json`, a task per item with its answers so far, and a `config-<question>.xml` each.

    Raises BadInput for a level that could not be told from a skip, before anything is written.
    """
    for each in project.questionnaire.question:
        check_level_names(each)
    listed, address, given = items_of(project), _addresses(image_url), rows(project.database)
    said: dict[Item, list[Row]] = {}
    for row in given:
        if not (row.repeat or row.excluded):
            said.setdefault(Item(row.study, row.first, row.second, row.question), []).append(row)
    for asked in project.questionnaire.question:
        made = [_task(project, one, said.get(one, []), address) for one in listed if one.question == asked.name]
        text = json.dumps(made, ensure_ascii=False, indent=1) + "\n"
        write_atomically(out / f"tasks-{asked.name}.json", text.encode())
        write_atomically(out / f"config-{asked.name}.xml", _config(asked).encode())
    out_of = {
        "repeats": sum(row.repeat and not row.excluded for row in given),
        "answers of who was shut out": sum(row.excluded for row in given),
    }
    return {
        "out": str(out),
        "items": len(listed),
        "pictures": _pictures(project, listed, out),
        "left_out": _some(out_of),
    }


def _task(project: Project, one: Item, said: list[Row], address: Callable[[str, str], str]) -> dict[str, Any]:
    asked = project.questionnaire.named(one.question)
    flipped = is_flipped(asked, one, project.questionnaire.plan.seed)
    left, right = (one.second, one.first) if flipped else (one.first, one.second)
    data = {**one._asdict(), "flipped": flipped, "image": address(one.study, left)}
    if right:
        data["second_image"] = address(one.study, right)
    return {"data": data, "annotations": [_annotation(row, asked, flipped) for row in said]}


def _annotation(row: Row, asked: RaterQuestion, flipped: bool) -> dict[str, Any]:
    """An annotation without `completed_by`, which the service takes of its own users alone; the rater is in `meta`."""
    level = 1 - row.value if flipped and row.value is not None else row.value
    told = [(asked.name, CANNOT_TELL if level is None else asked.levels[level].name)]
    if asked.follow_up and row.detail is not None:
        told.append((asked.name + FOLLOW_UP, asked.follow_up.levels[row.detail]))
    return {
        "result": [
            {
                "from_name": name, "to_name": "image", "type": "choices", "value": {"choices": [choice]},
                "meta": {"rater": row.rater},
            }
            for name, choice in told
        ],
        "lead_time": None if row.milliseconds is None else row.milliseconds / 1000,
    }  # fmt: skip


def _config(asked: RaterQuestion) -> str:
    choices = [(one.name, one.key or "") for one in asked.levels] + ([(CANNOT_TELL, "")] if asked.skip else [])
    second = '  <Image name="second" value="$second_image"/>\n' if asked.pairs else ""
    follow = asked.follow_up
    more = _asked(asked.name + FOLLOW_UP, follow.text, [(name, "") for name in follow.levels]) if follow else ""
    shown = '  <Image name="image" value="$image"/>\n' + second
    return f"<View>\n{shown}{_asked(asked.name, asked.text, choices)}{more}</View>\n"


def _asked(name: str, text: str, choices: list[tuple[str, str]]) -> str:
    """A heading and a choice."""
    lines = "\n".join(
        f'    <Choice value="{html.escape(choice)}"' + (f' hotkey="{html.escape(key)}"' if key else "") + "/>"
        for choice, key in choices
    )
    return (
        f'  <Header value="{html.escape(text)}"/>\n'
        f'  <Choices name="{name}" toName="image" choice="single" required="true">\n{lines}\n  </Choices>\n'
    )


def _addresses(image_url: str) -> Callable[[str, str], str]:
    base = image_url.rstrip("/")
    return lambda study, image: f"{base}/{name_of(study, image)}" if base else f"images/{name_of(study, image)}"


def _pictures(project: Project, listed: list[Item], out: Path) -> int:
    """Write the pictures of items, each once."""
    wanted = {(one.study, image) for one in listed for image in (one.first, one.second) if image}
    for study, image in sorted(wanted):
        path = out / "images" / name_of(study, image)
        if not path.exists():
            write_atomically(path, project.pictures.png(study, image))
    return len(wanted)


_TEMPLATE = """<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>
<crowd-form>
<p>INSTRUCTIONS</p>
<p><img src="${image_url}" alt="The picture to judge" style="max-width: 100%"></p>
<p id="second" hidden><img src="${second_url}" alt="The second picture" style="max-width: 100%"></p>
<fieldset id="answer" data-choices="${choices}" data-skip="${cannot_tell}"><legend>${text}</legend></fieldset>
<fieldset id="follow_up" data-choices="${follow_up_choices}" hidden><legend>${follow_up}</legend></fieldset>
</crowd-form>
<script>
  if (document.querySelector("#second img").getAttribute("src")) document.querySelector("#second").hidden = false;
  for (const fieldset of document.querySelectorAll("fieldset")) {
    const choices = [...JSON.parse(fieldset.dataset.choices).entries()];
    if (fieldset.dataset.skip) choices.push([fieldset.dataset.skip, fieldset.dataset.skip]);
    fieldset.hidden = !choices.length;
    for (const [place, name] of choices) {
      const label = document.createElement("label"), input = document.createElement("input");
      Object.assign(input, {type: "radio", name: fieldset.id, value: String(place), required: true});
      label.append(input, " " + name);
      label.style.display = "block";
      fieldset.append(label);
    }
  }
</script>
"""
