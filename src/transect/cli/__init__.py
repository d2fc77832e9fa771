"""The command line: the app, and the listings of what there is."""
