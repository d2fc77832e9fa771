"""Checks of Transect itself, for maintainers: `python -m validation world`, `estimators`, `images` and
`portraits`.

Nothing here is part of the package that users install. The other modules measure the product for single pages; each
says which.
"""
