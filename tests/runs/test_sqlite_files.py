"""A new SQLite file that many open at the same moment."""

import threading
from concurrent.futures import ThreadPoolExecutor

from transect.targets.http.ledger import Allowance, Ledger

OPENERS = 6


def test_all_who_open_a_new_file_of_answers_together_get_it(tmp_path):
    """Without further tries, one of thirteen files was locked for somebody."""
    together = threading.Barrier(OPENERS)

    def opened(number):
        together.wait()
        Ledger(tmp_path / f"{number}.sqlite", Allowance()).close()

    with ThreadPoolExecutor(OPENERS) as pool:
        for number in range(40):
            list(pool.map(opened, [number] * OPENERS))
