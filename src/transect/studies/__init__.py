"""Study files: a published protocol as a chain of commands, run step by step, with pauses for people."""

from typing import Final

SHIPPED: Final = ("balakrishnan2020", "denton2019", "mcduff2019", "singh2021", "wang2019")
"""Studies that ship, as files of `shipped/`."""
