"""Where an optional library is not installed, the message is the line that installs it."""

import ast
import re
import tomllib

from places import ROOT

from transect.targets.kinds import kinds


def test_every_message_about_an_absent_library_names_an_extra_that_there_is():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = []
    for path in (ROOT / "src" / "transect").rglob("*.py"):
        text = path.read_text()
        if "MissingExtra(" not in text or path.name == "errors.py":
            continue
        constants = dict(re.findall(r'^(\w+)(?:: \w+)? = "(\w+)"$', text, re.M))
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        for call in [call for call in calls if getattr(call.func, "id", "") == "MissingExtra"]:
            extra = call.args[0]
            if not isinstance(extra, ast.Attribute):  # that of a kind of target
                named.append(constants[extra.id] if isinstance(extra, ast.Name) else extra.value)
    named += [kind.extra for kind in kinds() if kind.extra]
    assert len(named) > 15
    assert set(named) <= set(extras)
