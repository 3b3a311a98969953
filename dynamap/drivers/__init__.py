"""The only place that does I/O: a driver for each mode."""

from typing import TYPE_CHECKING

from dynamap.late import exports

if TYPE_CHECKING:
    from dynamap.drivers.aio import AsyncDriver
    from dynamap.drivers.clients import ClientOptions
    from dynamap.drivers.interceptor import Interceptor
    from dynamap.drivers.sync import SyncDriver
else:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "dynamap.drivers.aio": ("AsyncDriver",),
            "dynamap.drivers.clients": ("ClientOptions",),
            "dynamap.drivers.interceptor": ("Interceptor",),
            "dynamap.drivers.sync": ("SyncDriver",),
        },
    )

__all__ = ["AsyncDriver", "ClientOptions", "Interceptor", "SyncDriver"]
