"""Signature Version 4 for requests with a body and a plain path, with the key of the day kept."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Signer"]

# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
_ALGORITHM = "AWS4-HMAC-SHA256"
# what proxies and clients change on the way, as botocore leaves it out
_UNSIGNED = {"expect", "transfer-encoding", "user-agent", "x-amzn-trace-id"}
# with one of these there is more to do than is done here
_MEANINGFUL = {"authorization", "date", "host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"}
_DATE, _TOKEN = "x-amz-date", "x-amz-security-token"
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Signer:
    """Gives the headers that botocore's SigV4Auth adds, to the byte; may be shared by threads."""

    def __init__(self) -> None:
        self._key: tuple[tuple[str, str, str, str], bytes] | None = None
        self._moment: tuple[int, str] = (-1, "")

    def headers(
        self,
        given: Iterable[tuple[str, str]],
        url: str,
        body: bytes,
        credentials: Any,
        *,
        region: str,
        service: str,
    ) -> list[tuple[str, str]] | None:
        """The headers to add to those *given* of a POST; None for a request of a kind that is not known here.

        *credentials* are frozen ones: they have `access_key`, `secret_key`, and a `token` or None.
        """
        moment = self._now()
        token = credentials.token
        canonical = _canonical(tuple(given), url, with_token=bool(token))
        if canonical is None:
            return None
        before, middle, after, names = canonical
        dated = f"{before}x-amz-date:{moment}{middle}"
        lines = f"{dated}\nx-amz-security-token:{' '.join(token.split())}{after}" if token else f"{dated}{after}"
        request = f"POST\n/\n\n{lines}\n\n{names}\n{hashlib.sha256(body).hexdigest()}"
        day = moment[:8]
        scope = f"{day}/{region}/{service}/aws4_request"
        text = f"{_ALGORITHM}\n{moment}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = self._key_of(credentials.secret_key, day, region, service)
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        parts = f"Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
        added = [("X-Amz-Date", moment)]
        if token:
            added.append(("X-Amz-Security-Token", token))
        added.append(("Authorization", f"{_ALGORITHM} {parts}"))
        return added

    def _now(self) -> str:
        second = int(time.time())
        known, text = self._moment
        if known != second:
            text = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
            self._moment = second, text
        return text

    def _key_of(self, secret: str, day: str, region: str, service: str) -> bytes:
        made_for = (secret, day, region, service)
        kept = self._key
        if kept is not None and kept[0] == made_for:
            return kept[1]
        key = f"AWS4{secret}".encode()
        for part in (day, region, service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        self._key = made_for, key
        return key


# the headers of one operation are the same from call to call
@lru_cache(maxsize=64)
def _canonical(given: tuple[tuple[str, str], ...], url: str, *, with_token: bool) -> tuple[str, str, str, str] | None:
    """The lines before the date, between it and the token, and behind that, and all names; None for another kind."""
    host = _host(url)
    if host is None:
        return None
    signed = {"host": host}
    for name, value in given:
        lowered = name.lower()
        if lowered in _MEANINGFUL or lowered in signed:
            return None
        if lowered not in _UNSIGNED:
            signed[lowered] = " ".join(value.split())
    names = sorted([*signed, _DATE, _TOKEN] if with_token else [*signed, _DATE])
    before = "".join(f"{name}:{signed[name]}\n" for name in names if name < _DATE)
    middle = "".join(f"\n{name}:{signed[name]}" for name in names if _DATE < name < _TOKEN)
    after = "".join(f"\n{name}:{signed[name]}" for name in names if name > _TOKEN)
    return before, middle, after, ";".join(names)


def _host(url: str) -> str | None:
    """The header `Host` of a request to this URL; None for one with a path or a query."""
    parts = urlsplit(url)
    if parts.path not in ("", "/") or parts.query or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if parts.port is None or parts.port == _DEFAULT_PORTS.get(parts.scheme):
        return host
    return f"{host}:{parts.port}"
