"""Hold mypy and pyright to what the public types promise: `python tests/typing/run.py [3.10 3.13 ...]`.

Both check models.py, use.py and errors.py in their strict modes, as a user of the package would, for each Python
version that is named, or for the running one. No line may be an error, but those of errors.py that say so at their end:

    # E ...            an error to both checkers
    # E mypy ...       an error to mypy; pyright may see it or not
    # E pyright ...    an error to pyright; mypy may see it or not
    # e ...            may be an error: a second report of the mistake before it

The project's own settings of the checkers play no part. Exits with 1 and a list of what is not as it should be.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MISTAKES = "tests/typing/errors.py"
FILES = ["tests/typing/models.py", "tests/typing/use.py", MISTAKES]
CHECKERS = ("mypy", "pyright")
MARK = re.compile(r"#\s(?P<mark>[Ee])\b(?:\s(?P<checker>mypy|pyright)\b)?[^#]*$")
MYPY_ERROR = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+): error: (?P<message>.*)$", re.MULTILINE)
# How errors.py is written, a mistake a line; it says nothing about types.
QUIET = {"reportUnusedExpression", "reportUnusedVariable", "reportUnusedImport", "reportUnusedFunction"}

Place = tuple[str, int]


@dataclass
class Expected:
    """The lines of errors.py that must be errors to one checker, and those that may be."""

    must: dict[Place, str] = field(default_factory=dict)
    may: set[Place] = field(default_factory=set)


def expected(checker: str) -> Expected:
    """Read the marks of errors.py."""
    found = Expected()
    for number, line in enumerate((ROOT / MISTAKES).read_text(encoding="utf-8").splitlines(), 1):
        mark = MARK.search(line)
        if mark is None:
            continue
        if mark["mark"] == "E" and mark["checker"] in (None, checker):
            found.must[MISTAKES, number] = line.strip()
        else:
            found.may.add((MISTAKES, number))
    return found


def run(*command: str) -> str:
    """Run a checker; RuntimeError if it did not come to an end of its own."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        msg = f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        raise RuntimeError(msg)
    return done.stdout


def mypy(version: str) -> dict[Place, str]:
    """Return the errors of mypy, by file and line."""
    output = run(
        *(sys.executable, "-m", "mypy", "--config-file=", "--strict", "--enable-error-code=truthy-bool"),
        *("--python-version", version, "--explicit-package-bases", "--no-color-output", "--no-error-summary"),
        *("--no-pretty", *FILES),
    )
    # mypy reports what the files import as well; the package itself is checked elsewhere, with the project's settings
    errors = [one for one in MYPY_ERROR.finditer(output) if one["file"] in FILES]
    return {(one["file"], int(one["line"])): one["message"] for one in errors}


def pyright(version: str) -> dict[Place, str]:
    """Return the errors of pyright, by file and line."""
    with tempfile.TemporaryDirectory(prefix="dynamap-typing-") as directory:
        config = Path(directory) / "pyrightconfig.json"
        settings = {
            "include": [os.path.relpath(ROOT / name, directory) for name in FILES],
            "extraPaths": [str(ROOT)],
            "typeCheckingMode": "strict",
            "pythonVersion": version,
        }
        config.write_text(json.dumps(settings), encoding="utf-8")
        output = run(
            *(sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--project", str(config)),
            "--outputjson",
        )
    report: dict[str, Any] = json.loads(output)
    if not report["summary"]["filesAnalyzed"]:
        msg = f"pyright found no files below {ROOT}"
        raise RuntimeError(msg)
    found: dict[Place, str] = {}
    for one in report["generalDiagnostics"]:
        name = Path(one["file"]).relative_to(ROOT).as_posix()
        if one["severity"] != "error" or (name == MISTAKES and one.get("rule") in QUIET):
            continue
        found[name, one["range"]["start"]["line"] + 1] = f"{one['message']} [{one.get('rule', 'syntax')}]"
    return found


def compare(wanted: Expected, found: dict[Place, str]) -> list[str]:
    """Say what is not as it should be, in the order of the files."""
    complaints = {place: f"must be an error: {line}" for place, line in wanted.must.items() if place not in found}
    for place, message in found.items():
        if place not in wanted.must and place not in wanted.may:
            complaints[place] = f"must be no error: {' '.join(message.split())}"
    return [f"{name}:{number}: {complaint}" for (name, number), complaint in sorted(complaints.items())]


def main(versions: list[str]) -> int:
    """Check all and print the outcome; answer the exit status."""
    failed = False
    for version in versions or [f"{sys.version_info.major}.{sys.version_info.minor}"]:
        for name, check in zip(CHECKERS, (mypy, pyright), strict=True):
            wanted = expected(name)
            complaints = compare(wanted, check(version))
            failed = failed or bool(complaints) or not wanted.must
            caught = len(wanted.must) - sum(": must be an error: " in complaint for complaint in complaints)
            print(f"{name}, Python {version}: {caught} of {len(wanted.must)} mistakes are errors")
            for complaint in complaints:
                print(f"  {complaint}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
