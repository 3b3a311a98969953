"""The `dynamap` command."""

from dynamap.cli.main import main

__all__ = ["main"]
