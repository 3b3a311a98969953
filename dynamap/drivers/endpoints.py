"""Which endpoints botocore takes, known before there is a client."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import urlsplit

from dynamap.errors import RequestError

__all__ = ["check_endpoint"]

_SPACE = re.compile(r"\s")
_BEFORE_HOST = re.compile(r"([a-z][a-z\d+.-]*://|//)?.*@", re.DOTALL | re.IGNORECASE)

# as botocore.utils has them
_LONGEST_NAME = 255
_NAME = re.compile(r"((?!-)[a-z\d-]{1,63}(?<!-)\.)*(?!-)[a-z\d-]{1,63}(?<!-)\.?", re.ASCII | re.IGNORECASE)
_ZONE = re.compile(r"([\w.!~-]|%[\da-f]{2})+", re.ASCII | re.IGNORECASE)


def check_endpoint(url: Any) -> None:
    """Raise RequestError for what is no URL of a host that botocore takes, which it would say at the first call."""
    if not isinstance(url, str):
        got = type(url).__name__
        msg = f"endpoint_url= takes the URL of a server as str, such as 'http://localhost:8000'; got {got}"
        raise RequestError(msg)
    scheme = "https" if ".amazonaws." in url else "http"
    complete = url if "://" in url else f"{scheme}://{url.removeprefix('//')}"
    # a user and a password are left out of messages
    shown, right = (_BEFORE_HOST.sub(r"\1", each) for each in (url, complete))
    host = _host_of(complete)
    if not _is_host(host):
        why = (
            "has an underscore in its host name, which botocore does not take: give the server another name, such as "
            "an alias in its network"
            if "_" in host
            else "is no URL of a server, such as 'http://localhost:8000'"
        )
        msg = f"endpoint_url={shown!r} {why}"
        raise RequestError(msg)
    if complete != url:
        msg = f"endpoint_url={shown!r} has no scheme: write endpoint_url={right!r}"
        raise RequestError(msg)


def _host_of(url: str) -> str:
    """The host in a URL, empty where there is none, or where the URL is none of a server."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return ""
    return host if host and parts.scheme in ("http", "https") and not _SPACE.search(url) else ""


def _is_host(host: str) -> bool:
    """Whether it is a name of letters, digits and dashes between dots, or an IPv6 address, which may have a zone."""
    address, percent, zone = host.partition("%")
    try:
        IPv6Address(address)
    except ValueError:
        return len(host) <= _LONGEST_NAME and _NAME.fullmatch(host) is not None
    return not percent or _ZONE.fullmatch(zone) is not None
