"""Files of requirements: what they say, and how a wrong one is refused."""

from pathlib import Path

import pytest

from transect.analysis.requirements.records import names, read
from transect.errors import BadInput, UnknownName


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
    assert names(found) == [
        "glasses: no difference in miss above 0.02",
        "no group is missed often",
        "rate of miss no worse than in baseline by more than 0.02",
        "FNMR ratio at most 2",
        "leakage amplification at most 3 points",
    ]


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ("", BadInput, "require 1: expected one of margin, no_worse_than, .*got none"),
        ("margin = 0.02", BadInput, "margin: expected an attribute beside it"),
        ('attribute = "hat"\nmargin = 0', BadInput, "margin: expected a number above 0, got 0"),
        ('attribute = "hat"\nmargin = nan', BadInput, "margin: expected a number"),
        ('attribute = "hat"\nmargin = "wide"', BadInput, "require 1: margin: expected .*number"),
        ('attribute = "hat"\nmargn = 0.1', UnknownName, "margn.*did you mean margin"),
        ('attribute = "hat"\nmargin = 0.1\nmax_rate = 0.1', BadInput, "expected one limit, got margin and max_rate"),
        ("max_rate = 0.1", BadInput, "max_rate: expected by = one to three attributes, got 0"),
        ('max_rate = 0.1\nby = ["a", "b", "c", "d"]', BadInput, "one to three attributes, got 4"),
        ('max_rate = 0.1\nby = ["a"]\nattribute = "a"', BadInput, "expected the groups in by"),
        ("max_rate = 5\nby = ['a']", BadInput, "max_rate: expected a share below 1, got 5; 5 % is 0.05"),
        ("max_fnmr_ratio = 2\nby = ['a']", BadInput, "by: expected it of audits alone"),
        ("leakage_delta_max = 2\ntarget = 'a'", BadInput, "target: expected it of audits alone"),
        ('no_worse_than = "old"\noutcome = "answer"', BadInput, "an outcome of which more is worse.*got answer"),
    ],
)
def test_a_wrong_requirement_is_refused_in_one_line(tmp_path, table, error, message):
    with pytest.raises(error, match=message) as caught:
        read(write(tmp_path, f"[[require]]\n{table}\n"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "vary = ['hat']", "[require]\nmargin = 1", "require = 3", "[[require]\n"])
def test_a_file_without_requirements_is_refused(tmp_path, text):
    with pytest.raises(BadInput, match=r"requirements\.toml"):
        read(write(tmp_path, text))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"none\.toml: cannot be read"):
        read(Path(tmp_path / "none.toml"))
