"""Spans and measurements, in the memory of OpenTelemetry's SDK."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from dynamap import CallInfo, ItemAlreadyExists, Refused, Table, connect, connect_async, entity
from dynamap.otel import telemetry
from dynamap.testing import embedded


@entity("NOTE", pk="NOTE#{id}", sk="NOTE")
class Note:
    id: str
    text: str = ""


class Recorded:
    """Providers that keep what they are told."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        self.tell = telemetry(tracer_provider=self.tracers, meter_provider=MeterProvider(metric_readers=[self._reader]))

    @property
    def spans(self) -> list[Any]:
        return list(self._exporter.get_finished_spans())

    def points(self, name: str) -> list[Any]:
        data: Any = self._reader.get_metrics_data()
        return [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


def call(operation: str = "GetItem", **more: Any) -> CallInfo:
    known: dict[str, Any] = {
        "entity": "Note",
        "index": None,
        "units": 0.5,
        "attempts": 1,
        "latency": timedelta(milliseconds=20),
        "tables": ("shop",),
    }
    return CallInfo(operation, **{**known, **more})


def test_a_call_is_a_client_span_with_the_names_of_the_conventions() -> None:
    recorded = Recorded()
    recorded.tell(call("Query", index="gsi1", attempts=3))
    [span] = recorded.spans
    assert (span.name, span.kind, span.status.status_code) == ("DynamoDB.Query", SpanKind.CLIENT, StatusCode.UNSET)
    assert dict(span.attributes) == {
        "db.system.name": "aws.dynamodb",
        "db.operation.name": "Query",
        "db.collection.name": "shop",
        "aws.dynamodb.table_names": ("shop",),
        "aws.dynamodb.index_name": "gsi1",
        "dynamap.entity": "Note",
        "dynamap.attempts": 3,
        "dynamap.capacity_units": 0.5,
    }
    assert span.end_time - span.start_time == 20_000_000
    assert span.instrumentation_scope.name == "dynamap"


def test_what_is_not_known_is_left_out() -> None:
    recorded = Recorded()
    recorded.tell(call("TransactWriteItems", entity=None, units=None, tables=("a", "b")))
    [span] = recorded.spans
    assert dict(span.attributes) == {
        "db.system.name": "aws.dynamodb",
        "db.operation.name": "TransactWriteItems",
        "aws.dynamodb.table_names": ("a", "b"),
        "dynamap.attempts": 1,
    }
    assert recorded.points("dynamap.client.consumed_capacity") == []


def test_a_fault_is_an_error_and_a_failed_condition_is_none() -> None:
    recorded = Recorded()
    recorded.tell(call(error="ThrottlingException", units=None))
    recorded.tell(call("PutItem", error="ConditionalCheckFailedException", units=None))
    fault, refused = recorded.spans
    assert (fault.status.status_code, fault.status.description) == (StatusCode.ERROR, "ThrottlingException")
    assert fault.attributes["error.type"] == "ThrottlingException"
    assert refused.status.status_code is StatusCode.UNSET
    assert refused.attributes["db.response.status_code"] == "ConditionalCheckFailedException"
    assert "error.type" not in refused.attributes


def test_durations_and_units_are_measured() -> None:
    recorded = Recorded()
    for _ in range(3):
        recorded.tell(call())
    recorded.tell(call(error="ThrottlingException", units=None))
    good, bad = recorded.points("db.client.operation.duration")
    assert (good.count, round(good.sum, 6)) == (3, 0.06)
    assert good.explicit_bounds == (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
    assert dict(good.attributes) == {
        "db.system.name": "aws.dynamodb",
        "db.operation.name": "GetItem",
        "db.collection.name": "shop",
    }
    assert dict(bad.attributes)["error.type"] == "ThrottlingException"
    [units] = recorded.points("dynamap.client.consumed_capacity")
    assert units.value == 1.5


def test_operations_of_a_store_are_spans_below_the_current_one() -> None:
    recorded = Recorded()
    table = Table("notes", [Note])
    with embedded() as url, connect(table, endpoint_url=url, on_call=recorded.tell) as store:
        store.create_table()
        notes = store.of(Note)
        create = notes.put(Note("secret-id", "secret text")).if_not_exists()
        with recorded.tracers.get_tracer("test").start_as_current_span("work") as work:
            create.send()
            assert isinstance(create.try_send(), Refused)
            with pytest.raises(ItemAlreadyExists):
                create.send()
        spans = [span for span in recorded.spans if span.parent is not None]
        assert [span.name for span in spans] == ["DynamoDB.PutItem"] * 3
        assert {span.parent.span_id for span in spans} == {work.get_span_context().span_id}
        assert all(span.status.status_code is StatusCode.UNSET for span in spans)
        assert "secret" not in "".join(span.to_json() for span in recorded.spans)


def test_tasks_have_spans_below_their_own() -> None:
    recorded = Recorded()
    tracer = recorded.tracers.get_tracer("test")

    async def work(store: Any, name: str) -> int:
        with tracer.start_as_current_span(name) as span:
            await store.of(Note).get(id=name).send()
            return int(span.get_span_context().span_id)

    async def main(url: str) -> list[int]:
        async with connect_async(Table("notes", [Note]), endpoint_url=url, on_call=recorded.tell) as store:
            await store.create_table()
            return list(await asyncio.gather(*(work(store, name) for name in "abc")))

    with embedded() as url:
        parents = asyncio.run(main(url))
    found = [span.parent.span_id for span in recorded.spans if span.name == "DynamoDB.GetItem"]
    assert sorted(found) == sorted(parents)


def test_without_a_provider_nothing_is_recorded_and_nothing_fails() -> None:
    telemetry()(call())


def test_without_the_extra_its_name_is_said() -> None:
    script = "import sys\nsys.modules['opentelemetry'] = None\nimport dynamap\nimport dynamap.otel\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr.strip().endswith(
        "ImportError: dynamap.otel needs the OpenTelemetry API: pip install 'dynamap[otel]'"
    )
