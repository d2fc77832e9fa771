"""Every benchmark, one after another: python -m benchmarks.

Each prints a table of ratios against a peer in the same run.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

status = 0
for path in sorted(HERE.glob("[a-z]*.py")):
    print(f"\n{path.stem}\n", flush=True)
    status |= subprocess.run([sys.executable, str(path)], check=False).returncode
sys.exit(status)
