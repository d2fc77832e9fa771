"""A data frame of another library: nothing but the Arrow PyCapsule interface."""


class Stream:
    """Offers `__arrow_c_stream__` alone, as Polars and DuckDB do."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)
