"""Forms of pages, read without a library for uploads: there are none."""

from __future__ import annotations

from urllib.parse import parse_qsl

from fastapi import HTTPException, Request

_MOST_FIELDS = 20


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form; 400 where the body is none."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415, "expected a form")
    try:
        text = (await request.body()).decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise HTTPException(400, "expected a form in UTF-8") from None
