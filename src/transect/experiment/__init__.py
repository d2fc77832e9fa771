"""A design put to targets: the world, the study, its checks and its cost."""
