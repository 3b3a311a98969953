"""What every test run shares: hypothesis profiles, and the examples in documents and docstrings as tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterable
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from sybil import Document, Region, Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

from dynamap.testing import embedded

# "quick" makes the same examples in every run, so that a red build is the change's fault; "deep" looks for new ones,
# by the hundred thousand, in the tests that are marked so;
# "brief" is for interpreters that only have to show that they do the same.
# Shared machines stall now and then: that is no failure of the code under test.
_PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("brief", max_examples=10, derandomize=True, **_PATIENT)
settings.register_profile("quick", max_examples=60, derandomize=True, **_PATIENT)
settings.register_profile("deep", max_examples=100_000, print_blob=True, **_PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector the thousands of tests themselves, which live as long as the run: it is faster so."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


class ReasonedSkipParser(SkipParser):
    """Skip a block only where the document says why: `<!-- skip: next "needs an AWS account" -->`."""

    def __call__(self, document: Document) -> Iterable[Region]:
        """Find the skips of the document; raise ValueError for one without a reason."""
        for region in super().__call__(document):
            action, reason = region.parsed
            if action != "end" and not reason:
                msg = f'{document.path}: a skipped block needs a reason: <!-- skip: {action} "why" -->'
                raise ValueError(msg)
            yield region


_LOCAL_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def _set_up(namespace: dict[str, Any]) -> None:
    """Give the document an empty DynamoDB, where its reader would have one: in `endpoint_url` and the environment."""
    resources = ExitStack()
    endpoint_url = resources.enter_context(embedded())
    before = dict(os.environ)
    resources.callback(_restore_environment, before)
    os.environ.update(_LOCAL_ENVIRONMENT, AWS_ENDPOINT_URL_DYNAMODB=endpoint_url)
    namespace.update(endpoint_url=endpoint_url, _resources=resources)


def _tear_down(namespace: dict[str, Any]) -> None:
    namespace["_resources"].close()


def _restore_environment(before: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(before)


_documents = Sybil(
    parsers=[PythonCodeBlockParser(), ReasonedSkipParser()],
    patterns=["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/**/*.md"],
    setup=_set_up,
    teardown=_tear_down,
)
_docstrings = Sybil(
    parsers=[DocTestParser(), PythonCodeBlockParser()],
    patterns=["dynamap/*.py", "dynamap/**/*.py", "recipes/*.py", "recipes/**/*.py"],
    document_types={".py": PythonDocStringDocument},
    setup=_set_up,
    teardown=_tear_down,
)
pytest_collect_file = (_documents + _docstrings).pytest()
