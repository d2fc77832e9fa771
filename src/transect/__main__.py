"""python -m transect."""

from transect.cli import main

main()
