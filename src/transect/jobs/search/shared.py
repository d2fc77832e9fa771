"""Answers by picture, which several searches share: a picture is asked about once, whoever shows it first."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import pyarrow as pa


@final
class SharedAnswers:
    """Rows of predictions by the digest of their picture."""

    def __init__(self) -> None:
        self._rows: dict[str, pa.Table] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def keep(self, images: pa.Table, answers: pa.Table) -> None:
        """Remember the answers to these images, row by row."""
        for row, digest in enumerate(images["sha256"].to_pylist()):
            self._rows.setdefault(digest, answers.slice(row, 1))

    def answered(self, images: pa.Table, ask: Callable[[pa.Table], pa.Table]) -> pa.Table:
        """The answers to the images: remembered ones, and `ask`'s to the others, in the order of the images."""
        digests = images["sha256"].to_pylist()
        fresh = [row for row, digest in enumerate(digests) if digest not in self._rows]
        if fresh:
            new = images.take(fresh)
            self.keep(new, ask(new))
        rows = [self._rows[digest] for digest in digests]
        labelled = max(rows, key=lambda row: len((row.schema.metadata or {}).get(b"labels", b"")))
        whole = pa.concat_tables([row.replace_schema_metadata(labelled.schema.metadata) for row in rows])
        return whole.set_column(0, whole.schema.field(0), images["id"]).combine_chunks()
