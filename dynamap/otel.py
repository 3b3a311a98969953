"""OpenTelemetry: a span and a duration for each call, from `connect(on_call=telemetry())`.

    store = connect(ShopTable, on_call=telemetry())

Needs the extra `otel`. Names are those of the conventions for databases and for AWS:
https://opentelemetry.io/docs/specs/semconv/database/dynamodb/
"""

from __future__ import annotations

import time
from collections.abc import Callable

from dynamap.operations import CallInfo

try:
    from opentelemetry import metrics, trace
except ImportError as error:
    _message = "dynamap.otel needs the OpenTelemetry API: pip install 'dynamap[otel]'"
    raise ImportError(_message) from error

__all__ = ["telemetry"]

_SCOPE = "dynamap"
_SCHEMA = "https://opentelemetry.io/schemas/1.34.0"
# https://opentelemetry.io/docs/specs/semconv/database/database-metrics/#metric-dbclientoperationduration
_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)


def telemetry(
    *, tracer_provider: trace.TracerProvider | None = None, meter_provider: metrics.MeterProvider | None = None
) -> Callable[[CallInfo], None]:
    """What `connect(on_call=...)` and `connect_async` take to tell OpenTelemetry of every call.

    Each call with all its attempts is a client span, `DynamoDB.PutItem`, under the span that is current where the
    operation was sent, and a measurement of `db.client.operation.duration`; capacity units are counted in
    `dynamap.client.consumed_capacity`. A failed condition is an answer: its code is an attribute, the span no error.
    Keys and values are never among the attributes. The providers are the global ones unless they are given.
    """
    tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider, schema_url=_SCHEMA)
    meter = metrics.get_meter(_SCOPE, meter_provider=meter_provider, schema_url=_SCHEMA)
    durations = meter.create_histogram(
        "db.client.operation.duration",
        unit="s",
        description="Duration of database client operations",
        explicit_bucket_boundaries_advisory=_BUCKETS,
    )
    units = meter.create_counter(
        "dynamap.client.consumed_capacity", unit="{unit}", description="Capacity units that calls consumed"
    )

    def tell(info: CallInfo) -> None:
        ended = time.time_ns()
        # the calls are over when they are told of, so that their spans begin in the past
        started = ended - round(info.latency.total_seconds() * 1e9)
        shared = _shared_attributes(info)
        span = tracer.start_span(
            f"DynamoDB.{info.operation}",
            kind=trace.SpanKind.CLIENT,
            attributes={**shared, **_span_attributes(info)},
            start_time=started,
        )
        if _is_fault(info):
            span.set_status(trace.StatusCode.ERROR, info.error)
        span.end(ended)
        durations.record(info.latency.total_seconds(), shared)
        if info.units is not None:
            units.add(info.units, shared)

    return tell


def _is_fault(info: CallInfo) -> bool:
    return info.error is not None and not info.refused


def _shared_attributes(info: CallInfo) -> dict[str, str]:
    """What spans and measurements have: few values each."""
    attributes = {"db.system.name": "aws.dynamodb", "db.operation.name": info.operation}
    if len(info.tables) == 1:
        attributes["db.collection.name"] = info.tables[0]
    if info.error is not None:
        attributes["db.response.status_code"] = info.error
        if _is_fault(info):
            attributes["error.type"] = info.error
    return attributes


def _span_attributes(info: CallInfo) -> dict[str, str | int | float | tuple[str, ...]]:
    attributes: dict[str, str | int | float | tuple[str, ...]] = {"dynamap.attempts": info.attempts}
    if info.tables:
        attributes["aws.dynamodb.table_names"] = info.tables
    if info.index is not None:
        attributes["aws.dynamodb.index_name"] = info.index
    if info.entity is not None:
        attributes["dynamap.entity"] = info.entity
    if info.units is not None:
        attributes["dynamap.capacity_units"] = info.units
    return attributes
