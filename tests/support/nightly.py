"""How much the hostile inputs and the properties try, and that this is stated at the end of a run.

FUZZ_INPUTS is the number of damaged inputs in all (4,000 by default; `make fuzz` asks for 1,200,000), FUZZ_SEED their
seed. Properties try more examples too, by the square root of what FUZZ_INPUTS is to its default.
"""

import math
import os

from hypothesis import HealthCheck, settings

SMALL = 4000
INPUTS = int(os.environ.get("FUZZ_INPUTS", SMALL))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
OWN_SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a test. A profile changes only those that state no number of examples."""


def times(inputs):
    """By how much more examples of each property are tried: 17 times with 1,200,000 inputs."""
    return max(1, math.isqrt(inputs // SMALL))


def load_profile(inputs=INPUTS):
    """The profile of a run, `transect` or, with more inputs than by default, `nightly`.

    Time says what else a machine does, not what the code does: speed is measured in benchmarks/.
    """
    settings.register_profile("transect", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    small = settings.get_profile("transect")
    settings.register_profile("nightly", small, max_examples=times(inputs) * small.max_examples)
    settings.load_profile("transect" if times(inputs) == 1 else "nightly")


def try_more(items, inputs=INPUTS):
    """Multiply the examples of properties that state their own number, and note for each how many it tries at most."""
    properties = [item for item in items if hasattr(getattr(item, "obj", None), OWN_SETTINGS)]
    for test in {item.obj for item in properties}:
        own = getattr(test, OWN_SETTINGS)
        if own.max_examples != settings().max_examples:
            setattr(test, OWN_SETTINGS, settings(own, max_examples=own.max_examples * times(inputs)))
    for item in properties:
        item.user_properties.append(("examples", getattr(item.obj, OWN_SETTINGS).max_examples))


def pytest_terminal_summary(terminalreporter):
    """State what was tried. pytest-xdist hides what tests print, and hands over their properties."""
    noted = [pair for report in terminalreporter.stats.get("passed", []) for pair in report.user_properties]
    for line in stated(noted):
        terminalreporter.write_line(line)


def stated(noted):
    """Lines on damaged inputs, each kind of them where more than by default were asked for, and on properties."""
    tallies = [value for name, value in noted if name == "tally"]
    examples = [value for name, value in noted if name == "examples"]
    lines = [_words(*tally) for tally in sorted(tallies)] if INPUTS != SMALL else []
    if tallies:
        read, refused = (sum(tally[place] for tally in tallies) for place in (1, 2))
        lines.append(_words(f"{len(tallies)} kinds", read, refused))
    if examples:
        lines.append(f"properties: {len(examples):,} tests, at most {sum(examples):,} examples")
    return lines


def _words(name, read, refused):
    return f"fuzz: {name}: {read + refused:,} inputs, {read:,} read, {refused:,} refused"
