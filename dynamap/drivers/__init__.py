"""The only place that does I/O: a driver for each mode."""

from dynamap.drivers.aio import AsyncDriver
from dynamap.drivers.clients import ClientOptions
from dynamap.drivers.interceptor import Interceptor
from dynamap.drivers.sync import SyncDriver

__all__ = ["AsyncDriver", "ClientOptions", "Interceptor", "SyncDriver"]
