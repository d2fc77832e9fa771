"""Tasks and answers for crowd markets: pictures as files, and the files that each service needs with them.

Amazon Mechanical Turk: `batch.csv` and `template.html` (a crowd HTML form). SageMaker Ground Truth: `input.jsonl` of
the pictures, and `manifest.jsonl`, an augmented manifest of the answers that are there. Label Studio: for each
question, which is a separate project there, `tasks-<question>.json` with the answers so far and a
`config-<question>.xml`.
Pictures go into `images/` and are uploaded to what --image-url begins with.

Half of the pairs of a `sided` question change sides, as on Transect's page they do by rater: these markets show
the same form to all, so that sides change by pair, and `flipped` says where. Follow-up questions are asked by the
forms of Mechanical Turk and Label Studio; Ground Truth's image classification knows neither pairs nor who cannot tell,
which are left out and counted.
"""

from __future__ import annotations

import csv
import hashlib
import html
import io
import json
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import sqlalchemy as sa

from transect.annotation.project import Project, Row, rows
from transect.annotation.questions import RaterQuestion
from transect.annotation.schema import items
from transect.errors import BadInput
from transect.runs.folder import slug, write_atomically
from transect.runs.pictures import packed
from transect.texts import shown

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


def _sides(project: Project, item: Item) -> tuple[bool, str, str]:
    """Whether a market shows the second picture of a pair first (half of them where it has sides); left and right."""
    seed = project.questionnaire.plan.seed
    if project.questionnaire.named(item.question).sided and zlib.crc32(f"{seed}/{'/'.join(item)}".encode()) & 1:
        return True, item.second, item.first
    return False, item.first, item.second


def name_of(study: str, image: str) -> str:
    """The file of a picture under images/. Raises BadInput for names of a run that would lead elsewhere."""
    for name in filter(None, (study, *image.split("/"))):
        if name in (".", "..") or set(name) & set("/\\:\0"):
            raise BadInput(
                f"image {shown(name)}: expected a plain file name, got a path; this run was not made by Transect"
            )
    if "/" in image:
        image = f"{slug(image)}-{hashlib.sha256(image.encode()).hexdigest()[:8]}"
    return f"{study}/{image}.png" if study else f"{image}.png"


def mturk(project: Project, out: Path, image_url: str) -> dict[str, object]:
    """`batch.csv` and `template.html`; what they show is escaped, since the service puts it into the page as it is."""
    listed = items_of(project)
    sink = io.StringIO()
    writer = csv.DictWriter(sink, _COLUMNS)
    writer.writeheader()
    writer.writerows(_batch_row(project, item, _addresses(image_url)) for item in listed)
    write_atomically(out / "batch.csv", sink.getvalue())
    page = _TEMPLATE.replace("INSTRUCTIONS", html.escape(project.questionnaire.instructions))
    write_atomically(out / "template.html", page)
    return {"out": str(out), "items": len(listed), "pictures": _pictures(project, listed, out)}


_COLUMNS: Final = (
    "study", "id", "second", "question", "flipped", "image_url", "second_url", "text", "choices", "cannot_tell",
    "follow_up", "follow_up_choices",
)  # fmt: skip


def _batch_row(project: Project, item: Item, address: Callable[[str, str], str]) -> dict[str, str]:
    question = project.questionnaire.named(item.question)
    flipped, left, right = _sides(project, item)
    follow = question.follow_up
    shown = {
        "image_url": address(item.study, left),
        "second_url": address(item.study, right) if right else "",
        "text": question.text,
        "choices": json.dumps(question.names, ensure_ascii=False),
        "cannot_tell": CANNOT_TELL if question.skip else "",
        "follow_up": follow.text if follow else "",
        "follow_up_choices": json.dumps(question.details, ensure_ascii=False),
    }
    key = {"study": item.study, "id": item.first, "second": item.second, "question": item.question}
    return {**key, "flipped": str(int(flipped)), **{name: html.escape(value) for name, value in shown.items()}}


def ground_truth(project: Project, out: Path, image_url: str) -> dict[str, object]:
    """`manifest.jsonl`: a line per answer, as Ground Truth writes labels of image classification."""
    address, all_rows = _addresses(image_url), rows(project.database)
    used = [row for row in all_rows if not row.excluded]
    classified = [row for row in used if not (row.value is None or row.second or row.repeat)]
    listed = items_of(project)
    single = dict.fromkeys((item.study, item.first) for item in listed if not item.second)
    tasks = [
        {"source-ref": address(*picture), "transect-id": picture[1], "transect-study": picture[0]} for picture in single
    ]
    manifest = [_classified(row, project.questionnaire.named(row.question), address) for row in classified]
    for name, lines in (("manifest.jsonl", manifest), ("input.jsonl", tasks)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        write_atomically(out / name, text)
    left_out = {
        "answers about pairs": sum(bool(row.second) for row in used),
        "who cannot tell": sum(row.value is None and not row.second for row in used),
        "repeats": sum(row.repeat and row.value is not None and not row.second for row in used),
        "answers of who was shut out": len(all_rows) - len(used),
    }
    counted = {name: count for name, count in left_out.items() if count}
    pictures = _pictures(project, listed, out)
    return {"out": str(out), "answers": len(manifest), "pictures": pictures, "left_out": counted}


def _classified(row: Row, question: RaterQuestion, address: Callable[[str, str], str]) -> dict[str, object]:
    level = row.value or 0
    follow_up = {} if row.detail is None else {"follow-up": question.details[row.detail]}
    return {
        "source-ref": address(row.study, row.first),
        "transect-id": row.first,
        "transect-study": row.study,
        row.question: level,
        f"{row.question}-metadata": {
            "class-name": question.levels[level].name,
            "job-name": f"transect/{row.question}",
            "worker-id": row.rater,
            "human-annotated": "yes",
            "creation-date": datetime.fromtimestamp(row.given, UTC).isoformat(timespec="milliseconds"),
            "type": "groundtruth/image-classification",
            **follow_up,
        },
    }


def check_level_names(question: RaterQuestion) -> None:
    """Raises BadInput for a level of the name that Label Studio, which knows choices by their names, gives a skip."""
    if question.skip and CANNOT_TELL in question.names:
        raise BadInput(
            f"question {question.name}: level {CANNOT_TELL!r} means a skip in Label Studio; rename it, or set "
            "skip = false"
        )


def label_studio(project: Project, out: Path, image_url: str) -> dict[str, object]:
    """`tasks-<question>.json`, a task per item with its answers so far, and a `config-<question>.xml` each."""
    for each in project.questionnaire.question:
        check_level_names(each)
    listed, address, all_rows = items_of(project), _addresses(image_url), rows(project.database)
    rows_by_item: dict[Item, list[Row]] = {}
    for row in all_rows:
        if not (row.repeat or row.excluded):
            rows_by_item.setdefault(Item(row.study, row.first, row.second, row.question), []).append(row)
    for question in project.questionnaire.question:
        mine = [item for item in listed if item.question == question.name]
        tasks = [_task(project, item, rows_by_item.get(item, []), address) for item in mine]
        text = json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"
        write_atomically(out / f"tasks-{question.name}.json", text)
        write_atomically(out / f"config-{question.name}.xml", _config(question))
    left_out = {
        "repeats": sum(row.repeat and not row.excluded for row in all_rows),
        "answers of who was shut out": sum(row.excluded for row in all_rows),
    }
    counted = {name: count for name, count in left_out.items() if count}
    return {"out": str(out), "items": len(listed), "pictures": _pictures(project, listed, out), "left_out": counted}


def _task(project: Project, item: Item, item_rows: list[Row], address: Callable[[str, str], str]) -> dict[str, object]:
    question = project.questionnaire.named(item.question)
    flipped, left, right = _sides(project, item)
    data = {**item._asdict(), "flipped": flipped, "image": address(item.study, left)}
    if right:
        data["second_image"] = address(item.study, right)
    return {"data": data, "annotations": [_annotation(row, question, flipped) for row in item_rows]}


def _annotation(row: Row, question: RaterQuestion, flipped: bool) -> dict[str, object]:
    """An annotation without `completed_by`, which the service accepts only for its users; the rater is in `meta`."""
    level = question.turned(row.value) if flipped and row.value is not None else row.value
    choices = [(question.name, CANNOT_TELL if level is None else question.levels[level].name)]
    if row.detail is not None:
        choices.append((question.name + FOLLOW_UP, question.details[row.detail]))
    return {
        "result": [
            {
                "from_name": name, "to_name": "image", "type": "choices", "value": {"choices": [choice]},
                "meta": {"rater": row.rater},
            }
            for name, choice in choices
        ],
        "lead_time": None if row.milliseconds is None else row.milliseconds / 1000,
    }  # fmt: skip


def _config(question: RaterQuestion) -> str:
    choices = [(level.name, level.key or "") for level in question.levels] + (
        [(CANNOT_TELL, "")] if question.skip else []
    )
    second = '  <Image name="second" value="$second_image"/>\n' if question.pairs else ""
    follow = question.follow_up
    more = _asked(question.name + FOLLOW_UP, follow.text, [(name, "") for name in follow.levels]) if follow else ""
    shown = '  <Image name="image" value="$image"/>\n' + second
    return f"<View>\n{shown}{_asked(question.name, question.text, choices)}{more}</View>\n"


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
    wanted = {(item.study, image) for item in listed for image in (item.first, item.second) if image}
    for study, image in sorted(wanted):
        path = out / "images" / name_of(study, image)
        if not path.exists():
            write_atomically(path, packed(project.pictures.png(study, image)))
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
