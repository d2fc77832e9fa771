"""Files of requirements: what they say, and how a wrong one is refused."""

import pytest

from transect.analysis.requirements.records import names, read
from transect.errors import BadInput


def write(folder, text):
    path = folder / "requirements.toml"
    path.write_text(text)
    return path


def test_a_file_may_hold_settings_beside_the_requirements(tmp_path):
    path = write(
        tmp_path,
        """
        vary = ["glasses"]
        [[require]]
        attribute = "glasses"
        outcome = "miss"
        margin = 0.02
        [[require]]
        name = "no group is missed often"
        outcome = "miss"
        max_rate = 0.05
        by = "skin_tone"
        [[require]]
        outcome = "miss"
        no_worse_than = "baseline"
        [[require]]
        max_fnmr_ratio = 2.0
        [[require]]
        leakage_delta_max = 3
        """,
    )
    found = read(path)
    assert [requirement.kind for requirement in found] == ["difference", "rate", "baseline", "ratio", "leakage"]
    assert found[1].by == ["skin_tone"]
    assert found[2].no_worse_than == tmp_path / "baseline"
    assert found[2].margin is None  # the default of rates, when the outcome is one
    assert names(found)[1] == "no group is missed often"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "require 1: no limit .margin, no_worse_than, "),
        ("margin = 0.02", "margin: needs an attribute"),
        ('attribute = "hat"\nmargin = 0', "margin: expected a number above 0, got 0"),
        ('attribute = "hat"\nmargin = 0.1\nmax_rate = 0.1', "expected one limit, got margin and max_rate"),
        ("max_rate = 0.1", "max_rate: expected by = one to three attributes, got 0"),
        ('max_rate = 0.1\nby = ["a"]\nattribute = "a"', "expected the groups in by"),
        ("max_rate = 5\nby = ['a']", "max_rate: expected a share below 1, got 5; 5 % is 0.05"),
        ("max_fnmr_ratio = 2\nby = ['a']", "by: applies only to audits"),
        ('no_worse_than = "old"\noutcome = "answer"', "an outcome for which more is worse.*got answer"),
    ],
)
def test_a_wrong_requirement_is_refused_in_one_line(tmp_path, table, message):
    with pytest.raises(BadInput, match=message) as caught:
        read(write(tmp_path, f"[[require]]\n{table}\n"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["vary = ['hat']", "require = 3"])
def test_a_file_without_requirements_is_refused(tmp_path, text):
    with pytest.raises(BadInput, match=r"requirements\.toml"):
        read(write(tmp_path, text))
