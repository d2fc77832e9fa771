"""Shape checking across the suite: jaxtyping's annotations hold at run time while the tests run."""

import sys
from pathlib import Path

from jaxtyping import install_import_hook

sys.path.insert(0, str(Path(__file__).parent))
_hook = install_import_hook("transect", "shape_checker.check")
