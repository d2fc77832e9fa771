"""`transect annotate validate`, `same-person` and `report` from answers in a database, and sampling by cell."""

import json

import audited
import auditing
import numpy as np
import pytest
from small_run import make_run, write_questions
from typer.testing import CliRunner

from transect.analysis import finished_run
from transect.analysis import rater_validation as validation
from transect.annotation.exchange.incoming import Incoming, take_in
from transect.annotation.project import open_project, rows
from transect.cli.app import app
from transect.errors import BadInput, UnknownName
from transect.jobs.annotate import same_person
from transect.ratings import gates as required


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Three subjects with either face; five raters; of the first image three see the other condition."""
    run = tmp_path_factory.mktemp("judged") / "run"
    options = {"image_size": 32, "quiet": True, "control": False}
    auditing.audit(audited.brightness, vary=["face_shape=0:1:2"], subjects=3, out=run, **options)
    project = open_project(run, None, ("quality",))
    ids = finished_run.read(run).images["id"].to_pylist()
    given = []
    for k, image in enumerate(ids):
        for r in range(5):
            seen = k % 2 if k or r < 2 else 1
            given.append(Incoming("test", "", image, "", "condition", f"r{r}", seen))
            given.append(Incoming("test", "", image, "", "quality", f"r{r}", 3 + (r == k % 5)))
    take_in(project, given, 1.0)
    project.database.close()
    return run


def test_conditions_are_judged_by_majority(judged):
    done = CliRunner().invoke(app, ["annotate", "validate", str(judged), "--min-images", "3", "--json"])
    assert done.exit_code == 0, done.output
    (made,) = json.loads(done.stdout).values()
    every = made["groups"][0]
    assert (every["judged"], every["differing"]) == (6, 1)
    assert every["quality"] == pytest.approx(3.2)  # four say 3 and one says 4, of each image
    assert made["failures"]["conditions"] == "1 of 6 images are seen as a different condition"
    (pair,) = made["equal_quality"]
    assert (pair["difference"], pair["subjects"], pair["paired"], pair["verdict"]) == (0, 3, 3, "not shown")
    assert (pair["low"], pair["high"]) == pytest.approx((-3.158, 3.158), abs=1e-3)  # 5 (1 - .05^(1/3))
    strict = ["validate", str(judged), "--min-images", "3", "--require"]
    refused = CliRunner().invoke(app, ["annotate", *strict])
    assert isinstance(refused.exception, BadInput)
    assert "expected every gate to be met, got audit: 1 of 6 images" in str(refused.exception)
    again = CliRunner().invoke(
        app,
        [
            "annotate",
            "validate",
            str(judged),
            "--max-differing",
            "0.34",
            "--min-images",
            "3",
            "--quality-margin",
            "5",
            "--require",
        ],
    )
    assert again.exit_code == 0
    assert "every gate is met" in again.stdout


def test_simulated_raters_are_counted_and_pass_no_gate(judged, tmp_path):
    """Two people and one simulated rater agree about all six images, so that every gate is met, but for the latter."""
    database = str(tmp_path / "simulated.sqlite")
    project = open_project(judged, database, ("quality",))
    take_in(
        project,
        [
            Incoming("test", "", image, "", question, rater, k % 2 if question == "condition" else 4)
            for k, image in enumerate(finished_run.read(judged).images["id"].to_pylist())
            for question in ("condition", "quality")
            for rater in ("ada", "ben", "simulated-001")
        ],
        1.0,
    )
    project.database.close()
    before = (judged / validation.FILE).read_text() if (judged / validation.FILE).exists() else None
    gates = ["--min-images", "3", "--quality-margin", "5", "--database", database]
    done = CliRunner().invoke(app, ["annotate", "validate", str(judged), *gates])
    assert "every gate is met" in done.stdout
    assert "12 answers of simulated raters, which say nothing about people: no gate" in done.stdout
    assert json.loads((judged / validation.FILE).read_text())["audit"]["simulated"] == 12
    message = "expected answers from people, got 12 from simulated raters; have people rate the images"
    refused = CliRunner().invoke(app, ["annotate", "validate", str(judged), *gates, "--require"])
    assert isinstance(refused.exception, BadInput)
    assert message in str(refused.exception)
    with pytest.raises(BadInput, match=f"--require-validation .*: {message}"):
        required.attach(judged, required.read(judged / validation.FILE))
    if before is not None:
        (judged / validation.FILE).write_text(before)
    out = str(tmp_path / "page")
    CliRunner().invoke(app, ["annotate", "report", str(judged), "--database", database, "--out", out])
    content = json.loads((tmp_path / "page" / "annotate.json").read_text())
    assert content["facts"]["answers of simulated raters"] == 12


def test_the_page_on_raters_has_it_too(judged):
    done = CliRunner().invoke(app, ["annotate", "report", str(judged), "--json"])
    assert done.exit_code == 0, done.output
    content = json.loads((judged / "annotations" / "annotate.json").read_text())
    assert [one["key"] for one in content["sections"]] == ["raters", "seen along", "validation"]
    assert content["facts"]["raters of one question, at most"] == 5
    # On a scale from 0 to 1 the page's quality is below 1, and the gate is still in the question's units.
    CliRunner().invoke(app, ["annotate", "report", str(judged), "--scale", "unit"])
    (section,) = [
        one for one in json.loads((judged / "annotations" / "annotate.json").read_text())["sections"]
        if one["key"] == "validation"
    ]  # fmt: skip
    assert len(section["warnings"]) == 3
    (pair,) = section["tables"][1]["rows"]
    assert pair[1] == pytest.approx(0)
    assert pair[6:8] == ["not shown", "about 29 subjects"]
    assert section["tables"][0]["rows"][0][6] == pytest.approx(3.2)


def test_so_many_images_of_each_cell_are_asked_about(tmp_path):
    run = make_run(tmp_path / "run", subjects=6, cells=2)
    project = open_project(run, None, (write_questions(tmp_path / "q.toml", plan="per_cell = 4"),))
    with project.database.reading() as connection:
        from transect.annotation.schema import items

        asked = [row.first for row in connection.execute(items.select())]
    assert sorted(one[-4:] for one in asked) == ["0000"] * 4 + ["0001"] * 4
    assert rows(project.database) == []
    project.database.close()


def test_pairs_from_files(tmp_path):
    answers, pairs = tmp_path / "answers.csv", tmp_path / "pairs.csv"
    answers.write_text(
        "id,second,question,rater,answer,level,follow_up,repeat,excluded\n"
        "a,b,same_person,r1,same person,0,well,false,false\n"
        "a,b,same_person,r2,look-alike,1,not at all,false,false\n"
        "c,d,same_person,r1,same person,0,well,false,false\n"
        "c,d,same_person,r2,look-alike,1,,false,true\n"
    )
    pairs.write_text("first,second,kind,group,distance\na,b,fake,x,0.4\nc,d,real,x,0.2\n")
    done = CliRunner().invoke(app, ["annotate", "same-person", str(answers), "--pairs", str(pairs), "--json"])
    assert done.exit_code == 0, done.output
    made = json.loads(done.stdout)
    found = {(one["group"], one["kind"]): (one["share"], one["answers"]) for one in made["rows"]}
    assert found["all", "fake"] == (0.5, 2)
    assert found["all", "real"] == (1.0, 1), "a rater who was shut out does not count"
    assert found["well", "fake"] == (1.0, 1)
    assert made["distance"]["tied"] == 1
    (agreed,) = made["agreement"]  # of a, b the two answers differ; c, d has one that counts
    assert (agreed["agreement"], agreed["low"], agreed["pairs"]) == (0.0, None, 1)
    pairs.write_text("first,second,kind\na,b,fake\n")
    with pytest.raises(BadInput, match="expected answers about the pairs of .*, got c, d"):
        same_person(answers, pairs)


def test_agreement_is_printed_with_and_without_pairs_of_one_photograph(tmp_path):
    """Three answers a pair: of 3 to 0 all 3 twos agree, of 2 to 1 one in three. dup: 1; real: 1/3, 1, 1/3, mean 5/9.

    All five: (1 + 1 + 1/3 + 1 + 1/3) / 5 = 11/15. Three pairs have no interval: five do.
    """
    answers, pairs = tmp_path / "answers.csv", tmp_path / "pairs.csv"
    given = {"p": "000", "t": "111", "q": "001", "r": "111", "s": "011"}
    lines = [f"{x},{x}2,r{k},w,{level}" for x, levels in given.items() for k, level in enumerate(levels)]
    answers.write_text("id,second,rater,answer,level\n" + "\n".join(lines) + "\n")
    pairs.write_text("first,second,kind\np,p2,dup\nt,t2,dup\nq,q2,real\nr,r2,real\ns,s2,real\n")
    every, judged = same_person(answers, pairs).numbers.agreement
    assert (every.kinds, every.agreement, every.pairs) == (("dup", "real"), pytest.approx(11 / 15), 5)
    assert (judged.kinds, judged.agreement, judged.pairs) == (("real",), pytest.approx(5 / 9), 3)
    assert every.low < 11 / 15 < every.high
    assert np.isnan(judged.low)
    lines = same_person(answers, pairs).content.lines()
    assert "two raters of real agree in 0.556" in "\n".join(lines)


def test_pairs_that_were_asked_about_in_several_questions_are_told_apart(tmp_path):
    """All raters say look-alike, and "no difference": the first level of another question is no "same person"."""
    answers, pairs = tmp_path / "answers.csv", tmp_path / "pairs.csv"
    answers.write_text(
        "id,second,question,rater,answer,level\n"
        + "".join(
            f"0001,0002,same_person,r{r},look-alike,1\n0001,0002,difference,r{r},no difference,0\n" for r in (1, 2)
        )
    )
    pairs.write_text("first,second,kind\n0001,0002,fake\n")
    with pytest.raises(
        BadInput, match=r"expected answers to one question, got difference, same_person; choose one with"
    ):
        same_person(answers, pairs)
    with pytest.raises(UnknownName, match="unknown question 'same': did you mean same_person"):
        same_person(answers, pairs, question="same")
    arguments = ["same-person", str(answers), "--pairs", str(pairs), "--question", "same_person", "--json"]
    done = CliRunner().invoke(app, ["annotate", *arguments])
    assert done.exit_code == 0, done.output
    row = json.loads(done.stdout)["rows"][0]
    assert (row["share"], row["answers"]) == (0.0, 2)


HEAD = "study,id,second,question,rater,answer,level\n"


def two_studies(path, n=8):
    """Of the pairs a{k}, b{k} of two studies with the same ids: real ones never the same, fake ones always."""
    rows = [
        f"{study},a{k},b{k},same_person,r1,{answer},{level}\n"
        for study, answer, level in (("photos", "look-alike", 1), ("made", "same person", 0))
        for k in range(n)
    ]
    path.write_text(HEAD + "".join(rows))
    return path


def test_pairs_of_two_studies_are_told_apart(tmp_path):
    """Both studies call their images alike: by the ids alone the one's answers were counted to the other's kind."""
    answers, pairs = two_studies(tmp_path / "answers.csv"), tmp_path / "pairs.csv"
    kinds = {"photos": "real", "made": "fake"}
    rows = [
        f"{study},a{k},b{k},{kind},{0.2 + 0.1 * (kind == 'real')}\n" for study, kind in kinds.items() for k in range(8)
    ]
    pairs.write_text("study,first,second,kind,distance\n" + "".join(rows))
    made = same_person(answers, pairs).to_json()
    found = {one["kind"]: (one["share"], one["answers"]) for one in made["rows"] if one["by"] == "all"}
    assert found == {"real": (0.0, 8), "fake": (1.0, 8)}
    assert (made["distance"]["same"], made["distance"]["other"]) == pytest.approx((0.2, 0.3))
    done = CliRunner().invoke(app, ["annotate", "same-person", str(answers), "--pairs", str(pairs)])
    assert "all, all, fake: 100.0 (" in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("first,second,kind,distance\na,b,real,n/a\n", "line 2: distance: expected a number or nothing, got 'n/a'"),
        ("first,second,kind\n\na,b,real\na,b,fake\n", "line 4: expected a, b once, or with the same kind, group and distance"),
        ("first,second,kind\na,b,\n", "line 2: kind: expected one, such as real or fake, got none"),
    ],
)  # fmt: skip
def test_lists_of_pairs_that_say_nothing_or_two_things_are_refused(tmp_path, text, message):
    answers, pairs = tmp_path / "answers.csv", tmp_path / "pairs.csv"
    answers.write_text(HEAD.removeprefix("study,") + "a,b,same_person,r1,same person,0\n")
    pairs.write_text(text)
    with pytest.raises(BadInput, match=f"pairs.csv, {message}"):
        same_person(answers, pairs)
    pairs.write_text("\ufefffirst,second,kind,study\na,b, real ,\na,b,real,\n", encoding="utf-8")
    assert same_person(answers, pairs).to_json()["rows"][0]["kind"] == "real", "once more the same is no quarrel"
