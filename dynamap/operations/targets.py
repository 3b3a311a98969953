"""Where a query or scan reads: a table or one of its indexes, as one entity stands in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dynamap.errors import RequestError
from dynamap.model import Entity
from dynamap.model.indexes import PhysicalIndex
from dynamap.model.keys import KeyPart

__all__ = ["Target"]


@dataclass(frozen=True)
class Target:
    """A table, or an index of it, and what an entity's items hold in the attributes of its key."""

    entity: Entity[Any]
    partition: tuple[KeyPart, ...]
    sort: tuple[KeyPart, ...]
    index: PhysicalIndex | None = None

    @classmethod
    def table(cls, entity: Entity[Any]) -> Target:
        """The entity's table itself."""
        return cls(entity, (entity.pk,), () if entity.sk is None else (entity.sk,))

    @classmethod
    def of_index(cls, entity: Entity[Any], name: str) -> Target:
        """An index of its table. Raises RequestError for one that the entity does not map onto."""
        use = entity.index(name)
        return cls(entity, use.partition, use.sort, use.index)

    @property
    def words(self) -> str:
        """What messages call it."""
        return "the table" if self.index is None else f"the index {self.index.name!r}"

    @property
    def is_global(self) -> bool:
        """Whether it is a global index, which is always read eventually."""
        return self.index is not None and not self.index.local

    @property
    def parts(self) -> tuple[KeyPart, ...]:
        """The whole key, the partition key first."""
        return (*self.partition, *self.sort)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Its key attributes, which a filter of a query must not name."""
        return tuple(part.attribute for part in self.parts)

    @property
    def start_attributes(self) -> tuple[str, ...]:
        """The attributes that say where reading goes on: the key of the table and that of the index."""
        layout = self.entity.layout
        return tuple(dict.fromkeys([*(key.name for key in layout.keys), *self.attributes]))

    def missing(self, attributes: tuple[str, ...]) -> tuple[str, ...]:
        """Those of these attributes that its items do not hold."""
        if self.index is None:
            return ()
        always = [key.name for key in self.entity.layout.keys]
        return tuple(name for name in attributes if not self.index.projects(name, always))

    def check_consistent(self) -> None:
        """Raise RequestError where strong reads are impossible."""
        if self.is_global:
            msg = (
                f"{self.entity.cls.__qualname__}: {self.words} is global, and global indexes are read eventually only: "
                f"leave out strongly_consistent(), or read the table"
            )
            raise RequestError(msg)
