"""Tables of several PynamoDB models: its DiscriminatorAttribute is dynamap's discriminator, inside of items too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from pynamodb.attributes import (
    DiscriminatorAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    UnicodeAttribute,
)
from pynamodb.models import Model

from dynamap import Attribute, ItemAlreadyExists, ItemDecodeError, Table, mapped
from tests.backends import Backend
from tests.modes import Mode
from tests.pynamodb_models import pynamodb_table


class ShapeMap(MapAttribute[str, Any]):
    kind = DiscriminatorAttribute()


class CircleMap(ShapeMap, discriminator="circle"):
    radius = NumberAttribute()


class SquareMap(ShapeMap, discriminator="square"):
    side = NumberAttribute()


def family(meta: Any) -> type[Model]:
    class Animal(Model):
        Meta = meta
        id = UnicodeAttribute(hash_key=True)
        cls = DiscriminatorAttribute()

    class Cat(Animal, discriminator="Cat"):
        name = UnicodeAttribute()

    class Dog(Animal, discriminator="Dog"):
        tricks = NumberAttribute(default=0)
        shapes = ListAttribute(of=ShapeMap, null=True)

    Animal.cats, Animal.dogs = Cat, Dog  # type: ignore[attr-defined]
    return Animal


@dataclass(frozen=True)
class Circle:
    radius: int
    kind: Literal["circle"] = "circle"


@dataclass(frozen=True)
class Square:
    side: int
    kind: Literal["square"] = "square"


@mapped("Cat")
@dataclass(frozen=True)
class Cat:
    id: str
    name: str


@mapped("Dog", aliases=("Hound",))
@dataclass(frozen=True)
class Dog:
    id: str
    tricks: int = 0
    shapes: list[Circle | Square] = field(default_factory=list)


# both have the same key, as models of one PynamoDB table do
Animals = Table("animals", [Cat, Dog], pk="id", sk=None, discriminator="cls", overlap=[(Cat, Dog)])

DOG = Dog("d", 2, [Circle(3), Square(4)])


@pytest.fixture
def animal(backend: Backend, table_name: str) -> Iterator[type[Model]]:
    with pynamodb_table(family, backend, table_name) as model:
        yield model


def test_each_reads_the_classes_of_the_other(backend: Backend, mode: Mode, animal: Any, table_name: str) -> None:
    store = mode.connect(Animals, backend).with_name(table_name)
    animal.cats("c", name="Tom").save()
    animal.dogs("d", tricks=2, shapes=[CircleMap(radius=3), SquareMap(side=4)]).save()
    assert mode.wait(store.of(Cat).get(id="c").required().strongly_consistent().send()) == Cat("c", "Tom")
    assert mode.wait(store.of(Dog).get(id="d").required().strongly_consistent().send()) == DOG
    with pytest.raises(ItemDecodeError, match="the discriminator should be 'Cat', but it says 'Dog'"):
        mode.wait(store.of(Cat).get(id="d").send())

    mode.wait(store.of(Cat).put(Cat("c2", "Kit")).send())
    mode.wait(store.of(Dog).put(Dog("d2", 1, [Square(1), Circle(2)])).send())
    cat, dog = animal.get("c2", consistent_read=True), animal.get("d2", consistent_read=True)
    assert type(cat) is animal.cats
    assert cat.name == "Kit"
    assert type(dog) is animal.dogs
    assert [type(shape) for shape in dog.shapes] == [SquareMap, CircleMap]
    assert (dog.tricks, dog.shapes[0].side, dog.shapes[1].radius) == (1, 1, 2)
    assert {type(each) for each in animal.scan()} == {animal.cats, animal.dogs}
    assert [each.id for each in animal.cats.scan()] in (["c", "c2"], ["c2", "c"])


def test_names_that_were_given_up_are_still_read(backend: Backend, mode: Mode, animal: Any, table_name: str) -> None:
    backend.client.put_item(TableName=table_name, Item={"id": {"S": "h"}, "cls": {"S": "Hound"}})
    dogs = mode.connect(Animals, backend).with_name(table_name).of(Dog)
    hound = mode.wait(dogs.get(id="h").required().strongly_consistent().send())
    assert hound == Dog("h")
    mode.wait(dogs.put(hound).send())
    assert animal.get("h", consistent_read=True).tricks == 0


def test_items_of_before_the_discriminator(backend: Backend, mode: Mode, animal: Any, table_name: str) -> None:
    table = Table("animals", [Cat, Dog], pk="id", sk=None, discriminator="cls", untyped=Cat, overlap=[(Cat, Dog)])
    backend.client.put_item(TableName=table_name, Item={"id": {"S": "o"}, "name": {"S": "Old"}})
    store = mode.connect(table, backend).with_name(table_name)
    assert mode.wait(store.of(Cat).get(id="o").required().strongly_consistent().send()) == Cat("o", "Old")
    with pytest.raises(ItemDecodeError, match="the discriminator should be 'Dog', but it has none"):
        mode.wait(store.of(Dog).get(id="o").strongly_consistent().send())
    mode.wait(store.of(Cat).put(Cat("o", "Old")).send())
    assert type(animal.get("o", consistent_read=True)) is animal.cats


def test_a_create_over_an_item_of_the_other_class_is_refused_and_names_both(
    backend: Backend, mode: Mode, animal: Any, table_name: str
) -> None:
    animal.cats("same", name="Tom").save()
    dogs = mode.connect(Animals, backend).with_name(table_name).of(Dog)
    with pytest.raises(ItemAlreadyExists, match="the discriminator should be 'Dog', but it says 'Cat'"):
        mode.wait(dogs.put(Dog("same")).if_not_exists().send())
    assert animal.get("same", consistent_read=True).name == "Tom"


def test_key_attributes_under_other_names(backend: Backend, mode: Mode, table_name: str) -> None:
    """One class among several whose keys are PynamoDB's plain attributes, told apart by their literal."""

    @mapped("Team", sk="TEAM")
    @dataclass(frozen=True)
    class Team:
        org: Annotated[str, Attribute("PK")]
        size: int = 0

    def team_model(meta: Any) -> type[Model]:
        class TeamModel(Model):
            Meta = meta
            org = UnicodeAttribute(hash_key=True, attr_name="PK")
            sort = UnicodeAttribute(range_key=True, attr_name="SK", default="TEAM")
            size = NumberAttribute(default=0)

        return TeamModel

    table = Table("teams", [Team], pk="PK", sk="SK", discriminator=None, write_id=None)
    with pynamodb_table(team_model, backend, table_name) as model:
        teams = mode.connect(table, backend).with_name(table_name).of(Team)
        model("acme", size=3).save()
        assert mode.wait(teams.get(org="acme").required().strongly_consistent().send()) == Team("acme", 3)
        mode.wait(teams.put(Team("b", 4)).send())
        read: Any = model.get("b", "TEAM", consistent_read=True)
        assert (read.org, read.sort, read.size) == ("b", "TEAM", 4)
