"""The page about kinds of target: what each is, whose code runs, and its options, from what the kinds declare.

python -m tools.generate writes it to docs/reference/targets.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from transect.options import Setting, settings
from transect.targets.kinds import Kind, kinds

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "targets.md"

HEAD = """# Kinds of target

Written by `python -m tools.generate`; do not edit by hand.

A spec names a target: a prefix and an argument, or the path of a file or folder. In Python,
`transect.targets.resolve(spec, **options)` opens it, with the options below and `isolate`. On the command line `device`
is `--model-device`, and `templates` is `--template`. `transect list targets` lists the kinds and what is installed;
`transect targets check SPEC` shows what a target receives and answers.

A plug-in is named by its entry point in the group `transect.targets`, as `name` or `name:argument`, and runs
third-party code.

| spec | task | what it is | to install | code |
| --- | --- | --- | --- | --- |
"""
_CODE: Final = {
    "shipped": "library code, with its own model",
    "data": "built-in or library code; the files are data",
    "code": "third-party, in a separate process",
}


def page() -> str:
    """The page: a table of the kinds, then the options of each."""
    return HEAD + "".join(map(_rows, kinds())) + "".join(map(_options, kinds()))


def _rows(kind: Kind) -> str:
    extra = f"`transect[{kind.extra}]`" if kind.extra else ""
    return "".join(
        f"| `{spec}` | {task} | {meaning} | {extra} | {_code(kind)} |\n" for spec, task, meaning in kind.listed
    )


def _code(kind: Kind) -> str:
    return "none; images leave this machine" if kind.remote else _CODE[kind.trust]


def _options(kind: Kind) -> str:
    stated = settings(kind.opened().Options)
    if not stated:
        return ""
    rows = "".join(f"| `{setting.name}` | {_default(setting)} | {setting.option.help} |\n" for setting in stated)
    title = f"`{kind.prefix}`" if kind.prefix else f"`{kind.listed[0][0]}`"
    return f"\n## {title}\n\n| option | default | meaning |\n| --- | --- | --- |\n{rows}"


def _default(setting: Setting) -> str:
    nothing = setting.default is None or setting.default is False or setting.default == ()
    return "" if nothing else f"`{setting.default}`"
