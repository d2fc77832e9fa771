"""A process that reads an Arrow file, which a damaged one can end, and writes it back checked; run as a script."""

import sys
from typing import Any

REFUSED = 3
"""The exit status where the reason stands on stderr."""


def _bound(most: int) -> None:
    """No more address space than twice the content, and what Python and pyarrow need."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = 2 * most + (2 << 30)
    bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))


def _names(fields: Any) -> None:
    """Every name, also of nested fields; raises UnicodeDecodeError for one that is no text."""
    for field in fields:
        field.name.encode()
        _names([field.type.field(place) for place in range(field.type.num_fields)])


def _size(table: Any) -> int:
    """Bytes of the table's values; pyarrow 22 has none for views, whose whole buffers are counted there."""
    try:
        return int(table.nbytes)
    except TypeError:
        return sum(chunk.get_total_buffer_size() for column in table.columns for chunk in column.chunks)


def _main(path: str, most: int) -> None:
    _bound(most)
    import pyarrow as pa

    with pa.OSFile(path) as source:
        try:
            table = pa.ipc.open_stream(source).read_all()
        except pa.ArrowInvalid:
            table = pa.ipc.open_file(source).read_all()
    table.validate(full=True)
    _names(table.schema)
    size = _size(table)
    if size > most:
        raise ValueError(f"content of {size} bytes instead of at most {most}")
    with pa.output_stream(sys.stdout.buffer) as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)


if __name__ == "__main__":
    try:
        _main(sys.argv[1], int(sys.argv[2]))
    except Exception as error:
        # A damaged file can name parts of memory in its error: nothing but a line of letters leaves this process.
        text = "".join(letter if letter.isprintable() else " " for letter in str(error)[:1000])
        sys.stderr.write(" ".join(text.split())[:160] or type(error).__name__)
        sys.stderr.flush()
        sys.exit(REFUSED)
