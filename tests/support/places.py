"""Where the project's files are, and the data of others that tests read where it is at hand."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
SUPPORT = ROOT / "tests" / "support"
