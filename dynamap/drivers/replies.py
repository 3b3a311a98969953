"""From the body of an answer to what boto3's client answers: quickly where that can be, else by botocore's parser."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, cast

import msgspec

from dynamap.codec import Body
from dynamap.drivers.messages import Headers

__all__ = ["parsed_reply"]

_decode = msgspec.json.Decoder().decode
_FIRST_NO_SUCCESS = 300
# what a null looks like; a text may too, and then takes longer
_NULL = re.compile(rb"null(?<=[:,\[\s]null)\s*[,\]}]")


def parsed_reply(
    model: Any, response: Mapping[str, Any], decode: Callable[[Body], dict[str, Any]] | None
) -> tuple[dict[str, Any], bool]:
    """The answer as a dict, and whether its body was read here; *response* has the parts that botocore's parsers take.

    The body of a success is given to *decode*, if there is one; what it raises at is read as ever.
    """
    parsed = _quickly_parsed(response["body"], decode) if response["status_code"] < _FIRST_NO_SUCCESS else None
    if parsed is None:
        return _parsed_by_botocore(model, response), False
    headers = response["headers"]
    metadata: dict[str, Any] = {}
    identity = headers.get("x-amzn-requestid")
    if identity is not None:
        metadata["RequestId"] = identity
    metadata["HTTPStatusCode"] = response["status_code"]
    metadata["HTTPHeaders"] = (
        headers.by_lowered_name()
        if isinstance(headers, Headers)
        else {name.lower(): value for name, value in headers.items()}
    )
    parsed["ResponseMetadata"] = metadata
    return parsed, True


def _quickly_parsed(body: Body, decode: Callable[[Body], dict[str, Any]] | None) -> dict[str, Any] | None:
    """The answer, or None for a body whose nulls, faults or escapes botocore has rules for."""
    if decode is not None:
        with suppress(Exception):
            return decode(body)
    if b"null" in body and _NULL.search(body):
        return None
    try:
        parsed: Any = _decode(body)
        if b'"B"' in body or b'"BS"' in body:
            _restore_bytes(parsed)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None


def _restore_bytes(content: Any) -> None:
    """Put bytes where JSON holds base64.

    Below an attribute's name there is always a dict, so that a text below "B" is one even if an attribute is named so.
    """
    if isinstance(content, list):
        for each in cast("Sequence[Any]", content):
            if not isinstance(each, str):
                _restore_bytes(each)
    if not isinstance(content, dict):
        return
    members = cast("dict[str, Any]", content)
    for name, value in members.items():
        if isinstance(value, str):
            if name == "B":
                members[name] = b64decode(value)
        elif name == "BS" and isinstance(value, list):
            elements = cast("Sequence[Any]", value)
            members[name] = [b64decode(each) if isinstance(each, str) else each for each in elements]
        else:
            _restore_bytes(value)


def _parsed_by_botocore(model: Any, response: Mapping[str, Any]) -> dict[str, Any]:
    # loaded with the first client
    parsers: Any = import_module("botocore.parsers")
    service = model.service_model
    parser = parsers.ResponseParserFactory().create_parser(service.metadata["protocol"])
    parsed: dict[str, Any] = parser.parse(response, model.output_shape)
    if response["status_code"] >= _FIRST_NO_SUCCESS:
        # errors bring members of their own: the item of a failed condition, the reasons of a cancellation
        shape = service.shape_for_error_code(parsed.get("Error", {}).get("Code"))
        if shape is not None:
            parsed.update(parser.parse(response, shape))
    return parsed
