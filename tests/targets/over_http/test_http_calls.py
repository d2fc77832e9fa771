"""How many calls the answers took: counted in the file of answers, kept with the run, and shown on the page."""

from hostile_server import asking, pictures, serving

from transect.analysis.sections import canary_drift
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
