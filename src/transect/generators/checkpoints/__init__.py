"""Reading the checkpoints of others without running anything that they name."""
