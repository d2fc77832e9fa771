"""The first screen of an audit: its picture, its title, what to do next, and that each command that it prints exists."""

import html
import json
import re
import shlex
import subprocess
from types import SimpleNamespace

import pytest
import typer
from markupsafe import Markup
from report_factory import make_gallery, make_results
from report_reader import plain_text

from transect.analysis.audit_result import AuditNumbers, AuditResult
from transect.analysis.requirements import records as requirements
from transect.cli.app import app
from transect.jobs import compare, replicate
from transect.reports import builder, write
from transect.reports.answer_picture import MOST, Judged, picture
from transect.reports.blocks import DotPlot, Folded
from transect.reports.builder import drawn
from transect.reports.document import Document
from transect.reports.drawing.estimates import VERDICTS, Mark
from transect.reports.next_steps import gate, next_steps
from transect.reports.records import Gallery
from transect.reports.results import complete, read
from transect.reports.study_parts import what_differs
from transect.reports.summary import shown_answer
from transect.reports.verdicts import judged

MEANINGS = dict.fromkeys(VERDICTS, "meaning")


def row(verdict="found", low=0.1, high=0.3, **changes):
    mark = Mark(x=0.0, value=0.2, low=low, high=high)
    return Judged(
        **{"about": "Glasses", "detail": "off to on", "value": "+20", "verdict": verdict, "mark": mark} | changes
    )


def test_each_effect_is_a_row_with_a_dot_an_interval_its_margin_and_its_words():
    page = drawn(picture([row(margin=0.05)], MEANINGS, "Change"))
    assert page.count('class="series found"') == 2  # in the row, and in the key
    assert 'class="range-band"' in page
    assert "The estimate lies right of zero, the interval excludes zero: found." in page
    left, right = (float(end) for end in re.search(r'class="bar" x1="([\d.]+)%" x2="([\d.]+)%"', page).groups())
    assert left < right  # 10 to 30 points on an axis from −5: within it
    assert 0 < left < 100
    assert "Change, percentage points" in page


def test_verdicts_differ_in_shape_or_filling_and_not_in_color_alone():
    kinds = ("found", "no difference", "cannot tell", "not judged", "check")
    assert len({(VERDICTS[kind].shape, VERDICTS[kind].filled) for kind in kinds}) == len(kinds)


def test_the_first_effects_are_shown_units_have_their_own_axis_and_the_rest_is_folded():
    rows = [row()] * (MOST - 1) + [row(unit="score")] + [row("cannot tell")] * 3
    rates, scores, folded = picture(rows, MEANINGS, "Change")
    assert [len(rates.rows), len(scores.rows)] == [MOST - 1, 1]
    assert isinstance(folded, Folded)
    assert folded.summary == "More effects"
    (more,) = folded.blocks
    assert isinstance(more, DotPlot)
    assert picture([], MEANINGS, "Change") == []


def test_an_effect_without_an_estimate_has_a_row_without_a_mark():
    page = drawn(picture([row("not estimable", mark=Mark(x=0.0, value=None))], MEANINGS, "Change"))
    assert "No mark: not estimable." in page
    assert 'class="bar"' not in page


def document(results=None):
    return Document(complete(read(results or make_results()), Gallery(), Gallery(failures_total=61)))


def test_no_effect_is_called_found_whose_interval_holds_zero():
    for each in judged(document()):
        if each.verdict == "found":
            assert not each.mark.low <= 0 <= each.mark.high


def test_the_page_is_titled_by_the_run_with_its_day(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"time": 1795888209.9, "event": "cost"}\n{"time": 1895888209.9}\n')
    page = write(make_results(), make_gallery(), tmp_path).read_text(encoding="utf-8")
    title = make_results()["title"].replace("'", "&#39;")
    assert re.search(f"<title>{title}, 28 Nov 2026</title>", page)
    assert "2026" not in (tmp_path / "results.json").read_text()  # what a rerun compares has no date
    for log in ("", "no JSON", '{"time": "soon"}', '{"time": 1e99}', "[]"):
        (tmp_path / "log.jsonl").write_text(log)
        assert f"<title>{title}</title>" in write(make_results(), make_gallery(), tmp_path).read_text(encoding="utf-8")


def commands(blocks):
    """The commands of the list, in order."""
    return [plain_text(Markup(text)) for block in blocks for text in re.findall(r"<code>(.*?)</code>", block)]


def changed(verdict, attribute="glasses", study=None, **more):
    results = make_results()
    first = next(row for row in results["verdicts"] if row["attribute"] == attribute and not row["check"])
    effect = next(i for i, row in enumerate(results["effects"]) if row["attribute"] == attribute)
    results["verdicts"] = [first | {"verdict": verdict, "effect": effect, "margin": 0.02, **more}]
    for name, value in (study or {}).items():
        results["studies"][0][name] = value
    return results


CASES = {
    "found": changed("found"),
    "found by an attribute that photographs cannot have": changed("found", "light_level"),
    "inconclusive": changed("cannot tell", subjects_needed=1500, subjects_to_confirm=240),
    "none": changed("no difference"),
    "not judged": changed("not judged", reason="answers barely track the truth"),
}


@pytest.mark.parametrize("case", CASES)
def test_every_command_that_is_printed_is_parsed_by_its_command(case):
    check_parsers(commands(next_steps(document(CASES[case]))))


NUMBERS = SimpleNamespace(rows=[SimpleNamespace(outcome="error")], findings=[SimpleNamespace(verdict="cannot tell")])
RUNS = ["runs/my first", "runs/second"]


@pytest.mark.parametrize("job", [compare.Compare(RUNS), replicate.Replicate(RUNS)], ids=["compare", "replicate"])
def test_every_command_of_a_jobs_page_names_its_runs_and_is_parsed(job):
    found = [command for step in job._steps(NUMBERS) for command in step.commands]
    check_parsers(found)
    assert all(any(run in command for run in RUNS) for command in found), found


@pytest.mark.parametrize("name", ["5 o'clock", 'a "b" %s', "x'; touch y; '"])
def test_a_table_is_printed_as_it_is_read_whatever_a_name_holds(name, tmp_path):
    """By the shell that somebody pastes it into."""
    printed, _ = gate("", attribute=name, outcome="miss", margin=0.02).commands
    subprocess.run(["sh", "-c", printed], cwd=tmp_path, check=True)
    (required,) = requirements.read(tmp_path / "requirements.toml")
    assert (required.attribute, required.margin) == (name, 0.02)
    assert [path.name for path in tmp_path.iterdir()] == ["requirements.toml"]


GATES = [
    compare.Compare(["REFERENCE", "run"])._steps(NUMBERS),
    [gate("", study="a", target="b", attribute="c", margin=0.02)],
]


@pytest.mark.parametrize("steps", GATES)
def test_printed_tables_are_requirements(steps, tmp_path):
    (printed,) = (line for step in steps for line in step.commands if line.startswith("printf"))
    (tmp_path / "REFERENCE").mkdir()
    subprocess.run(["sh", "-c", printed], cwd=tmp_path, check=True)
    assert len(requirements.read(tmp_path / "requirements.toml")) == 1


def check_parsers(found):
    """Each command line has options and arguments that its command takes."""
    ours = [shlex.split(line)[1:] for line in found if line.startswith("transect ")]
    assert ours
    for words in ours:
        command = typer.main.get_command(app)
        while hasattr(command, "commands"):
            command, *words = command.commands[words[0]], *words[1:]
        command.make_context(command.name, list(words))  # raises for an option that it does not have


def test_what_to_do_follows_from_what_was_found():
    texts = {case: "\n".join(commands(next_steps(document(results)))) for case, results in CASES.items()}
    assert "photographs:folder:PHOTOS --vary glasses" in texts["found"]
    assert "transect check . --requirements" in texts["found"]
    assert "transect plan" not in texts["found"]
    assert "--margin 0.02" in texts["inconclusive"]
    assert "--about glasses --about miss --about " in texts["inconclusive"]
    assert "transect replicate" not in texts["none"]
    assert texts["not judged"].startswith("transect targets check")
    seen = Document(complete(read(make_results()), Gallery(failures_total=61), Gallery()))
    assert "transect view . --wrong" in commands(next_steps(seen))
    printed = shlex.split(next(line for line in texts["none"].split("\n") if line.startswith("printf")))
    assert printed[-5:-2] == ['attribute = "glasses"', 'outcome = "miss"', "margin = 0.02"]


def test_a_notebook_shows_the_picture_of_the_page_above_the_table(tmp_path):
    """In a frame that runs nothing, whose document holds the row of each effect that the page draws."""
    write(make_results(), make_gallery(), tmp_path)
    result = AuditResult(AuditNumbers(()), tmp_path, json.loads((tmp_path / "results.json").read_text()))
    shown = result._repr_html_()
    framed = html.unescape(
        re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="" style="[^"]*">The answer.</iframe>', result.figure().html)[1]
    )
    rows = 'class="effect( sure)?"'
    assert len(re.findall(rows, framed)) == len(re.findall(rows, drawn(shown_answer(Document(read(result.results))))))
    assert "<script" not in shown
    assert shown.index("<iframe") < shown.index("<table>")
    assert builder.framed([]).html == ""


def test_an_example_says_what_else_changed():
    entry = read(make_results()).studies[0]
    spec = json.loads(json.dumps(entry.spec))
    spec["generator"]["camera"] = {"maximum_gain": 6.0}
    metered = entry.model_copy(update={"spec": spec})
    assert what_differs(metered, "skin_tone").endswith("--hold exposure switches that off.")
    held = metered.model_copy(update={"hold": ["exposure"]})
    assert what_differs(held, "skin_tone").endswith("the camera's exposure is held.")
    assert "re-exposed" not in what_differs(metered, "glasses")
    assert "goes along with it" in what_differs(entry.model_copy(update={"basis": "observational"}), "skin_tone")
