"""python -m transect."""

from transect.cli.app import main

main()
