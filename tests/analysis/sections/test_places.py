"""Every section of a report has a place that its function declares, and stands there alone."""

import ast
import re
from pathlib import Path

import pytest

import transect
from transect.analysis.sections import build, places
from transect.reports.records import Section

SOURCE = Path(transect.__file__).parent
FOLDER = SOURCE / "analysis" / "sections"


def makers():
    """Each public function that returns sections: its module and name."""
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            returned = ast.unparse(node.returns) if isinstance(node, ast.FunctionDef) and node.returns else ""
            if re.fullmatch(r"(list\[)?Section\]?( \| None)?", returned) and not node.name.startswith("_"):
                yield path.stem, node.name


def test_no_section_is_without_a_place():
    """A function that makes a section is declared with its place, or another one calls it."""
    declared = {(each.make.__module__.rpartition(".")[2], each.make.__name__) for each in build.every_place()}
    whole = "\n".join(path.read_text() for path in SOURCE.rglob("*.py"))
    found = set(makers())
    assert declared <= found | {("spoken_answers", "sections")}
    assert len(found) > 25
    without = [(module, name) for module, name in found - declared if len(re.findall(rf"\b{name}\b", whole)) < 2]
    assert without == []


def test_sections_stand_in_the_order_of_their_places():
    numbers = [each.at for each in build.every_place()]
    assert numbers == sorted(set(numbers))
    # what follows from answers comes before what follows from folders
    scopes = [each.scope for each in build.every_place()]
    assert scopes.index("walks") < scopes.index("answers") < scopes.index("study") < scopes.index("run")


def test_two_sections_in_one_place_are_refused():
    taken = build.every_place()[0]
    with pytest.raises(ValueError, match=f"got {taken.at}, which {taken.make.__module__} has"):
        places.placed(taken.at, "answers")(lambda _: None)


def test_a_section_is_made_of_what_its_scope_gives_where_there_is_something_to_say():
    one = Section(key="mine", title="Mine")
    assert places.Placed(0, "answers", lambda _: one, lambda _: True).sections("given") == [one]
    assert places.Placed(0, "answers", lambda _: one, lambda _: False).sections("given") == []
    assert places.Placed(0, "answers", lambda _: None, lambda _: True).sections("given") == []


def test_a_place_says_on_which_page_its_sections_stand():
    one, tokens = Section(key="mine", title="Mine"), Section(key="tokens", title="Tokens", page="numbers")
    made = places.Placed(0, "answers", lambda _: [one, tokens], lambda _: True)
    assert [each.page for each in made.sections("given")] == ["findings", "numbers"]
    moved = places.Placed(0, "answers", lambda _: [one, tokens], lambda _: True, "numbers")
    assert [each.page for each in moved.sections("given")] == ["numbers", "numbers"]
