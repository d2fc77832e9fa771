"""A toy job: what follows from its declaration on the command line, in Python, in JSON and in its folder."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pyarrow as pa
import pytest
import typer
from markupsafe import Markup
from PIL import Image
from typer.testing import CliRunner

import transect
from transect.console.options import Command
from transect.errors import BadInput, UnknownName
from transect.job import Content, Job, Option, Out, command, function, rerun, schema
from transect.options import built, settings
from transect.reports.blocks import Folded, Part
from transect.reports.columns import Column, Table
from transect.runs.json_records import hidden, loads


@dataclass(frozen=True)
class Ink:
    """A record of options within the job."""

    color: Annotated[Literal["black", "blue"], Option("The ink.")] = "black"
    drops: Annotated[int, Option("Drops of it.", names=("--ink-drops",), least=1, rare=True)] = 3


@dataclass(frozen=True)
class Printed:
    """Numbers, and a picture that only the page shows."""

    words: tuple[str, ...]
    drops: int
    picture: bytes = hidden(b"")


@dataclass(frozen=True)
class PrintWords(Job[Printed]):
    """Words that are printed."""

    OUT: ClassVar[Out] = Out("Folder for the page.", default=None)

    words: Annotated[list[str], Option("The words.", argument=True)]
    ink: Ink = Ink()
    model: Annotated[str, Option("A model.", opens="model")] = ""
    margins: Annotated[
        tuple[float, ...], Option("Margins.", str, read=lambda text: tuple(map(float, text.split(","))))
    ] = ()
    strict: Annotated[bool, Option("Fail where a word is long.")] = False

    def compute(self) -> Printed:
        return Printed(tuple(self.words), self.ink.drops * len(self.words), b"png")

    def content(self, numbers: Printed) -> Content:
        table = Table("Words", numbers.words, [Column("word", str), Column("letters", len, "count")])
        return Content("Words", [f"{len(numbers.words)} words."], table)

    def exit_code(self, numbers: Printed) -> int:
        return 4 if self.strict and max(map(len, numbers.words)) > 5 else 0


def run(*words):
    app = typer.Typer()
    app.command()(command(PrintWords))
    return CliRunner().invoke(app, list(words))


def test_records_within_a_job_are_options_of_its_command():
    assert [setting.shown for setting in settings(PrintWords)] == [
        "--words", "--color", "--ink-drops", "--model", "--margins", "--strict"
    ]  # fmt: skip
    done = run("a", "bcd", "--ink-drops", "5", "--color", "blue", "--json")
    assert json.loads(done.stdout) == {"words": ["a", "bcd"], "drops": 10}
    assert built(PrintWords, {"words": ["a"], "drops": 7}).ink == Ink(drops=7)


def test_the_function_takes_the_fields():
    result = function(PrintWords)(["a", "bcd"], Ink(drops=2))
    assert (result.numbers.drops, result.numbers.picture) == (4, b"png")
    assert result.table.to_pydict() == {"word": ["a", "bcd"], "letters": [1, 3]}


def test_what_is_hidden_is_in_no_json():
    found = schema(PrintWords)
    assert list(found["properties"]) == found["required"] == ["words", "drops"]


@pytest.mark.parametrize(
    ("stated", "kind", "message"),
    [
        ({"ink": Ink(drops=0)}, BadInput, "drops: expected at least 1, got 0"),
        ({"ink": Ink(drops=["smile"])}, BadInput, "drops: expected a whole number, got ['smile']"),
        ({"ink": Ink(drops=True)}, BadInput, "drops: expected a whole number, got True"),
        ({"ink": Ink(color="bleu")}, UnknownName, "unknown color 'bleu': did you mean blue?"),
    ],
)
def test_values_are_checked_wherever_they_come_from(stated, kind, message):
    with pytest.raises(kind) as found:
        PrintWords(["a"], **stated)
    assert str(found.value) == message


@pytest.mark.parametrize(("raised", "other"), [("--ink-drops", "--model"), ("drops", "`model`")])
def test_errors_name_options_on_the_command_line_and_arguments_in_python(raised, other, monkeypatch):
    """However they were raised; the options of a command that is to be run stay as they are."""
    told = f"{raised}: expected 1, got 2 with {other}; run: transect match --model X"

    def fail(_):
        raise BadInput(told)

    monkeypatch.setattr(PrintWords, "compute", fail)
    for call in (function(PrintWords), lambda words: PrintWords(words).result()):
        with pytest.raises(BadInput) as in_python:
            call(["a"])
        assert str(in_python.value) == "drops: expected 1, got 2 with `model`; run: transect match --model X"
    app = typer.Typer()
    app.command(cls=Command)(command(PrintWords))
    typed = CliRunner().invoke(app, ["a"])
    assert str(typed.exception) == "--ink-drops: expected 1, got 2 with --model; run: transect match --model X"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: transect.Limits(timeout=-1), "timeout: expected a finite number of seconds"),
        (lambda _: transect.EngineSettings(workers=0), "workers: expected 1 or more, got 0"),
        (lambda faces: transect.annotate(faces).invite(0), "raters: expected 1 to 10,000, got 0"),
        (
            lambda faces: transect.annotate(faces).export(kind="pairs"),
            "`kind` pairs applies to an inversion served with `photographs`",
        ),
    ],
)
def test_errors_of_settings_and_of_a_project_name_arguments(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (40, 40)).save(tmp_path / "face.png")
    with pytest.raises(BadInput) as found:
        call(tmp_path)
    assert str(found.value).startswith(message)


def test_a_text_of_the_command_line_becomes_the_field():
    app = typer.Typer()
    seen = []
    kept = dataclasses.make_dataclass("Kept", [], bases=(PrintWords,), namespace={"compute": lambda self: seen.append(self) or Printed((), 0)}, frozen=True)  # fmt: skip
    kept.__module__ = __name__
    app.command()(command(kept))
    CliRunner().invoke(app, ["a", "--margins", "1,2.5", "--json"])
    assert seen[0].margins == (1.0, 2.5)
    assert seen[0].quiet


def test_the_exit_code_and_the_page(tmp_path):
    done = run("a", "longer", "--strict", "--out", str(tmp_path / "page"))
    assert done.exit_code == 4
    assert (tmp_path / "page" / "print-words.html").exists()
    assert loads((tmp_path / "page" / "print-words.json").read_text())["drops"] == 6
    kept = json.loads((tmp_path / "page" / "command.json").read_text())
    assert str(Path(tmp_path)) not in json.dumps(kept)
    assert not (tmp_path / "print-words.html").exists()


def test_what_a_rerun_may_give_again():
    """A text that does not say what it opens is not given again; neither is the argument here."""
    found = rerun(PrintWords)
    assert found.kind("") == found.kind("--margins") == ""
    assert (found.kind("--model"), found.kind("--ink-drops"), found.kind("--color")) == ("model", "value", "value")
    assert found.kind("--out") == ""


def test_rare_options_are_shown_on_request():
    usual, every = run("--help").stdout, run("--help-all").stdout
    assert "--ink-drops" not in usual
    assert "--ink-drops" in every


@dataclass(frozen=True)
class Counted:
    """A number, and what no schema can describe."""

    letters: int
    rows: pa.Table = hidden()


@dataclass(frozen=True)
class CountLetters(Job[Counted]):
    """Letters of words, a report of which is written where --report says; nothing is told on the way."""

    OUT: ClassVar[Out] = Out("Folder for the report.", name="--report")

    words: Annotated[list[str] | None, Option("The words.", names=("--word",), kind=list[str], needed=False)]
    out: Annotated[Path | None, Option("The file.", opens="write", default=Path("letters.txt"))] = None
    page: Annotated[bool, Option("A report is wanted.", names=("--page",))] = False
    printed: Annotated[bool, Option("Print the words.", names=("--printed",))] = False
    quiet: bool = dataclasses.field(default=True, init=False)

    def place(self) -> None:
        if self.page:
            raise BadInput("--page: give --report too")

    def instead(self) -> Job:
        return PrintWords(list(self.words)) if self.printed else self

    def compute(self) -> Counted:
        return Counted(len("".join(self.words or ())), pa.table({"word": list(self.words or ())}))

    def content(self, numbers: Counted) -> Content:
        table = Table("Letters", [numbers], [Column("letters", "letters", "count")])
        folded = [Part("more", "More", (Folded("All", (table,)),))]
        answer = [Markup("<b>{}</b> letters.").format(numbers.letters)]
        return Content("Letters", answer, table, rows=numbers.rows, parts=lambda: folded)


def count(*words):
    app = typer.Typer()
    app.command()(command(CountLetters))
    return CliRunner().invoke(app, list(words))


def test_a_required_field_may_be_left_out_on_the_command_line_where_its_option_has_a_default():
    assert json.loads(count("--json").stdout) == {"letters": 0}
    assert function(CountLetters)(["ab"]).numbers.letters == 2
    with pytest.raises(TypeError):
        function(CountLetters)(["ab"], quiet=True)


def test_a_command_names_its_folder_as_it_likes_and_refuses_before_the_work(tmp_path):
    assert count("--word", "a", "--report", str(tmp_path / "page"), "--page").exit_code == 0
    assert (tmp_path / "page" / "count-letters.html").is_file()
    assert isinstance(count("--word", "a", "--page").exception, BadInput)
    assert dict(rerun(CountLetters).writes) == {"report": "", "out": "letters.txt"}


def test_options_may_ask_for_another_job():
    assert json.loads(count("--word", "ab", "--printed", "--json").stdout) == {"words": ["ab"], "drops": 3}


def test_a_table_within_a_part_is_on_the_page_once_and_the_headline_has_no_markup(tmp_path):
    result = function(CountLetters)(["ab", "c"])
    assert [part.name for part in result.content.page().parts] == ["summary", "more"]
    assert (result.headline(), result.table.to_pydict()) == ("3 letters", {"word": ["ab", "c"]})
    assert list(schema(CountLetters)["properties"]) == ["letters"]


def test_a_folder_that_is_a_file_or_below_one_is_refused_before_the_work(tmp_path, monkeypatch):
    file = tmp_path / "notes.txt"
    file.write_text("kept")
    monkeypatch.setattr(CountLetters, "compute", lambda _: pytest.fail("the work began"))
    for place in (file, file / "page"):
        error = count("--word", "a", "--report", str(place)).exception
        assert str(error) == f"{place}: expected a folder to write, got the file {file}; choose another"
    assert file.read_text() == "kept"
