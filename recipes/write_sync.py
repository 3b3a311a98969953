"""Write the plain form of each recipe, and of its test, from the asyncio form in `aio/`, so that both are one source.

`python recipes/write_sync.py` writes them, and `--check` only says whether they are as they would be written.
Needs ruff, which formats what it writes.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

__all__ = ["as_sync"]

HERE = Path(__file__).parent
_NAMES = {
    "Async": "Sync",
    "AsyncGenerator": "Generator",
    "AsyncIterable": "Iterable",
    "AsyncIterator": "Iterator",
    "StopAsyncIteration": "StopIteration",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "aclosing": "closing",
    "asynccontextmanager": "contextmanager",
    "connect_async": "connect",
    "memory_store_async": "memory_store",
}
_DOTTED = {
    "asyncio.Lock": "threading.Lock",
    "asyncio.sleep": "time.sleep",
    "recipes.aio": "recipes",
}
_DROPPED = re.compile(r"\b(?:async|await) (?=\S)")
_DOTTED_NAME = re.compile("|".join(re.escape(name) for name in _DOTTED))
_WORD = re.compile(rf"\b(?:{'|'.join(map(re.escape, _NAMES))})\b")
_IMPORT = re.compile(r"^import asyncio\n", re.MULTILINE)
_AWAITABLE = re.compile(r"\bAwaitable\[((?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*)\]")
_AWAITABLE_IMPORT = re.compile(r"^(from collections\.abc import )Awaitable, ", re.MULTILINE)


def as_sync(text: str) -> str:
    """The plain form of a module that is written for asyncio; lines that end with `# asyncio only` are left out."""
    lines = text.splitlines(keepends=True)
    # from the end, so that what comes before stays where its token says
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(text).readline))):
        if token.type not in {tokenize.NAME, tokenize.STRING, tokenize.COMMENT}:
            continue
        (first, start), (last, end) = token.start, token.end
        old = "".join(lines[first - 1 : last])
        rest = len(lines[last - 1]) - end
        new = old[:start] + _plain(token, old[start : len(old) - rest]) + old[len(old) - rest :]
        if token.string in {"async", "await"}:
            new = old[:start] + old[start:].removeprefix(f"{token.string} ")
        lines[first - 1 : last] = new.splitlines(keepends=True)
    kept = "".join(line for line in lines if not line.rstrip().endswith("# asyncio only"))
    plain = _DOTTED_NAME.sub(lambda found: _DOTTED[found[0]], kept)
    plain = _AWAITABLE_IMPORT.sub(r"\1", _AWAITABLE.sub(r"\1", plain))
    wanted = [name for name in ("threading", "time") if re.search(rf"\b{name}\.", plain)]
    missing = [name for name in wanted if not re.search(rf"^import {name}$", plain, re.MULTILINE)]
    return _IMPORT.sub("".join(f"import {name}\n" for name in missing), plain)


def _plain(token: tokenize.TokenInfo, text: str) -> str:
    if token.type == tokenize.NAME:
        return _NAMES.get(text, text)
    return _WORD.sub(lambda found: _NAMES[found[0]], _DROPPED.sub("", text))


def _formatted(text: str, path: Path) -> str:
    """The text as ruff sorts and formats it."""
    for command in (["check", "--fix-only", "--select", "I"], ["format"]):
        done = subprocess.run(  # noqa: S603 - the interpreter's own ruff
            [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", str(path), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = done.stdout
    return text


def main(arguments: list[str]) -> int:
    """Write all plain forms, or check them; answers the exit code."""
    stale: list[str] = []
    for source in sorted((HERE / "aio").rglob("*.py")):
        target = HERE / source.relative_to(HERE / "aio")
        text = _formatted(as_sync(source.read_text(encoding="utf-8")), target)
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        stale.append(str(target.relative_to(HERE)))
        if "--check" not in arguments:
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")
    if not stale:
        return 0
    if "--check" in arguments:
        sys.stderr.write(f"not as their asyncio form says: {', '.join(stale)}; run python recipes/write_sync.py\n")
        return 1
    sys.stdout.write(f"written: {', '.join(stale)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
