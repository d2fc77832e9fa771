"""Whole texts that are kept in tests/snapshots and compared: pages, terminals and sentences, as a reader sees them.

`pytest --update-snapshots` writes them anew; look at what `git diff` shows before you commit it.
"""

import difflib
import re

from places import ROOT
from report_reader import parse, text_of

FOLDER = ROOT / "tests" / "snapshots"


def check(name: str, text: str, *, update: bool) -> None:
    """Compare a text with the one that is kept, line by line."""
    path, made = FOLDER / f"{name}.txt", text.strip() + "\n"
    if update:
        path.write_text(made, encoding="utf-8")
    kept = path.read_text(encoding="utf-8") if path.is_file() else ""
    changes = difflib.unified_diff(kept.splitlines(), made.splitlines(), f"{path.name}, kept", "now", lineterm="", n=1)
    assert made == kept, "\n".join([*changes, "", "if that is meant: pytest --update-snapshots"])


def page_text(html: str) -> str:
    """The words of a page, a block of text a line."""
    body = parse(html).find("body")
    lines = [" ".join(text_of(block).split()) for block in body.iter() if _is_block(block)]
    return "\n".join(line for line in lines if line)


def _is_block(element) -> bool:
    return bool(re.fullmatch(r"h[1-6]|p|li|tr|dt|dd|figcaption|caption|summary", str(element.tag)))


def sections_text(results: dict) -> str:
    """What sections say without their numbers: titles, paragraphs, warnings, and the heads of tables and figures."""
    lines = []
    for one in results["sections"]:
        lines += ["", f"## {one['group'] and one['group'] + ' / '}{one['title']}", *one["text"]]
        lines += [f"! {text}" for text in one["warnings"]]
        lines += [f"figure: {figure['title']}" for figure in one["figures"]]
        lines += [f"table: {table['title']}: {', '.join(table['columns'])}" for table in one["tables"]]
    return "\n".join(lines)
