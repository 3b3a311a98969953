"""What a package gives when it is asked for: the same names as before, from the same places."""

from __future__ import annotations

import pickle
import subprocess
import sys
import typing
from types import ModuleType

import pytest

import dynamap
from dynamap import codec, drivers, errors, operations
from dynamap.late import exports

PACKAGES = [dynamap, drivers, operations]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_is_there_and_is_shown(package: ModuleType) -> None:
    for name in package.__all__:
        assert getattr(package, name) is getattr(package, name)
    assert set(package.__all__) <= set(dir(package))
    assert sorted(package.__all__) == sorted(set(package.__all__))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_star_gives_every_name(package: ModuleType) -> None:
    found: dict[str, object] = {}
    exec(f"from {package.__name__} import *", found)
    assert {name: found[name] for name in package.__all__} == {name: getattr(package, name) for name in package.__all__}


def test_a_name_is_what_its_module_defines() -> None:
    assert dynamap.VersionConflict is errors.VersionConflict
    assert dynamap.Attribute is codec.Attribute
    assert dynamap.Query is operations.Query
    assert operations.Query.__module__ == "dynamap.operations.query"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_name_that_is_not_there_is_told_as_python_does(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=rf"^module '{package.__name__}' has no attribute 'Querry'") as caught:
        package.Querry
    assert (caught.value.name, caught.value.obj) == ("Querry", package)
    with pytest.raises(ImportError, match=r"^cannot import name 'Querry' from '"):
        exec(f"from {package.__name__} import Querry")


def test_a_module_that_cannot_be_loaded_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("late")
    monkeypatch.setitem(sys.modules, "late", module)
    load, names = exports("late", {"late.missing": ("Thing",)})
    assert names() == sorted({*vars(module), "Thing"})
    monkeypatch.setattr(module, "__path__", [], raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'late.missing'"):
        load("Thing")


def test_what_is_pickled_is_found_in_a_process_that_has_asked_for_nothing() -> None:
    pickled = pickle.dumps([dynamap.ItemNotFound("gone"), dynamap.Query, dynamap.ItemKey])
    code = f"import pickle; print([getattr(each, '__name__', repr(each)) for each in pickle.loads({pickled!r})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[\"ItemNotFound('gone')\", 'Query', 'ItemKey']\n"


@pytest.mark.parametrize("name", ["get", "put", "update", "query", "get_many", "key"])
def test_annotations_of_methods_can_be_resolved(name: str) -> None:
    assert "return" in typing.get_type_hints(getattr(dynamap.Repository, name))


@pytest.mark.parametrize("name", ["of", "query", "transact", "transact_get", "execute", "capacity"])
def test_annotations_of_a_store_can_be_resolved(name: str) -> None:
    assert "return" in typing.get_type_hints(getattr(dynamap.Store, name))
