"""People code the texts of a run's judge: what is drawn, what they see, and what their codes say of the judge."""

import json

import pytest
from judge_speaker import FILE, JudgeSpeaker
from stub_speaker import StubSpeaker
from toned_world import TonedWorld

import transect
from transect.designs import transect_design
from transect.errors import BadInput
from transect.experiment import opened_targets, study
from transect.runs import human_answers as kept
from transect.targets.words.speakers import AskedSpec

pytest.importorskip("sqlalchemy")
SUBJECTS = 24


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("coded")
    (folder / "mine.toml").write_text(FILE)
    world, spec = TonedWorld(), AskedSpec(StubSpeaker(name="said"), str(folder / "mine.toml"), "alt", JudgeSpeaker())
    shared = {"subjects": SUBJECTS, "seed": 0, "population": "", "hold": ()}
    design = transect_design({"tone": (0.0, 1.0)}, world.attributes, **shared)
    study.run(study.Study("audit", world, design, (opened_targets.open_target(spec, {}),)), folder / "run", quiet=True)
    return folder / "run"


def project_of(run, database=None):
    return transect.annotate(f"texts:{run}?sample=24&ratings=2", database=database)


def test_a_rater_is_shown_the_text_and_no_picture(run, tmp_path):
    from starlette.testclient import TestClient

    from transect.annotation.raters import invite
    from transect.annotation.server.app import create_app

    project = project_of(run, tmp_path / "b.sqlite").open()
    try:
        (rater,) = invite(project.database, 1, 0.0)
        client = TestClient(create_app(project, frozenset({"testserver"})), follow_redirects=False)
        assert client.get(f"/invite/{rater.token}").status_code == 303
        token = client.get("/").text.partition('name="csrf" value="')[2].partition('"')[0]
        assert client.post("/consent", data={"csrf": token}).status_code == 303
        tasks = client.get("/api/tasks").json()["tasks"]
        assert all(task["pictures"] == [] for task in tasks)
        assert {text for task in tasks for text in task["texts"]} <= {
            "A person with a kind smile.",
            "A person with a hat.",
        }
        shown = json.dumps(tasks)
        assert "tone" not in shown
        assert "-000" not in shown  # no id, which holds the cell
        assert client.get(f"/pictures/{tasks[0]['id']}/left/{'0' * 32}").status_code == 404
    finally:
        project.database.close()


def answers(run, path, wrong=0):
    """People who say yes where the text says kind, but for the first `wrong` texts; two of them, who agree."""
    project = project_of(run, path).open()
    try:
        from transect.annotation.schema import items

        with project.database.reading() as connection:
            drawn = [(row.study, row.first) for row in connection.execute(items.select())]
        texts = {(study, name): project.pictures.text(study, name) for study, name in drawn}
    finally:
        project.database.close()
    rows = []
    for place, (source, name) in enumerate(drawn):
        yes = ("kind" in texts[source, name]) != (place < wrong)
        rows += [[source, name, f"rater-000{rater}", "yes" if yes else "no"] for rater in (1, 2)]
    return {
        "study": [row[0] for row in rows],
        "id": [row[1] for row in rows],
        "question": ["alt_warm"] * len(rows),
        "rater": [row[2] for row in rows],
        "answer": [row[3] for row in rows],
    }


@pytest.mark.integration
def test_people_s_codes_reach_the_report(run, tmp_path):
    database = tmp_path / "c.sqlite"
    project = project_of(run, database)
    project.open().database.close()
    with pytest.raises(BadInput, match="no texts that people coded"):
        project.judge()
    project.import_answers(answers(run, database, wrong=3))
    (found,) = project.judge().values()
    (code,) = found.codes
    assert (code.target, code.code, code.judge, code.raters, code.answers) == ("said/alt", "warm", "judge", 2, 48)
    assert code.figures.texts == 24
    assert 0 < code.figures.sensitivity.estimate + code.figures.specificity.estimate < 2
    assert [(each.attribute, each.level) for each in code.levels] == [("tone", "bright"), ("tone", "dark")]
    assert [each.figures.texts for each in code.levels] == [12, 12]
    assert kept.read_agreement(run) == found
    assert project.agreement().numbers.questions[0].question == "alt_warm"
    result = transect.report(run)
    page = result.page.read_text()
    assert "the judge was not checked against people" not in page
    assert "Against 2 people on 24 texts: sensitivity" in page
    (section,) = [each for each in result.results["sections"] if each["key"] == "judged"]
    titles = [table["title"] for table in section["tables"]]
    assert "The judge against people" in titles
    assert "Effects corrected with people's codes" in titles
    (run / kept.AGREEMENT_FILE).unlink()


def test_the_command_says_it_in_lines(run, tmp_path):
    from commands import run_here

    database = tmp_path / "d.sqlite"
    project_of(run, database).import_answers(answers(run, database))
    done = run_here("annotate", "judge", f"texts:{run}", "--database", str(database))
    assert done.returncode == 0, done.stderr
    assert "sensitivity 1.000" in done.stdout
    (run / kept.AGREEMENT_FILE).unlink()
