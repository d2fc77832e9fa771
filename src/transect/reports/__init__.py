"""The page that a reader of an audit sees, and the numbers behind it.

`build` makes the HTML, `write` puts the pages and `results.json` into a folder; `schema` is its JSON Schema.
Nothing is printed that does not stand in `results.json`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
