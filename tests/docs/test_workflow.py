"""The workflow of the page on builds is YAML, and its commands are those that the page runs."""

import re

import pytest
from page_runner import BLOCK
from places import ROOT

yaml = pytest.importorskip("yaml", reason="needs PyYAML, which other libraries of the tests bring along")
PAGE = ROOT / "docs/how-to/gate-a-build.md"


def test_the_workflow_runs_commands_of_the_page():
    blocks = BLOCK.findall(PAGE.read_text())
    (text,) = [block for kind, block in blocks if kind == "yaml"]
    (job,) = yaml.safe_load(text)["jobs"].values()
    shell = "\n".join(block for kind, block in blocks if kind == "sh")
    commands = [step["run"] for step in job["steps"] if step.get("run", "").startswith("transect ")]
    assert len(commands) == 2
    for command in commands:
        words = [word for word in command.split() if not word.endswith((".xml", ".svg"))]
        assert all(word in shell.split() for word in words), command
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]) for step in job["steps"] if "uses" in step)
