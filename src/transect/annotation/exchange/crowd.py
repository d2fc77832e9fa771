"""Tasks and answers for crowd markets: pictures as files, and what each service wants beside them.

Amazon Mechanical Turk: `batch.csv` and `template.html` (a crowd HTML form). SageMaker Ground Truth: `input.jsonl` of
the pictures, and `manifest.jsonl`, an augmented manifest of the answers that are there. Label Studio: `tasks.json`,
with the answers so far, and a `config-<question>.xml` each.
Pictures go into `images/` and are uploaded to what --image-url begins with.
"""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from transect.annotation.project import Project
from transect.annotation.questions import Asked
from transect.annotation.reading import Row, rows
from transect.annotation.schema import items
from transect.store import write_atomically


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


def name_of(study: str, image: str) -> str:
    """The file of a picture, under images/."""
    return f"{study}/{image}.png" if study else f"{image}.png"


def mturk(project: Project, out: Path, image_url: str) -> dict[str, Any]:
    """`batch.csv` (a row per item) and `template.html` for Mechanical Turk's requester pages."""
    listed = items_of(project)
    sink = io.StringIO()
    writer = csv.writer(sink)
    writer.writerow(["study", "id", "second", "question", "image_url", "second_url", "text", "choices"])
    address = _addresses(image_url)
    for one in listed:
        asked = project.asked.named(one.question)
        choices = json.dumps([level.name for level in asked.levels], ensure_ascii=False)
        second = address(one.study, one.second) if one.second else ""
        writer.writerow([*one, address(one.study, one.first), second, asked.text, choices])
    write_atomically(out / "batch.csv", sink.getvalue().encode())
    page = _TEMPLATE.replace("INSTRUCTIONS", html.escape(project.asked.instructions))
    write_atomically(out / "template.html", page.encode())
    return {"out": str(out), "items": len(listed), "pictures": _pictures(project, listed, out)}


def ground_truth(project: Project, out: Path, image_url: str) -> dict[str, Any]:
    """`manifest.jsonl`: a line per answer, as Ground Truth writes labels of image classification."""
    address = _addresses(image_url)
    made: list[dict[str, Any]] = []
    for one in rows(project.database):
        if one.value is None or one.second or one.repeat:
            continue
        asked = project.asked.named(one.question)
        made.append(
            {
                "source-ref": address(one.study, one.first),
                "transect-id": one.first,
                "transect-study": one.study,
                one.question: one.value,
                f"{one.question}-metadata": {
                    "class-name": asked.levels[one.value].name,
                    "job-name": f"transect/{one.question}",
                    "worker-id": one.rater,
                    "human-annotated": "yes",
                    "creation-date": datetime.fromtimestamp(one.given, UTC).isoformat(timespec="milliseconds"),
                    "type": "groundtruth/image-classification",
                },
            }
        )
    listed = items_of(project)
    single = dict.fromkeys((one.study, one.first) for one in listed if not one.second)
    tasks = [{"source-ref": address(*one), "transect-id": one[1], "transect-study": one[0]} for one in single]
    for name, lines in (("manifest.jsonl", made), ("input.jsonl", tasks)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        write_atomically(out / name, text.encode())
    return {"out": str(out), "answers": len(made), "pictures": _pictures(project, listed, out)}


def label_studio(project: Project, out: Path, image_url: str) -> dict[str, Any]:
    """`tasks.json`, a task per item with its answers so far, and a `config-<question>.xml` each."""
    listed, address = items_of(project), _addresses(image_url)
    said: dict[Item, list[Row]] = {}
    for row in rows(project.database):
        if not row.repeat and row.value is not None:
            said.setdefault(Item(row.study, row.first, row.second, row.question), []).append(row)
    made = []
    for one in listed:
        asked = project.asked.named(one.question)
        data = {**one._asdict(), "image": address(one.study, one.first)}
        if one.second:
            data["second_image"] = address(one.study, one.second)
        made.append({"data": data, "annotations": [_annotation(row, asked) for row in said.get(one, [])]})
    write_atomically(out / "tasks.json", (json.dumps(made, ensure_ascii=False, indent=1) + "\n").encode())
    for question in project.asked.question:
        write_atomically(out / f"config-{question.name}.xml", _config(question).encode())
    return {"out": str(out), "items": len(made), "pictures": _pictures(project, listed, out)}


def _annotation(row: Row, asked: Asked) -> dict[str, Any]:
    choice = asked.levels[row.value or 0].name
    return {
        "result": [
            {"from_name": asked.name, "to_name": "image", "type": "choices", "value": {"choices": [choice]}},
        ],
        "lead_time": None if row.milliseconds is None else row.milliseconds / 1000,
        "completed_by": {"email": f"{row.rater}@example.invalid"},
    }  # fmt: skip


def _config(asked: Asked) -> str:
    choices = "\n".join(
        f'    <Choice value="{html.escape(one.name)}"' + (f' hotkey="{one.key}"' if one.key else "") + "/>"
        for one in asked.levels
    )
    second = '  <Image name="second" value="$second_image"/>\n' if asked.pairs else ""
    return (
        f'<View>\n  <Image name="image" value="$image"/>\n{second}  <Header value="{html.escape(asked.text)}"/>\n'
        f'  <Choices name="{asked.name}" toName="image" choice="single" required="true">\n{choices}\n  </Choices>\n'
        "</View>\n"
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
<fieldset id="choices"><legend>${text}</legend></fieldset>
</crowd-form>
<script>
  if (document.querySelector("#second img").getAttribute("src")) document.querySelector("#second").hidden = false;
  const choices = document.querySelector("#choices");
  for (const [place, name] of JSON.parse(`${choices}`).entries()) {
    const label = document.createElement("label"), input = document.createElement("input");
    Object.assign(input, {type: "radio", name: "answer", value: String(place), required: true});
    label.append(input, " " + name);
    label.style.display = "block";
    choices.append(label);
  }
</script>
"""
