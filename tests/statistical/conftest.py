"""Parametrises a simulation that asks for `size` by its row in `declared.py`."""

import pytest
from declared import DECLARED, Size


def pytest_generate_tests(metafunc):
    if "size" not in metafunc.fixturenames:
        return
    function = metafunc.function
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    row = DECLARED[function.__name__.removeprefix("test_")]
    points = [
        pytest.param(
            Size(row, small), *values, marks=mark, id="-".join(map(str, ("small" if small else "full", *values)))
        )
        for small, mark, settings in ((True, pytest.mark.coverage, row.small), (False, pytest.mark.slow, row.full))
        for values in settings
    ]
    metafunc.parametrize([name for name in names if name != "monkeypatch"], points)
