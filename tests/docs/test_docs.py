"""The documents say what the program does: reference, README's commands, links, examples."""

import pkgutil
import re
import subprocess
import sys
import tomllib

import pytest
import typer.main
from page_runner import FILE
from places import ROOT
from rich.text import Text

from tools import generate
from transect.annotation import questions
from transect.cli.app import app

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = sorted(set(ROOT.glob("examples/*.py")) - {ROOT / "examples/simulated_raters.py"})  # which needs a run


def test_what_follows_from_declarations_is_up_to_date():
    """Every command and option with its help and default, every public name, every kind of target, every schema."""
    for path, text in generate.pages().items():
        assert path.is_file(), f"{path.relative_to(ROOT)} is missing; run: python -m tools.generate"
        assert path.read_text() == text, f"{path.relative_to(ROOT)} is old; run: python -m tools.generate"


def test_help_has_no_text_that_rich_reads_as_markup():
    """Rich leaves `[ann]` out of what it prints, as a style of that name."""
    commands = [("transect", typer.main.get_command(app))]
    for name, command in commands:
        commands += [(f"{name} {key}", one) for key, one in getattr(command, "commands", {}).items()]
        for text in filter(None, [command.help, *(getattr(one, "help", None) for one in command.params)]):
            assert Text.from_markup(text).plain == text, name
    assert len(commands) > 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_files_are_not_broken(page):
    for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if not link.startswith(("http://", "https://")):
            assert (page.parent / link).exists(), f"{page}: {link}"


QUESTIONS = "transect.targets.words.questions:load"
CHAT = "transect.targets.http.chat.settings:read_chat_settings"
TOML_READERS = {
    "python.md": "audit_files:read_request",
    "run-on-a-cluster.md": "audit_files:read_request",
    "audit-an-http-api.md": "transect.targets.http.settings:read_settings",
    "question-and-chat-files.md": CHAT,
    "hats.toml": QUESTIONS,
    "audit-your-own-model.md": "transect.targets.preprocess:Preprocess.from_toml",
    "patients.toml": "transect.generators.faceworld.population:load_population",
    "clinic.toml": "tomllib:loads",  # its reader needs the run's attributes: tests/effects/test_shares.py
    "use-a-diffusion-pipeline.md": "transect.generators.diffusion.settings:read_settings",
    "mitigate.md": "transect.mitigation.settings:read_config",
    "rate-with-people.md": "transect.annotation.questions:load",
    "compare-and-replicate.md": "transect.analysis.replicated.label_rules:read",
    "gate-a-build.md": "transect.analysis.requirements.records:read",
    "questions.toml": QUESTIONS,
    "alt.toml": QUESTIONS,
    "openai.toml": CHAT,
    "local.toml": CHAT,
}
"""By the name of a block's file, where its first line has one, or of its page."""


@pytest.mark.parametrize("page", [page for page in PAGES if "```toml" in page.read_text()], ids=lambda page: page.name)
def test_toml_blocks_are_accepted_by_their_readers(page, tmp_path):
    blocks = re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.M | re.S)
    assert blocks
    for block in blocks:
        path = tmp_path / "block.toml"
        path.write_text(block)
        named = FILE.search(block)
        reader = TOML_READERS.get(named[1]) if named else None
        read = pkgutil.resolve_name(reader or TOML_READERS[page.name])
        assert read({tomllib.loads: block, questions.load: [path]}.get(read, path))


@pytest.mark.integration
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(example, tmp_path):
    done = subprocess.run([sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


def test_tracked_text_has_no_path_of_one_machine():
    """No path of one machine, and no bare promise of work to do, in any tracked text."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    assert listed, "not a git checkout: nothing was read"
    for name in listed:
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".yaml", ".html", ".css", ".cff", ""} and path.is_file():
            text = path.read_text()
            assert not re.search(r"/(wor)k/|/(tm)p/|bash_(jobs)", text), name
