"""The runner of study files on small planted protocols: order, references, resuming, pausing, and refusals."""

import json
from pathlib import Path

import pytest
from commands import printed, refused_here, run_here

import transect
from transect.studies.commands import Commands
from transect.studies.ledger import answer_of
from transect.studies.plan import Planned, Wait
from transect.studies.waiting import waiting

HEAD = """
title = "Two steps"
paper = "none"
[profiles.paper]
subjects = 3
size = 32
[profiles.small]
subjects = 2
"""
SHEET = """
[[step]]
name = "sheet"
does = "Draw"
run = "render"
options = { subjects = "{subjects}", size = "{size}", out = "{here}/sheet.png" }
"""
SAMPLE = """
[[step]]
name = "sample"
does = "Sample"
run = "render"
options = { data-set = true, subjects = "{subjects}", size = "{size}", out = "{here}" }
"""
LABELS = """
[[step]]
name = "labels"
does = "Write the labels"
run = "datasets table"
arguments = ["parquet:{sample}", "{here}/labels.csv"]
options = { column = ["age", "male=face_shape>0.5"] }
"""
CHAIN = HEAD + SAMPLE + LABELS


@pytest.fixture
def study_file(tmp_path, monkeypatch):
    """Writes a study file into an empty working folder."""
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> str:
        Path("s.toml").write_text(text)
        return "s.toml"

    return write


@pytest.fixture
def calls(monkeypatch):
    """The steps' commands in the order in which they are called."""
    seen, call = [], Commands.call

    def record(self, name, words, **keywords):
        seen.append(name)
        return call(self, name, words, **keywords)

    monkeypatch.setattr(Commands, "call", record)
    return seen


def study(*words: str):
    done = run_here("study", "s.toml", "--out", "out", *words)
    assert "Traceback" not in done.stderr
    return done


def test_a_later_step_reads_the_folder_of_an_earlier_one(study_file):
    study_file(CHAIN)
    done = study("--profile", "small")
    assert done.returncode == 0, done.stderr
    rows = Path("out/02-labels/labels.csv").read_text().splitlines()
    assert rows[0] == '"id","subject","age","male"'
    assert len(rows) == 1 + 2  # the profile's subjects
    assert answer_of(Path("out/01-sample"))["images"] == 2
    assert json.loads(Path("out/ledger.json").read_text())["steps"]["labels"]["command"] == [
        "datasets", "table", "parquet:{sample}", "{here}/labels.csv", "--column", "age", "--column", "male=face_shape>0.5",
    ]  # fmt: skip
    assert "2 of 2 steps finished, profile small" in done.stdout


def test_the_first_profile_is_the_default_and_a_variable_can_be_set(study_file):
    study_file(HEAD + SAMPLE)
    assert study("--set", "size=64").returncode == 0
    answer = answer_of(Path("out/01-sample"))
    assert (answer["images"], answer["image_size"]) == (3, 64)


def test_finished_steps_are_not_run_again(study_file, calls):
    study_file(CHAIN)
    study()
    assert calls == ["render", "datasets table"]
    before = Path("out/ledger.json").read_bytes()
    done = study()
    assert calls == ["render", "datasets table"]
    assert done.returncode == 0
    assert Path("out/ledger.json").read_bytes() == before


def test_a_stop_between_steps_keeps_what_is_finished(study_file, calls, monkeypatch):
    study_file(CHAIN)

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("transect.cli.dataset_table.rows_of", stop)
        done = study()
    assert done.returncode == 130
    assert "step labels: interrupted; rerun the command to resume" in done.stderr
    assert calls == ["render", "datasets table"]
    assert study().returncode == 0
    assert calls == ["render", "datasets table", "datasets table"]


def test_a_step_that_was_killed_before_it_was_recorded_is_run_again(study_file, calls):
    study_file(CHAIN)
    study()
    ledger = json.loads(Path("out/ledger.json").read_text())
    del ledger["steps"]["labels"]
    Path("out/ledger.json").write_text(json.dumps(ledger))
    assert study().returncode == 0
    assert calls == ["render", "datasets table", "datasets table"]


def test_other_options_of_a_finished_step_are_refused_with_the_way_out(study_file, calls):
    study_file(CHAIN)
    study()
    message = refused_here("study", "s.toml", "--out", "out", "--set", "size=64")
    assert message == (
        "step sample: it finished with other arguments (render --data-set --subjects 3 --size 32 --out '{here}'); put "
        "that back, choose another --out, or delete out/01-sample out/02-labels and rerun"
    )
    for folder in ("out/01-sample", "out/02-labels"):
        for file in sorted(Path(folder).rglob("*"), reverse=True):
            file.unlink() if file.is_file() else file.rmdir()
        Path(folder).rmdir()
    assert study("--set", "size=64").returncode == 0
    assert calls == ["render", "datasets table"] * 2


def test_a_step_made_anew_makes_the_later_ones_stale(study_file):
    study_file(CHAIN)
    study()
    for file in sorted(Path("out/01-sample").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    Path("out/01-sample").rmdir()
    message = refused_here("study", "s.toml", "--out", "out", "--set", "subjects=4")
    assert message.startswith("step labels: it finished with other content of sample; put that back")


def test_a_changed_file_of_the_user_is_refused(study_file):
    Path("mine.csv").write_text("effect\n")
    study_file(
        HEAD
        + """
[[step]]
name = "show"
does = "Show a data set"
run = "match"
options = { features = ["mine.csv"], treatment = "group", out = "{here}/pairs.parquet" }
"""
    )
    Path("mine.csv").write_text("id,group,x\n" + "".join(f"{i},{i % 2},{i / 7}\n" for i in range(20)))
    assert study().returncode == 0
    Path("mine.csv").write_text(Path("mine.csv").read_text().replace("19,1", "19,0"))
    assert "step show: it finished with other content of mine.csv" in refused_here("study", "s.toml", "--out", "out")


def test_a_folder_that_has_the_name_of_an_option_is_no_input(study_file):
    study_file(HEAD + SHEET.replace('size = "{size}"', 'size = "{size}", population = "balanced"'))
    study()
    Path("balanced").mkdir()
    Path("balanced/file").write_text("x")
    assert study().returncode == 0


def test_a_moved_folder_resumes(study_file, calls):
    study_file(CHAIN)
    study()
    Path("out").rename("moved")
    assert run_here("study", "s.toml", "--out", str(Path("moved").absolute())).returncode == 0
    assert calls == ["render", "datasets table"]


def test_a_folder_of_another_study_is_refused(study_file):
    study_file(HEAD + SHEET)
    study()
    study_file(HEAD.replace("Two steps", "Another") + SHEET)
    message = refused_here("study", "s.toml", "--out", "out")
    assert message == "out: expected a folder of 'Another', got one of 'Two steps'; choose another --out"


def test_a_dry_run_prints_commands_and_writes_nothing(study_file):
    study_file(CHAIN)
    assert printed("study", "s.toml", "--out", "out", "--dry-run").splitlines() == [
        "# sample: to do",
        "transect render --data-set --subjects 3 --size 32 --out out/01-sample",
        "# labels: to do",
        "transect datasets table parquet:out/01-sample out/02-labels/labels.csv --column age --column 'male=face_shape>0.5'",
    ]
    assert not Path("out").exists()


def test_conditional_steps(study_file):
    study_file(
        HEAD.replace("size = 32", 'size = 32\nextra = false\ntable = "{sample}"')
        + SAMPLE.replace('does = "Sample"', 'does = "Sample"\nif_used = true')
        + SHEET.replace('does = "Draw"', 'does = "Draw"\nwhen = "{extra}"')
        + LABELS.replace("{sample}", "{table}")
    )
    states = {step.name: step.state for step in transect.study("s.toml", dry_run=True).numbers.steps}
    assert states == {"sample": "to do", "sheet": "left out", "labels": "to do"}
    changed = transect.study("s.toml", dry_run=True, variables={"table": "mine", "extra": True})
    assert [step.state for step in changed.numbers.steps] == ["left out", "to do", "to do"]
    assert "parquet:mine" in changed.numbers.steps[2].command


RATE = """
[[step]]
name = "rate"
does = "People rate"
waits_for = "ratings"
of = "{sample}"
raters = 2
questions = ["q.toml"]

[[step]]
name = "agreement"
does = "How far raters agree"
run = "annotate agreement"
arguments = ["{sample}"]

[[claim]]
about = "Answers"
published = "4"
step = "agreement"
value = "/answers"
"""
QUESTIONS = """
[plan]
ratings = 2
[[question]]
name = "smile"
text = "Does this person smile?"
attribute = "smile"
levels = [{ name = "no", value = 0.0 }, { name = "yes", value = 1.0 }]
"""
ANSWERS = "id,question,rater,answer\n0-0000,smile,ada,no\n0-0000,smile,ben,no\n1-0000,smile,ada,yes\n"


def test_a_study_waits_for_people_and_goes_on_when_all_have_answered(study_file, calls):
    pytest.importorskip("sqlalchemy", reason="needs the annotation service: pip install 'transect[annotate]'")
    Path("q.toml").write_text(QUESTIONS)
    study_file(HEAD + SAMPLE + RATE)
    done = study("--profile", "small")
    assert done.returncode == 4
    assert "transect annotate serve out/01-sample --questions q.toml" in done.stdout
    assert "transect study s.toml --profile small --out out" in done.stdout
    assert calls == ["render"]
    assert "waits for" in Path("out/study.html").read_text()
    Path("three.csv").write_text(ANSWERS)
    assert run_here("annotate", "import", "out/01-sample", "three.csv", "--questions", "q.toml").returncode == 0
    done = study("--profile", "small")
    assert done.returncode == 4
    assert "step rate waits for 1 more answer (smile 1)" in done.stdout
    Path("last.csv").write_text("id,question,rater,answer\n1-0000,smile,ben,yes\n")
    assert run_here("annotate", "import", "out/01-sample", "last.csv").returncode == 0
    result = transect.study("s.toml", profile="small", out="out", quiet=True)
    assert result.numbers.state == "finished"
    assert [(claim.published, claim.ours) for claim in result.numbers.claims] == [("4", 4.0)]
    assert calls == ["render", "annotate agreement"]


def test_a_wait_names_the_photographs_of_an_inversion(monkeypatch):
    pytest.importorskip("sqlalchemy", reason="needs the annotation service: pip install 'transect[annotate]'")
    monkeypatch.setattr("transect.annotation.enough.ratings_of", lambda *_: None)
    wait = Wait(Path("inv"), 3, ("same-person",), "folder:my faces")
    waits = waiting(Planned("rate", "People rate", Path("out")), wait)
    assert waits is not None
    assert waits.lines[0] == "transect annotate serve inv --questions same-person --photographs 'folder:my faces'"


def test_more_answers_than_the_questions_ask_for_would_never_come(study_file):
    pytest.importorskip("sqlalchemy", reason="needs the annotation service: pip install 'transect[annotate]'")
    Path("q.toml").write_text(QUESTIONS)
    study_file(HEAD + SAMPLE + RATE.replace("raters = 2", "raters = 3"))
    assert study().returncode == 4
    assert run_here("annotate", "invite", "out/01-sample", "--questions", "q.toml").returncode == 0
    assert (
        "expected questions that ask for 3 answers to each item, got 2; wait for 2 (raters = 2), or write ratings = 3"
        in refused_here("study", "s.toml", "--out", "out")
    )


CASES = {
    'run = "rendr"': "step sheet: unknown command 'rendr': did you mean render",
    'run = "directions"': "step sheet: unknown command 'directions': did you mean directions fit or directions show",
    'run = "study"': 'step sheet: run: expected a command other than "study"',
    'run = "annotate serve"': 'step sheet: run: expected a command that ends, got "annotate serve"',
    'run = "render"\nsubjcts = 3': "s.toml, line 14: step 1.subjcts: unknown key",
}
OPTIONS = {
    'subjcts = "{subjects}"': "step sheet: unknown option of render: 'subjcts': did you mean subjects?",
    'subjects = "{subject}"': "step sheet: unknown reference 'subject': did you mean subjects?",
    'subjects = "{sheet}"': "step sheet: {sheet}: expected an earlier step, got itself; write {here}",
    'subjects = "{later}"': "step sheet: {later}: expected an earlier step, got a later step; move it up",
    'subjects = "many"': "step sheet: transect render: Invalid value for '--subjects': Input should be a valid integer",
    "subjects = true": "step sheet: option subjects: expected a value, got true; it is no switch",
    "data-set = 3": "step sheet: option data-set: expected true or false, got 3; it is a switch",
    "json = true": "step sheet: unknown option of render: 'json'",
}


@pytest.mark.parametrize(("line", "message"), CASES.items())
def test_what_does_not_fit_in_a_step_is_refused_before_it_runs(study_file, line, message):
    study_file(HEAD + SHEET.replace('run = "render"', line))
    assert message in refused_here("study", "s.toml", "--out", "out")
    assert not Path("out").exists()


@pytest.mark.parametrize(("option", "message"), OPTIONS.items())
def test_what_does_not_fit_in_options_is_refused_before_it_runs(study_file, option, message):
    study_file(HEAD + SHEET.replace('subjects = "{subjects}"', option) + SHEET.replace('"sheet"', '"later"'))
    assert message in refused_here("study", "s.toml", "--out", "out")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("old", "new", "words", "message"),
    [
        ("subjects = 3", 'subjects = "{size}"\na = "{b}"\nb = "{a}"', (), "variables: expected no circle, got a → b → a"),
        ("subjects = 3", 'subjects = [1, 2]\ntext = "x{subjects}"', (), "the list subjects; name its parts"),
        ("subjects = 2", "subject = 2", (), "profile small: expected variables of the first profile, paper, got subject"),
        ("", "", ("--set", "subjets=3"), "unknown variable 'subjets': did you mean subjects?"),
        ("", "", ("--set", "subjects=many"), "--set subjects: expected a whole number, as 3, got 'many'"),
        ("", "", ("--set", "subjects"), "--set subjects: expected NAME=VALUE"),
        ("", "", ("--profile", "smal"), "unknown profile 'smal': did you mean small?"),
        ("[profiles.paper]", '[needs]\nsource = "a file"\n[profiles.paper]', (), "--set source: expected a file, found none"),
        ("[profiles.paper]\n", "", (), "s.toml, line"),
    ],
)  # fmt: skip
def test_variables_that_do_not_fit_are_refused(study_file, old, new, words, message):
    study_file(HEAD.replace(old, new, 1) + SHEET)
    assert message in refused_here("study", "s.toml", "--out", "out", *words)
    assert not Path("out").exists()


def test_names_are_used_once(study_file):
    study_file(HEAD + SHEET + SHEET)
    assert "expected steps of different names, got sheet twice" in refused_here("study", "s.toml")
    study_file(HEAD + SHEET.replace('"sheet"', '"size"'))
    assert "step size: expected a name that no variable has" in refused_here("study", "s.toml")


def test_a_step_that_fails_is_named(study_file):
    study_file(HEAD + SHEET.replace('size = "{size}"', 'size = "{size}", population = "nowhere"'))
    assert refused_here("study", "s.toml", "--out", "out").startswith("step sheet: unknown population 'nowhere'")


def test_a_needed_variable_may_be_missing_in_a_dry_run(study_file):
    study_file(
        HEAD.replace("[profiles.paper]", '[needs]\nsource = "a file"\n[profiles.paper]')
        + SHEET.replace('size = "{size}"', 'population = "{source}"')
    )
    done = run_here("study", "s.toml", "--dry-run")
    assert "--population SOURCE" in done.stdout
    assert "--set source=…: a file" in done.stdout


def test_a_study_that_ships_can_be_listed_and_copied(study_file):
    assert "balakrishnan2020" in printed("study", "--list")
    assert "edit it" in printed("study", "--write", "balakrishnan2020", "mine.toml")
    assert "Balakrishnan" in Path("mine.toml").read_text()
    assert "expected a new file" in refused_here("study", "--write", "balakrishnan2020", "mine.toml")
    assert "unknown study 'bala'" in refused_here("study", "--write", "bala", "x.toml")
    assert "expected a study file or a name" in refused_here("study")
    assert "unknown study 'balakrishnan'" in refused_here("study", "balakrishnan")
