"""`transect targets`: what can be audited, and one call to a model behind a web address to see whether it answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transect.console.common_options import Json
from transect.console.printing import table
from transect.errors import BadInput
from transect.runs.plain_json import dumps
from transect.runs.wording import counted
from transect.texts import say

targets = typer.Typer(name="targets", help="List the targets that can be audited; check one over HTTP.")


@targets.callback(invoke_without_command=True)
def options(context: typer.Context, json: Json = False) -> None:
    """List the targets that can be audited, and the extra that each needs."""
    if context.invoked_subcommand:
        return
    from transect.targets.catalogue import available

    rows = [
        [t.name, t.task, t.meaning, "" if t.installed else f"pip install 'transect[{t.extra}]'"] for t in available()
    ]
    table(["target", "task", "what it is", "to install"], rows, json)


@targets.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The TOML file of a model behind a web address.")],
    image: Annotated[
        Path | None, typer.Option(help="The picture to send; by default a rendered face of 256 pixels.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Which face is rendered.")] = 0,
    json: Json = False,
) -> None:
    """Send one image and explain the response. The call may be billed; asking again is free, since it is kept."""
    from transect.targets.http import check as checks
    from transect.targets.http.target import load

    target = load(file)
    try:
        explained = checks.check(target, checks.picture(image) if image else _face(seed))
    finally:
        target.close()
    if json:
        say(dumps(explained))
    else:
        table(["what", "seen"], _rows(explained), as_json=False)
    if advice := checks.advice(target, explained):
        raise BadInput(advice)


def _face(seed: int) -> Any:
    from transect.generators import load

    world = load("faceworld", image_size=256)
    return world.render(world.sample([seed])).pixels[0]


def _rows(explained: dict[str, Any]) -> list[list[str]]:
    fields = {name: dumps(value, None) for name, value in explained["found"].items()}
    sent, reply, budget = explained["sent"], explained["reply"], explained["budget"]
    size = "" if reply is None else counted(reply["bytes"], "byte")
    received = "nothing" if reply is None else f"HTTP {reply['status']}, {reply['content_type']}, {size}"
    left = "no limit" if budget["calls_left"] is None else str(budget["calls_left"])
    calls = counted(explained["calls"], "call")
    return [
        ["asked", f"{sent['method']} {sent['url']}"],
        ["headers", ", ".join(f"{key}: {value}" for key, value in sent["headers"].items()) or "none of the file's"],
        ["image", f"{sent['image']}, as {sent['body']}"],
        ["received", received + (" (kept from before, nothing paid)" if explained["kept"] else "")],
        *([["it starts", reply["starts"]]] if reply else []),
        ["the answer has", explained["answer"] or "no JSON"],
        *[[f"response.{name}", text] for name, text in fields.items()],
        ["prediction", dumps(explained["prediction"], None)],
        ["failure", explained["failure"] or "none"],
        ["cost", f"{calls}, {explained['cost']:.9g} {budget['currency']}; calls left: {left}"],
    ]  # fmt: skip
