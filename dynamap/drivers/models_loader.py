"""The descriptions of services that come with botocore, read in less time: every new client needs some of them.

Imported with the first client that dynamap makes, as botocore is. Clients that are passed in are not touched.
"""

from __future__ import annotations

import gzip
import os
from typing import Any

import msgspec
from botocore.exceptions import DataNotFoundError, UnknownServiceError
from botocore.loaders import JSONFileLoader, Loader

__all__ = ["load_models_quickly"]

_decode = msgspec.json.Decoder().decode


class _Files(JSONFileLoader):
    """Decodes what it reads at once, and into plain dicts, which keep their order too."""

    def load_file(self, file_path: str) -> Any:
        for extension, unpacked in ((".json", bytes), (".json.gz", gzip.decompress)):
            try:
                with open(file_path + extension, "rb") as file:  # noqa: PTH123 - it is a str, and may be none
                    content = file.read()
            except OSError:
                continue
            try:
                return _decode(unpacked(content))
            except Exception:  # noqa: BLE001 - botocore's own way reads it, or says what is wrong
                return super().load_file(file_path)  # pyright: ignore[reportUnknownMemberType]
        return None


class _Models(Loader):
    """Finds a service by its folder, and does not look into those of all the others."""

    def list_available_services(self, type_name: str) -> list[str]:
        """The services that may have such a file; botocore opens some hundred folders to know it."""
        del type_name
        untyped: Any = self
        folders: list[str] = [path for path in untyped.search_paths if os.path.isdir(path)]  # noqa: PTH112
        return sorted({name for folder in folders for name in os.listdir(folder)})  # noqa: PTH208

    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:
        base: Any = super()
        try:
            return base.load_service_model(service_name, type_name, api_version)
        except UnknownServiceError:
            raise
        except DataNotFoundError as error:
            known = ", ".join(self.list_available_services(type_name))
            raise UnknownServiceError(service_name=service_name, known_service_names=known) from error


def load_models_quickly(session: Any) -> None:
    """Let the clients of a session have their descriptions so, from the same folders; for a session of our own."""
    paths = session.get_component("data_loader").search_paths
    loader = _Models(extra_search_paths=paths, file_loader=_Files(), include_default_search_paths=False)
    session.register_component("data_loader", loader)
