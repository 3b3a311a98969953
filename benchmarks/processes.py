"""Fresh processes for what is measured, in an environment that is the same everywhere; and what machine it is."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.works import PEERS, Peer

ROOT = Path(__file__).parents[1]
_TIMEOUT = 600


def environment() -> dict[str, str]:
    """This process's environment without what a user may have set for AWS or for a proxy."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "DYNAMAP_", "PYTHON")) and not name.lower().endswith("_proxy")
    }
    return {
        **kept,
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


class WorkerFailed(Exception):
    """A process that should have measured something did not."""


def answer_of(*arguments: str) -> Any:
    """What `python ARGUMENTS` prints in its last line, as JSON. Raises WorkerFailed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        cwd=ROOT,
        env=environment(),
    )
    if done.returncode:
        msg = f"python {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr.strip()[-2000:]}"
        raise WorkerFailed(msg)
    return json.loads(done.stdout.strip().splitlines()[-1])


def _missing(peer: Peer) -> str | None:
    """Why the peer cannot run here."""
    if sys.version_info < peer.least_python:
        return f"it needs Python {'.'.join(map(str, peer.least_python))}"
    for name in peer.needs:
        try:
            version(name)
        except PackageNotFoundError:
            return f"{name} is not installed"
    return None


def installed(peers: Iterable[Peer]) -> list[Peer]:
    """Those that can run, with a message about each that cannot; CI=true lets none be missing."""
    found: list[Peer] = []
    for peer in peers:
        reason = _missing(peer)
        if reason is None:
            found.append(peer)
        elif os.environ.get("CI") == "true" and sys.version_info >= peer.least_python:
            msg = f"{peer.name}: {reason}, and CI=true lets nothing be missing"
            raise WorkerFailed(msg)
        else:
            print(f"SKIPPED: {peer.name}: {reason}.")
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def machine() -> str:
    """What the figures were measured on; its load says how much they are to be trusted."""
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    names = sorted({name for peer in PEERS if _missing(peer) is None for name in (*peer.needs, "botocore", "msgspec")})
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    system = f"{platform.system()} {platform.release()}; Python {platform.python_version()}"
    lines = [f"{_processor()}, {cores} cores, load {load:.1f}; {system}", versions]
    if load > cores / 2:
        lines.append(f"BUSY: a load of {load:.1f} on {cores} cores: other processes are in these figures.")
    return "\n".join(lines)
