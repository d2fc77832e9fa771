"""How many calls the answers took: counted in the file of answers, kept with the run, and shown on the page."""

import pytest
from hostile_server import asking, pictures, serving

from transect.analysis.sections import canary_drift
from transect.errors import BadInput
from transect.experiment import costs
from transect.records import CallCounts, Images
from transect.reports.records import Section


def busy(number, body):
    """Calls 0, 1 and 4 meet a server that is busy."""
    return {"status": {0: 503, 1: 429, 4: 503}.get(number, 200)}


def ask_one_by_one(target, n):
    for image in pictures(n):
        target.predict(Images(image[None]))


def rows_of(section: Section):
    return {table.title: [tuple(row) for row in table.rows] for table in section.tables}


def test_retries_and_their_reasons_are_on_the_page(tmp_path):
    """Three images: the first takes calls 0 to 2, the second 3, the third 4 and 5."""
    with serving(busy) as server, asking(tmp_path, server.url) as target:
        ask_one_by_one(target, 3)
        assert target.call_counts() == CallCounts(3, 3, 6, {"HTTP 503": 2, "HTTP 429": 1})
        costs.keep_calls(tmp_path, [target])
    (section,) = canary_drift.call_sections(tmp_path)
    assert section.text[0] == ("3 images took 6 calls: 3 repeated an earlier one, and every image has an answer.")
    assert rows_of(section) == {
        "Calls": [
            ("images asked about", 3),
            ("images with an answer", 3),
            ("calls sent", 6),
            ("calls that repeated an earlier one", 3),
            ("calls that brought no answer", 3),
        ],
        "Calls that brought no answer": [("HTTP 503", 2), ("HTTP 429", 1)],
    }


def test_an_image_that_used_up_its_tries_has_no_answer(tmp_path):
    with serving(lambda number, body: {"status": 503}) as server, asking(tmp_path, server.url) as target:
        ask_one_by_one(target, 1)
        counts = target.call_counts()
    assert (counts.images, counts.answered, counts.calls) == (1, 0, len(server.requests))
    assert counts.retries == len(server.requests) - 1 == counts.failed["HTTP 503"] - 1


def test_a_call_that_found_no_connection_is_not_counted_as_sent(tmp_path):
    with serving() as server, asking(tmp_path, server.url) as target:
        pass
    with asking(tmp_path, server.url) as target:
        ask_one_by_one(target, 1)
        counts = target.call_counts()
    assert (counts.images, counts.answered, counts.calls, counts.retries) == (1, 0, 0, 0)
    assert set(counts.failed) == {"no connection"}


def test_a_finished_run_keeps_its_counts(tmp_path):
    """Another run asks about more images of the same file of answers; rerunning the first changes nothing."""
    with serving() as server:
        with asking(tmp_path, server.url) as target:
            ask_one_by_one(target, 2)
            costs.keep_calls(tmp_path / "run", [target])
            kept = costs.read_calls(tmp_path / "run")
            ask_one_by_one(target, 3)
        with asking(tmp_path, server.url) as target:
            costs.keep_calls(tmp_path / "run", [target])
    assert costs.read_calls(tmp_path / "run") == kept
    assert kept[0].counts == CallCounts(2, 2, 2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "Expecting property name"),
        ('{"target": "acme", "counts": {"images": 1, "answered": 1, "calls": "x"}}', "counts.calls: expected a whole"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_file_of_counts_is_an_error_of_one_line(tmp_path, text, problem):
    (tmp_path / "call_counts").mkdir()
    (tmp_path / "call_counts" / "acme.json").write_text(text)
    with pytest.raises(BadInput, match=problem) as caught:
        canary_drift.call_sections(tmp_path)
    assert "acme.json" in str(caught.value)
    assert "\n" not in str(caught.value)
