"""python -m transect."""

from transect.runs.trust import cut_off

cut_off()

from transect.cli.app import main  # noqa: E402  (without a network before anything else is imported)

main()
