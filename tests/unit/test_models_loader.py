"""Clients that dynamap makes read the descriptions of services in less time, and find what botocore finds."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import DataNotFoundError, UnknownServiceError
from botocore.session import get_session

from dynamap.drivers.clients import ClientOptions, make_client
from dynamap.drivers.models_loader import load_models_quickly

DESCRIPTION = {"metadata": {"serviceId": "Thing"}, "operations": {"B": {}, "A": {"é": [1, 2.5, None, True]}}}


def quick_loader(*folders: Path) -> Any:
    session = get_session()
    if folders:
        session.set_config_variable("data_path", ":".join(map(str, folders)))
    load_models_quickly(session)
    return session.get_component("data_loader")


def described(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return folder


@pytest.mark.parametrize("service", ["dynamodb", "sts", "sso", "sso-oidc"])
@pytest.mark.parametrize("kind", ["service-2", "endpoint-rule-set-1", "paginators-1", "waiters-2"])
def test_services_are_described_as_botocore_describes_them(service: str, kind: str) -> None:
    plain = get_session().get_component("data_loader")
    try:
        expected = plain.load_service_model(service, kind)
    except UnknownServiceError:
        with pytest.raises(UnknownServiceError):
            quick_loader().load_service_model(service, kind)
        return
    found = quick_loader().load_service_model(service, kind)
    assert json.dumps(found) == json.dumps(expected)


@pytest.mark.parametrize("name", ["endpoints", "partitions", "_retry", "sdk-default-configuration"])
def test_so_is_what_belongs_to_no_service(name: str) -> None:
    plain = get_session().get_component("data_loader")
    (found, path), (expected, same_path) = (each.load_data_with_path(name) for each in (quick_loader(), plain))
    assert json.dumps(found) == json.dumps(expected)
    assert path == same_path
    assert quick_loader().is_builtin_path(path)


@pytest.mark.parametrize(
    ("extension", "content"),
    [
        (".json", json.dumps(DESCRIPTION).encode()),
        (".json.gz", gzip.compress(json.dumps(DESCRIPTION).encode())),
    ],
)
def test_files_of_the_user_are_found_packed_or_not(tmp_path: Path, extension: str, content: bytes) -> None:
    loader = quick_loader(described(tmp_path, f"thing/2020-01-01/service-2{extension}", content))
    assert json.dumps(loader.load_service_model("thing", "service-2")) == json.dumps(DESCRIPTION)
    assert loader.list_api_versions("thing", "service-2") == ["2020-01-01"]
    assert {"thing", "dynamodb"} <= set(loader.list_available_services("service-2"))


def test_the_newest_version_counts_and_extras_are_merged(tmp_path: Path) -> None:
    described(tmp_path, "thing/2020-01-01/service-2.json", b"{}")
    described(tmp_path, "thing/2021-01-01/service-2.json", b'{"a": {"b": 1}}')
    described(tmp_path, "thing/2021-01-01/service-2.sdk-extras.json", b'{"merge": {"a": {"c": 2}}}')
    assert quick_loader(tmp_path).load_service_model("thing", "service-2") == {"a": {"b": 1, "c": 2}}


def test_what_is_not_there_is_the_same_error(tmp_path: Path) -> None:
    loader = quick_loader(described(tmp_path, "thing/2020-01-01/service-2.json", b"{}"))
    for service, kind in (("nothing", "service-2"), ("thing", "waiters-2")):
        with pytest.raises(
            UnknownServiceError, match=rf"Unknown service: '{service}'\. Valid service names are: .*thing"
        ):
            loader.load_service_model(service, kind)
    with pytest.raises(DataNotFoundError, match="Unable to load data for: nowhere"):
        loader.load_data("nowhere")
    with pytest.raises(DataNotFoundError):
        loader.load_service_model("thing", "service-2", "1999-01-01")


def test_what_only_the_standard_library_reads_is_read_by_it(tmp_path: Path) -> None:
    loader = quick_loader(described(tmp_path, "odd.json", b'{"limit": NaN}'))
    assert json.dumps(loader.load_data("odd")) == '{"limit": NaN}'


def test_a_file_that_is_no_json_is_the_standard_librarys_error(tmp_path: Path) -> None:
    loader = quick_loader(described(tmp_path, "odd.json", b"{,}"))
    with pytest.raises(json.JSONDecodeError, match="Expecting property name"):
        loader.load_data("odd")


def test_a_client_is_as_one_that_botocore_makes() -> None:
    made = make_client(ClientOptions(endpoint_url="http://127.0.0.1:9"))
    plain = get_session().create_client(
        "dynamodb",
        endpoint_url="http://127.0.0.1:9",
        region_name=made.meta.region_name,
        aws_access_key_id="x",
        aws_secret_access_key="y",
    )
    assert made.meta.method_to_api_mapping == plain.meta.method_to_api_mapping
    assert made.waiter_names == plain.waiter_names
    for client in (made, plain):
        shape = client.meta.service_model.operation_model("UpdateItem").input_shape
        assert list(shape.members)[:3] == ["TableName", "Key", "AttributeUpdates"]
        assert client.can_paginate("query")
        assert "table_exists" in client.waiter_names
        client.close()
