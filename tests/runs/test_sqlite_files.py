"""A new SQLite file that many open at the same moment."""

import threading

from transect.targets.http.ledger import Allowance, Ledger

OPENERS = 6


def failures_of(opens):
    """Errors of threads that start together."""
    errors, together = [], threading.Barrier(OPENERS)

    def run():
        together.wait()
        try:
            opens()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(OPENERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_all_who_open_a_new_file_of_answers_together_get_it(tmp_path):
    """Without further tries, one of thirteen files was locked for somebody."""
    for number in range(40):
        path = tmp_path / f"{number}.sqlite"
        assert not failures_of(lambda path=path: Ledger(path, Allowance()).close())
