"""Our signatures are those of botocore's signer, to the byte."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from hypothesis import assume, given
from hypothesis import strategies as st

from dynamap.drivers.signing import Signer

VISIBLE = st.characters(min_codepoint=33, max_codepoint=126)
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,12}", fullmatch=True)
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=20)
REGIONS = ["us-east-1", "eu-central-1", "cn-north-1", "us-gov-west-1"]
URLS = [
    "https://dynamodb.eu-central-1.amazonaws.com",
    "https://dynamodb.us-east-1.amazonaws.com/",
    "https://123456789012.ddb.us-east-1.amazonaws.com/",
    "http://127.0.0.1:8000/",
    "http://LocalHost:80",
    "https://localhost:443/",
    "https://localhost:80/",
    "http://[::1]:8000/",
    "http://user:password@localhost:8000/",
]
USUAL = [
    ("X-Amz-Target", "DynamoDB_20120810.GetItem"),
    ("Content-Type", "application/x-amz-json-1.0"),
    ("User-Agent", "Boto3/1.43"),
    ("amz-sdk-request", "attempt=1"),
    ("Expect", "nothing"),
]


def credentials(access: str = "AKID", secret: str = "secret", token: str | None = None) -> Any:
    return SimpleNamespace(access_key=access, secret_key=secret, token=token)


def added_by_botocore(url: str, headers: list[tuple[str, str]], body: bytes, keys: Any, region: str) -> Any:
    request = AWSRequest("POST", url, dict(headers), body)
    before = set(request.headers)
    SigV4Auth(keys, "dynamodb", region).add_auth(request)
    return [(name, value) for name, value in request.headers.items() if name not in before]


@given(
    url=st.sampled_from(URLS),
    more=st.dictionaries(NAMES, VALUES, max_size=4),
    body=st.binary(max_size=300),
    access=st.text(VISIBLE, min_size=1, max_size=40),
    secret=st.text(min_size=1, max_size=40),
    token=st.none() | st.text(VISIBLE, min_size=1, max_size=80),
    region=st.sampled_from(REGIONS),
)
def test_the_headers_are_those_of_botocore(
    url: str, more: dict[str, str], body: bytes, access: str, secret: str, token: str | None, region: str
) -> None:
    assume(not any("\ud800" <= letter <= "\udfff" for letter in secret))
    headers = [*USUAL, *more.items()]
    assume(len({name.lower() for name, _ in headers}) == len(headers))
    keys = credentials(access, secret, token)
    ours = Signer().headers(headers, url, body, keys, region=region, service="dynamodb")
    theirs = added_by_botocore(url, headers, body, keys, region)
    if ours is None:
        assert {name.lower() for name in more} & {"authorization", "date", "host"}
        return
    # the second may have passed in between
    assume(ours[0] == theirs[0])
    assert ours == theirs


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("http://localhost/path", []),
        ("http://localhost/?query=1", []),
        ("http://localhost/", [("Date", "today")]),
        ("http://localhost/", [("x-amz-date", "today")]),
        ("http://localhost/", [("X-AMZ-Security-Token", "token")]),
        ("http://localhost/", [("X-Amz-Content-SHA256", "UNSIGNED-PAYLOAD")]),
        ("http://localhost/", [("Host", "elsewhere")]),
        ("http://localhost/", [("Authorization", "Basic")]),
        ("http://localhost/", [("Twice", "1"), ("twice", "2")]),
    ],
)
def test_other_requests_are_left_to_botocore(url: str, headers: list[tuple[str, str]]) -> None:
    assert Signer().headers([*USUAL, *headers], url, b"{}", credentials(), region="r", service="dynamodb") is None


def test_the_key_is_that_of_the_day_the_secret_and_the_region(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, now = Signer(), [1_700_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    days = [0.0, 0.4, 86_400.0, 86_401.0, 0.0]
    for seconds in days:
        now[0] = 1_700_000_000.0 + seconds
        for secret in ("one", "two"):
            for region in ("us-east-1", "eu-west-1"):
                arguments: Any = (USUAL, URLS[0], b"{}", credentials(secret=secret))
                fresh = Signer().headers(*arguments, region=region, service="dynamodb")
                assert kept.headers(*arguments, region=region, service="dynamodb") == fresh
                assert kept.headers(*arguments, region=region, service="dynamodb") == fresh
