"""What commands print, and the record of a command in the folder that it wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import typer

from transect.console.options import on_command_line
from transect.runs.json_records import dumps
from transect.texts import say, shown

if TYPE_CHECKING:
    from transect.runs.command_record import Word
    from transect.runs.result import JobResult


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], as_json: bool = False) -> None:
    """Print rows of texts under headings, verbatim; as JSON a list of objects whose keys are the headings."""
    if as_json:
        keys = [heading.replace(" ", "_") for heading in headings]
        say(dumps([dict(zip(keys, row, strict=True)) for row in rows]))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        drawn.add_column(Text(shown(heading)))
    for row in rows:
        drawn.add_row(*(Text(shown(cell)) for cell in row))
    console = Console()
    console.print(drawn) if console.is_terminal else Console(width=200).print(drawn)


Block: TypeAlias = "str | tuple[Sequence[str], Sequence[Sequence[str]]]"
"""A line, or the headings and rows of a table."""


def show(result: JobResult[object], as_json: bool, *blocks: Block, page: Path | None = None) -> None:
    """Print lines and tables, by default the result's short table, and where its page is; or the result as JSON."""
    if as_json:
        say(dumps(result.to_json()))
    else:
        for block in blocks or (result.rows(),):
            if isinstance(block, str):
                say(block)
            else:
                table(*block)
        say("".join(f"{line}\n" for line in result.warning_lines()), end="")
    if page is not None:
        say(f"report: {page}", error=as_json)


_ASIDE: Final = ("json", "engine", "workers")
"""Parameters on which no result depends; no record has them."""
_BEFORE, _AFTER = "=:@", "=:@?"
"""What a path may stand behind and before in a value: NAME=PATH, READER:PATH, MODEL@PATH, PATH=WEIGHT, PATH?OPTIONS."""


@final
@dataclass(frozen=True, slots=True)
class Rerun:
    """What of a command `transect reproduce` gives again; an option that stands in neither is refused.

    kinds: by option, as --table ("" for the arguments), whether its value is data that is only read, a model, which
    opens on the reader's word alone, or a value that opens nothing. writes: the options that say where to write, and
    what they get there, "" for the folder itself.
    """

    kinds: Mapping[str, str]
    writes: Mapping[str, str]

    def kind(self, option: str) -> str:
        """What an option opens, "" where that is not known."""
        return self.kinds.get(option) or self.kinds.get(option.replace("--no-", "--", 1), "")


def keep(context: typer.Context, folder: Path, rerun: Rerun) -> None:
    """Write command.json into the folder that this command wrote."""
    from transect.runs import command_record

    given = on_command_line(context, context.params)
    left_out = (*rerun.writes, *_ASIDE)
    kept = [each for each in context.command.params if each.name in given and each.name not in left_out]
    kept.sort(key=lambda parameter: parameter.param_type_name == "argument")
    words = [word for each in kept for word in _words(each, given[str(each.name)], rerun)]
    command_record.write(folder, command_name(context), tuple(words))


def command_name(context: Any) -> str:
    """The command's name without the program's, as "train gan"."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return " ".join(names)


def _words(parameter: Any, value: object, rerun: Rerun) -> Iterator[Word]:
    from transect.runs.command_record import Word

    option = "" if parameter.param_type_name == "argument" else parameter.opts[0]
    if isinstance(value, bool):
        yield Word(option if value else parameter.secondary_opts[0])
        return
    for item in value if isinstance(value, list | tuple) else [value]:
        yield Word(option, str(item)) if rerun.kind(option) == "value" else _with_file(option, str(item))


def _with_file(option: str, text: str) -> Word:
    """The value with the file that it names, or as it is where it names none."""
    from transect.runs.command_record import Word
    from transect.runs.model_files import digest_of_input

    if (found := file_in(text)) is None:
        return Word(option, text)
    before, path, after = found
    return Word(option, path.resolve().name, digest_of_input(path), before, after)


def file_in(text: str) -> tuple[str, Path, str] | None:
    """The file or folder that a value names, with what stands before and behind it; None where it names none."""
    for before, path, after in _splits(text):
        try:
            if path and Path(path).exists():
                return before, Path(path), after
        except (OSError, ValueError):  # too long, or a null character: no path
            continue
    return None


def _splits(text: str) -> Iterator[tuple[str, str, str]]:
    """The ways to cut a value into what stands before a path, the path, and what stands behind it.

    The longest path comes first.

    >>> list(_splits("a.npy=2"))
    [('', 'a.npy=2', ''), ('', 'a.npy', '=2'), ('a.npy=', '2', '')]
    """
    starts = [0, *(place + 1 for place, letter in enumerate(text) if letter in _BEFORE)]
    ends = [*(place for place, letter in enumerate(text) if letter in _AFTER), len(text)]
    spans = [(start, end) for start in starts for end in ends if start < end]
    for start, end in sorted(spans, key=lambda span: span[0] - span[1]):
        yield text[:start], text[start:end], text[end:]
