"""What the package promises every interpreter: syntax of Python 3.10, and imports that load no more than is used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSIONS = ["3.10", "3.11", "3.12", "3.13"]


def loaded_by(statement: str) -> set[str]:
    """Give the top-level modules that a fresh interpreter has loaded after the statement."""
    program = f"{statement}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    result = subprocess.run(  # our own program
        [sys.executable, "-W", "error", "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stderr == ""
    return set(result.stdout.split())


@pytest.mark.parametrize("module", ["boto3", "aiobotocore", "aiohttp", "moto", "hypothesis", "pytest"])
def test_importing_dynamap_does_not_import(module: str) -> None:
    assert module not in loaded_by("import dynamap")


@pytest.mark.parametrize("module", ["aiobotocore", "moto", "flask"])
def test_importing_the_testing_tools_does_not_import(module: str) -> None:
    assert module not in loaded_by("import dynamap.testing")


def test_the_check_sees_what_an_import_loads() -> None:
    assert "boto3" in loaded_by("import boto3")


def test_the_sources_keep_to_the_syntax_of_the_oldest_interpreter() -> None:
    for folder in ("dynamap", "recipes", "examples"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            ast.parse(path.read_text(encoding="utf-8"), filename=str(path), feature_version=(3, 10))


def test_the_metadata_names_the_interpreters_that_are_tested() -> None:
    metadata = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r'"Programming Language :: Python :: (3\.\d+)"', metadata) == VERSIONS
    assert f'requires-python = ">={VERSIONS[0]}"' in metadata
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"^INTERPRETERS := (.*)$", makefile, flags=re.MULTILINE) == [" ".join(VERSIONS)]


def test_what_is_left_out_on_other_interpreters_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", "")
    (globs,) = re.findall(r"^EVERYWHERE_THE_SAME := (.*)$", makefile, flags=re.MULTILINE)
    assert len(globs.split()) > 10
    assert [glob for glob in globs.split() if not list((ROOT / "tests" / "unit").glob(glob))] == []
