"""boto3's client: what every ratio is a ratio to. It answers DynamoDB's form, {"S": "text"}, and leaves the rest."""

from __future__ import annotations

import boto3

from benchmarks.peers.wire import works_of
from benchmarks.works import Works


def prepare(url: str) -> Works:
    return works_of(boto3.client("dynamodb", endpoint_url=url))
