"""`--name`: the user's own names of targets stand in tables, folders, headings; wrong ones are one-line errors."""

import audited
import auditing
import pytest

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
    assert result.results["title"].startswith("ours v2 and theirs on ")


@pytest.mark.parametrize(
    ("names", "targets", "message"),
    [
        (["a b", "a-b"], 2, "expected a different name for each target, got 'a b' twice"),  # one folder
        (["a"], 2, r"expected one name per target \(2\), in the same order, got 1"),
        (["x" * (LONGEST + 1)], 1, f"expected one line of at most {LONGEST} characters, got {LONGEST + 1}"),
    ],
)
def test_names_that_do_not_fit_are_refused(names, targets, message):
    with pytest.raises(BadInput, match=message):
        check_names(names, targets)
    assert check_names(["x" * LONGEST], 1) == ("x" * LONGEST,)
