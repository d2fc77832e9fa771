"""What commands print: verbatim, without markup and without what a terminal obeys."""

import json

from transect.console.results import table


def test_names_are_no_markup(capsys):
    table(["[red]name", "value"], [["[/b]", "a[bold]b"]])
    out = capsys.readouterr().out
    assert "[/b]" in out
    assert "a[bold]b" in out
    assert "[red]name" in out


def test_cells_move_no_cursor_and_can_be_encoded(capsys):
    table(["name"], [["\x1b[2J\x9b1mhat \ud800"]])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "hat �" in out


def test_json_keeps_the_text_and_is_safe_to_print(capsys):
    table(["name"], [["\x1b[2J\x9b1m\u202ehat"]], as_json=True)
    out = capsys.readouterr().out
    assert not {"\x1b", "\x9b", "\u202e"} & set(out)
    assert json.loads(out) == [{"name": "\x1b[2J\x9b1m\u202ehat"}]
