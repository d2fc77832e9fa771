"""Tasks and answers of crowd markets: round trips of each format, with all that a question can have."""

import csv
import json
import re

import pytest
from answer_rows import FULL, plain

from transect.annotation.exchange.incoming import take_in
from transect.annotation.exchange.outgoing import answers_table, write
from transect.annotation.exchange.reading_files import read
from transect.annotation.raters import set_state
from transect.errors import BadInput


def tasks_of(folder, question):
    return json.loads((folder / f"tasks-{question}.json").read_text())


def results_of(batch, path, said, format="json"):
    """What Mechanical Turk gives back: a row's own columns, and the form's fields in one of its three ways.

    said(row) -> the places that are ticked: of the answer, and of the follow-up or None.
    """
    rows = []
    for row in batch:
        ticked = dict(zip(("answer", "follow_up"), said(row), strict=True))
        fields = {
            name: {str(i): str(i) == place for i in range(5)} | ({place: True} if place == "cannot tell" else {})
            for name, place in ticked.items()
            if place is not None
        }
        if format == "json":
            told = {"Answer.taskAnswers": json.dumps([fields])}
        elif format == "flat":
            told = {f"Answer.{name}.{i}": str(on).lower() for name, ons in fields.items() for i, on in ons.items()}
        else:
            told = {f"Answer.{name}": place or "" for name, place in ticked.items()}
        own = {f"Input.{name}": value for name, value in row.items()}
        rows.append({"AssignmentStatus": "Submitted", "WorkerId": "A1SECRET", "WorkTimeInSeconds": "7", **own, **told})
    names = dict.fromkeys(name for row in rows for name in row)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(names), restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("format", ["json", "flat", "plain"])
def test_mechanical_turk_goes_round(rated, empty, tmp_path, format):
    write(rated, "mturk", tmp_path / "mturk", "attribute", "https://pictures.example/run")
    with (tmp_path / "mturk" / "batch.csv").open(newline="") as file:
        batch = list(csv.DictReader(file))
    assert len(batch) == 6
    assert batch[0]["image_url"].startswith("https://pictures.example/run/")
    page = (tmp_path / "mturk" / "template.html").read_text()
    assert set(re.findall(r"\$\{(\w+)\}", page)) == set(batch[0]) - {"study", "id", "second", "question", "flipped"}
    assert len(list((tmp_path / "mturk" / "images").glob("*.png"))) == 4
    results = results_of(batch, tmp_path / "results.csv", lambda row: ("1", None), format)
    columns = results.read_text().splitlines()[0].count(",") + 1
    with results.open("a") as file:
        file.write("Rejected,A2SECRET" + "," * (columns - 2) + "\n")
    made = take_in(empty, read(results, "mturk", empty), now=0.0)
    assert (made.answers, made.raters, made.left_out) == (6, 1, {"rejected": 1})
    table = answers_table(empty)
    assert set(table["level"].to_pylist()) == {1}
    assert set(table["seconds"].to_pylist()) == {7.0}
    assert "SECRET" not in str(table.to_pylist()), "workers' own ids are not kept"


def test_an_answer_that_nobody_gave_is_none(rated, empty, paired, tmp_path):
    """A form that came back without a tick is no "cannot tell"; nor may that stand where a question must be answered."""
    for project, question, place, message in (
        (rated, "smile", "", "expected a place from 0 to 2, got ''"),
        (paired[1], "more", "cannot tell", "more must be answered"),
    ):
        write(project, "mturk", tmp_path / question, "attribute", "")
        with (tmp_path / question / "batch.csv").open(newline="") as file:
            batch = [row for row in csv.DictReader(file) if row["question"] == question]
        path = results_of(batch[:1], tmp_path / f"{question}.csv", lambda row, place=place: (place, None), "plain")
        with pytest.raises(BadInput, match=re.escape(message)):
            read(path, "mturk", project)
    path = tmp_path / "answers.csv"
    path.write_text("id,second,question,rater,answer\n0-0000,0-0001,more,ada,\n")
    with pytest.raises(BadInput, match="row 1: answer: more must be answered"):
        read(path, "answers", paired[1])


def test_ground_truth_goes_round(rated, empty, tmp_path):
    told = write(rated, "ground-truth", tmp_path / "gt", "attribute", "s3://bucket/run")
    assert told["answers"] == 7, "single images, answers with a level"
    lines = (tmp_path / "gt" / "manifest.jsonl").read_text().splitlines()
    assert len(lines) == 7
    first = json.loads(lines[0])
    assert first["source-ref"] == f"s3://bucket/run/{first['transect-id']}.png"
    assert first["smile-metadata"]["class-name"] in ("no", "a little", "yes")
    assert len((tmp_path / "gt" / "input.jsonl").read_text().splitlines()) == 4
    take_in(empty, read(tmp_path / "gt" / "manifest.jsonl", "ground-truth", empty), now=0.0)
    columns = ("id", "rater", "answer", "given")
    wanted = [
        row for row in answers_table(rated).to_pylist() if row["question"] == "smile" and row["level"] is not None
    ]
    assert plain(empty, *columns) == sorted(str({name: row[name] for name in columns}) for row in wanted)


def test_label_studio_goes_round(rated, empty, tmp_path):
    write(rated, "label-studio", tmp_path / "ls", "attribute", "")
    assert [len(tasks_of(tmp_path / "ls", name)) for name in ("smile", "same")] == [4, 2]
    annotations = [
        one for name in ("smile", "same") for task in tasks_of(tmp_path / "ls", name) for one in task["annotations"]
    ]
    assert len(annotations) == 12
    assert not [one for one in annotations if "completed_by" in one], "the service takes its own users alone"
    for name in ("smile", "same"):
        take_in(empty, read(tmp_path / "ls" / f"tasks-{name}.json", "label-studio", empty), now=0.0)
    columns = ("id", "second", "question", "rater", "answer", "seconds")
    assert plain(empty, *columns) == plain(rated, *columns)


def test_label_studios_csv_says_the_same_as_its_json(rated, empty, tmp_path):
    """A row for each annotation, with the fields of its task; what was skipped has no answer."""
    write(rated, "label-studio", tmp_path / "ls", "attribute", "")
    for name in ("smile", "same"):
        rows = [
            {
                **task["data"], "id": task.get("id", 1), "annotation_id": 1, "annotator": f"{number}@example.com",
                "lead_time": 2.5, **{one["from_name"]: one["value"]["choices"][0] for one in annotation["result"]},
            }
            for task in tasks_of(tmp_path / "ls", name)
            for number, annotation in enumerate(task["annotations"])
        ]  # fmt: skip
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), restval="")
            writer.writeheader()
            writer.writerows(rows)
        take_in(empty, read(tmp_path / f"{name}.csv", "label-studio", empty), now=0.0)
    columns = ("id", "second", "question", "answer")
    assert plain(empty, *columns) == plain(rated, *columns)


def test_label_studios_own_export_is_read(empty, tmp_path):
    """Users by number or e-mail; skipped annotations are counted; one made with another question's form is named."""

    def result(name, choice):
        return {"from_name": name, "to_name": "image", "type": "choices", "value": {"choices": [choice]}}

    data = {"study": "", "first": "0-0000", "second": "", "question": "smile", "flipped": False}
    annotations = [
        {"id": 7, "completed_by": 3, "lead_time": 2.5, "was_cancelled": False, "result": [result("smile", "yes")]},
        {"id": 8, "completed_by": {"id": 4, "email": "ada@example.com"}, "result": [result("smile", "cannot tell")]},
        {"id": 9, "completed_by": 5, "was_cancelled": True, "result": [result("smile", "no")]},
        {"id": 10, "completed_by": 6, "result": []},
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"id": 1, "data": data, "annotations": annotations}]))
    made = take_in(empty, read(path, "label-studio", empty), now=0.0)
    assert (made.answers, made.raters, made.left_out) == (2, 2, {"skipped": 2})
    assert sorted(map(str, answers_table(empty)["answer"].to_pylist())) == ["None", "yes"]
    path.write_text(json.dumps([{"id": 1, "data": data, "annotations": annotations[2:]}]))
    assert take_in(empty, read(path, "label-studio", empty), now=1.0).left_out == {"skipped": 2}
    nobody = {"completed_by": None, "result": [result("smile", "no")]}
    path.write_text(json.dumps([{"id": 1, "data": data, "annotations": [nobody]}]))
    with pytest.raises(BadInput, match="task 1: expected the rater of the answer, got none"):
        read(path, "label-studio", empty)
    wrong = [result("same", "not")]
    path.write_text(json.dumps([{"data": data, "annotations": [{"completed_by": 9, "result": wrong}]}]))
    with pytest.raises(BadInput, match="task 1: expected an answer to smile, got one to same"):
        read(path, "label-studio", empty)


def test_label_studio_keeps_follow_ups_sides_and_who_cannot_tell(paired, tmp_path):
    """What is shown left is what the task's `image` is: of a flipped pair its second picture."""
    full, other = paired
    write(full, "label-studio", tmp_path / "ls", "attribute", "")
    more = tasks_of(tmp_path / "ls", "more")
    assert 0 < sum(task["data"]["flipped"] for task in more) < 8
    by_id = {row["id"]: row["answer"] for row in answers_table(full).to_pylist() if row["question"] == "more"}
    for task in more:
        data = task["data"]
        assert data["image"].endswith(f"{data['second' if data['flipped'] else 'first']}.png")
        (said,) = task["annotations"][0]["result"]
        same_side = said["value"]["choices"][0] == by_id[data["first"]]
        assert same_side != data["flipped"]
    for name in ("same", "more"):
        take_in(other, read(tmp_path / "ls" / f"tasks-{name}.json", "label-studio", other), now=0.0)
    assert plain(other, *FULL) == plain(full, *FULL)


def test_sides_and_follow_ups_come_back_from_mechanical_turk(paired, tmp_path):
    """Every worker answers the first level as shown, and the last follow-up: of flipped pairs the second picture."""
    _, other = paired
    write(other, "mturk", tmp_path / "mturk", "attribute", "")
    with (tmp_path / "mturk" / "batch.csv").open(newline="") as file:
        batch = list(csv.DictReader(file))
    results = results_of(batch, tmp_path / "results.csv", lambda row: ("0", "1" if row["question"] == "same" else None))
    made = take_in(other, read(results, "mturk", other), now=0.0)
    assert (made.answers, made.raters) == (16, 1)
    flipped = {row["id"] for row in batch if row["flipped"] == "1"}
    assert 0 < len(flipped) < 8
    for one in answers_table(other).to_pylist():
        if one["question"] == "more":
            assert one["answer"] == ("second" if one["id"] in flipped else "first")
        else:
            assert (one["answer"], one["follow_up"]) == ('the "same"', "not")


def test_who_is_shut_out_stays_out_wherever_answers_go(rated, empty, tmp_path):
    set_state(rated, 1, "excluded")
    path = tmp_path / "answers.parquet"
    write(rated, "answers", path, "attribute", "")
    made = take_in(empty, read(path, "answers", empty), now=0.0)
    assert (made.answers, made.raters, made.left_out) == (6, 1, {"of raters who were shut out": 6})
    told = write(rated, "ground-truth", tmp_path / "gt", "attribute", "")
    assert (told["answers"], told["left_out"]["answers of who was shut out"]) == (3, 6)
    told = write(rated, "label-studio", tmp_path / "ls", "attribute", "")
    assert told["left_out"] == {"answers of who was shut out": 6}
    assert {len(task["annotations"]) for task in tasks_of(tmp_path / "ls", "smile")} == {1}


def choice(name, *ticked):
    return {"from_name": name, "to_name": "image", "type": "choices", "value": {"choices": list(ticked)}}


SMILE = {"study": "", "first": "0-0000", "second": "", "question": "smile"}
SAID = {"completed_by": 3, "result": [choice("smile", "yes")]}


def label_studio_file(folder, data, annotation):
    path = folder / "export.json"
    path.write_text(json.dumps([{"data": {**SMILE, **data}, "annotations": [{**SAID, **annotation}]}]))
    return path


@pytest.mark.integration
@pytest.mark.parametrize(
    ("data", "annotation", "message"),
    [
        ({"flipped": "no"}, {}, "task 1: flipped: expected true or false, got 'no'"),
        ({"flipped": None}, {}, "task 1: flipped: expected true or false, got None"),
        ({"flipped": True}, {}, "task 1: flipped: expected false, since smile has no sides, got true"),
        ({}, {"was_cancelled": "perhaps"}, "task 1: was_cancelled: expected true or false, got 'perhaps'"),
        ({}, {"result": [choice("smile", "yes", "no")]}, "task 1: smile: expected one choice, got 2"),
        ({}, {"result": [choice("smile", "yes"), choice("smile", "no")]}, "task 1: expected one answer of smile with"),
        ({}, {"result": [choice("smile")]}, "task 1: smile: expected one choice, got 0"),
        ({}, {"result": [choice("smile", "2")]}, "task 1: answer: expected one of no, a little, yes, got '2'"),
        ({}, {"completed_by": True}, "task 1: expected the rater of the answer, got True"),
        ({}, {"completed_by": " "}, "task 1: expected the rater of the answer, got ' '"),
        ({}, {"lead_time": 10**400}, "task 1: seconds: expected a number, got 1000000000"),
        ({}, {"lead_time": True}, "task 1: seconds: expected a number, got True"),
    ],
)
def test_label_studio_s_odd_values_are_refused_with_task_and_field(empty, tmp_path, data, annotation, message):
    with pytest.raises(BadInput, match=re.escape(message)) as error:
        read(label_studio_file(tmp_path, data, annotation), "label-studio", empty)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("flipped", "level"), [("false", 0), (False, 0), (0, 0), ("True", 1), (1, 1)])
def test_only_what_says_true_changes_the_sides(paired, tmp_path, flipped, level):
    data = {"second": "0-0001", "question": "more", "flipped": flipped}
    path = label_studio_file(tmp_path, data, {"result": [choice("more", "first")]})
    assert [answer.level for answer in read(path, "label-studio", paired[1])] == [level]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"worker-id": None}, "line 1: expected the rater of the answer, got none"),
        ({"worker-id": {"id": 1}}, "line 1: expected the rater of the answer, got {'id': 1}"),
        ({"creation-date": "0001-01-01T00:00:00+14:00"}, "line 1: given: expected a year from 1 to 9999"),
        ({"creation-date": 5}, "line 1: given: expected a date and time, got 5"),
        ({"class-name": "yes"}, "line 1: expected level 0 to be 'no', got 'yes'"),
    ],
)
def test_ground_truth_s_odd_values_are_refused_with_their_line(empty, tmp_path, change, message):
    path = tmp_path / "manifest.jsonl"
    line = {"transect-id": "0-0000", "smile": 0, "smile-metadata": {"worker-id": "A1", **change}}
    path.write_text(json.dumps(line))
    with pytest.raises(BadInput, match=re.escape(message)):
        take_in(empty, read(path, "ground-truth", empty), now=0.0)


def test_simulated_raters_stay_simulated_through_ground_truth(empty, tmp_path):
    path = tmp_path / "manifest.jsonl"
    path.write_text(json.dumps({"transect-id": "0-0000", "smile": 0, "smile-metadata": {"worker-id": "simulated-001"}}))
    assert [answer.rater for answer in read(path, "ground-truth", empty)] == ["simulated-001"]


def test_two_ticks_of_a_mechanical_turk_form_are_no_answer(rated, tmp_path):
    write(rated, "mturk", tmp_path / "mturk", "attribute", "")
    with (tmp_path / "mturk" / "batch.csv").open(newline="") as file:
        batch = [row for row in csv.DictReader(file) if row["question"] == "smile"][:1]
    path = results_of(batch, tmp_path / "results.csv", lambda row: ("1", None))
    path.write_text(path.read_text().replace('""0"": false', '""0"": true'))
    with pytest.raises(BadInput, match="line 2: answer: expected a place from 0 to 2, got '0, 1'"):
        read(path, "mturk", rated)
