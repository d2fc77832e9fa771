"""A toy job: what follows from its declaration on the command line, in Python, in JSON and in its folder."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pytest
import typer
from typer.testing import CliRunner

from transect.errors import BadInput, UnknownName
from transect.job import Content, Job, Option, Out, command, function, rerun, schema
from transect.options import built, settings
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
        ({"ink": Ink(drops=0)}, BadInput, "--ink-drops: expected at least 1, got 0"),
        ({"ink": Ink(drops=["smile"])}, BadInput, "--ink-drops: expected a whole number, got ['smile']"),
        ({"ink": Ink(drops=True)}, BadInput, "--ink-drops: expected a whole number, got True"),
        ({"ink": Ink(color="bleu")}, UnknownName, "unknown color 'bleu': did you mean blue?"),
    ],
)
def test_values_are_checked_wherever_they_come_from(stated, kind, message):
    with pytest.raises(kind) as found:
        PrintWords(["a"], **stated)
    assert str(found.value) == message


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
    found = rerun(PrintWords)
    assert (found.kind("--model"), found.kind("--ink-drops"), found.kind("")) == ("models", "values", "values")
    assert found.kind("--out") == ""


def test_rare_options_are_shown_on_request():
    usual, every = run("--help").stdout, run("--help-all").stdout
    assert "--ink-drops" not in usual
    assert "--ink-drops" in every
