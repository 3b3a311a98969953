"""A DynamoDB inside the test's own process."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from dynamap.testing._loopback import LoopbackServer


def embedded() -> AbstractContextManager[str]:
    """Serve an empty DynamoDB from this process and give its endpoint URL, for example `http://127.0.0.1:40123`.

    It is moto's DynamoDB behind one lock, so that concurrent requests are answered one after the other. Any client
    may use it: dynamap, boto3, aiobotocore, another process. Every engine starts empty and shares nothing with
    others that run at the same time; leaving the block drops the tables and closes the connections. Credentials are
    not checked, and regions that do not exist stand for us-east-1.

    What moto answers differently from DynamoDB and programs trip over is mended: client tokens of transactions are
    honoured, `TransactGetItems` projects, an `UpdateItem` that only checks its condition is performed, a batch write
    refuses duplicates, and a request that moto cannot take is a ValidationException rather than an HTTP 500.

    Raises:
        ImportError: moto is not installed; `pip install 'dynamap[testing]'` does it.

    >>> from dynamap.testing import embedded
    >>> with embedded() as endpoint_url:
    ...     endpoint_url.startswith("http://127.0.0.1:")
    True
    """
    return _embedded()


@contextmanager
def _embedded() -> Generator[str, None, None]:
    try:
        # moto takes most of a second to import: only those who start an engine pay for it.
        from dynamap.testing._engine import Engine  # noqa: PLC0415
    except ImportError as error:
        msg = f"embedded() needs moto's DynamoDB ({error}): pip install 'dynamap[testing]'"
        raise ImportError(msg, name=error.name) from error
    engine = Engine()
    server = LoopbackServer(engine.answer)
    try:
        yield server.url
    finally:
        server.close()
        engine.close()
