"""botocore's sessions that tests share: each new one reads the descriptions of the service, for a tenth of a second."""

from __future__ import annotations

from functools import cache
from typing import Any

import aiobotocore.session
import botocore.session

__all__ = ["shared_session"]


@cache
def shared_session(mode: str) -> Any:
    """The session of a mode, "sync" or "async", for clients that are given their keys.

    Its handlers, credentials and descriptions of services are everybody's: a test that changes them undoes it, or makes
    a session of its own.
    """
    return (aiobotocore.session if mode == "async" else botocore.session).get_session()
