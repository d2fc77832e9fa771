"""Shape checking across the suite: jaxtyping's annotations hold at run time. And: no property fails of a busy machine."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

sys.path.insert(0, str(Path(__file__).parent))
_hook = install_import_hook("transect", "shape_checker.check")

# Time says what else a machine does, not what the code does: speed is measured in benchmarks/.
settings.register_profile("transect", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("transect")
