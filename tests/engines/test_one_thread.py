"""One thread per operation: for each thread that asks, and what was set before comes back in every order of leaving."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from transect.engines.one_thread import one_thread_per_operation


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_a_thread_that_stays_longer_than_another_gets_its_own_threads_back():
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with one_thread_per_operation():
            entered.set()
            leave.wait(10)
            inside = torch.get_num_threads()
        return inside, torch.get_num_threads()

    with ThreadPoolExecutor(1) as pool:
        with one_thread_per_operation():
            other = pool.submit(stay)
            assert entered.wait(10)
        assert torch.get_num_threads() == 2
        leave.set()
        assert other.result() == (1, 2)
    assert torch.get_num_threads() == 2


def test_within_another_it_leaves_one_thread():
    with one_thread_per_operation():
        with one_thread_per_operation():
            pass
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


def test_type_and_precision_come_back():
    torch.set_default_dtype(torch.float64)
    try:
        with one_thread_per_operation():
            assert torch.get_default_dtype() == torch.float32
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
