"""`--name`: the user's own names of targets stand in tables, folders, headings; wrong ones are one-line errors."""

import audited
import auditing
import pytest
from report_reader import parse, text_of
from rough_targets import Boxes

from transect.errors import BadInput
from transect.experiment.opened_targets import LONGEST, check_names

SMALL = {"vary": ["glasses=0,1"], "subjects": 6, "image_size": 32, "control": False, "quiet": True}


def test_own_names_stand_everywhere(tmp_path):
    out = tmp_path / "run"
    result = auditing.audit(["audited:brightness", audited.slow], names=["ours v2", "theirs"], out=out, **SMALL)
    assert {effect.target for effect in result.effects} == {"ours v2", "theirs"}
    (study,) = result.results["studies"]
    assert [(target["name"], target["slug"]) for target in study["targets"]] == [
        ("ours v2", "ours-v2"),
        ("theirs", "theirs"),
    ]
    assert (out / "predictions" / "ours-v2").is_dir()
    assert result.results["title"] == "Audit of ours v2, theirs"
    page = parse((out / "report.html").read_text()).find("body")
    places = {one.get("id"): text_of(one) for one in page.find(".//main") if one.get("id")}
    with_spec = [place for place, text in places.items() if "audited:brightness" in text]
    assert set(with_spec) <= {"methods", "specification"}  # what was loaded is stated there alone
    assert "ours v2" in places["summary"]


@pytest.mark.parametrize(
    ("names", "targets", "message"),
    [
        (["a", "a"], 2, "expected a different name for each target, got 'a' twice"),
        (["a b", "a-b"], 2, "expected a different name for each target, got 'a b' twice"),  # one folder
        (["a"], 2, r"expected one name per target \(2\), in their order, got 1"),
        ([" "], 1, "expected a name with a letter or a digit, got ''"),
        (["x" * (LONGEST + 1)], 1, f"expected one line of at most {LONGEST} characters, got {LONGEST + 1}"),
        (["a\nb"], 1, "expected one line"),
    ],
)
def test_names_that_do_not_fit_are_refused(names, targets, message):
    with pytest.raises(BadInput, match=message):
        check_names(names, targets)
    assert check_names(["x" * LONGEST], 1) == ("x" * LONGEST,)


def test_an_object_of_the_caller_keeps_its_name(tmp_path):
    target = Boxes()
    with pytest.raises(BadInput, match="got the object 'boxes'; set its own name"):
        auditing.audit(target, names=["mine"], out=tmp_path / "run", **SMALL)
    assert target.name == "boxes"
    assert not (tmp_path / "run").exists()
