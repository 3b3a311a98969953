"""Cursors: where a reading stopped, as text that can be given away and comes back unread and unchanged."""

from __future__ import annotations

import binascii
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec

from dynamap.codec import Wire
from dynamap.errors import CursorError, RequestError

__all__ = ["CursorKeys", "cursor_keys"]

LEAST_KEY_BYTES = 32
# two keys of a table and eight of an index, all as long as they may be, with their names, fit well
MOST_CHARACTERS = 32_768
# A text is base64 of: the version of the format, a salt, and the sealed content with its tag of 16 bytes. The version
# is raised when anything here changes, and the older ones go on being opened.
_VERSION = b"\x01"
_SALT_BYTES = 16
_TAG_BYTES = 16
_NONCE_BYTES = 12
_INFO = b"dynamap cursor"


class CursorKeys:
    """The keys of a store's cursors: the first seals, every one opens; *max_age* is in seconds, None sets no limit.

    What is sealed is encrypted and authenticated with AES-256-GCM, under a key and a nonce that HKDF-SHA256 derives
    from the secret and a random salt for each cursor: no number of cursors wears a secret out.
    """

    def __init__(self, secrets: Sequence[bytes], max_age: float | None = None) -> None:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra, needed by pages only
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

        self._secrets = tuple(secrets)
        self._max_age = max_age
        self._aead = AESGCM
        self._derivation = HKDF
        self._hash = SHA256
        self._invalid = InvalidTag

    def __repr__(self) -> str:
        return f"CursorKeys(<{len(self._secrets)}>)"

    def seal(self, key: dict[str, Wire], binding: bytes, *, now: float) -> str:
        """The text for the key attributes of the last item that was answered; *now* is in epoch seconds.

        It opens with the same *binding* only, which stands for whatever the cursor belongs to.
        """
        salt = os.urandom(_SALT_BYTES)
        content = msgspec.msgpack.encode([int(now), key])
        cipher, nonce = self._cipher(self._secrets[0], salt)
        sealed = cipher.encrypt(nonce, content, _VERSION + binding)
        return _to_text(_VERSION + salt + sealed)

    def open(self, text: object, binding: bytes, *, now: float) -> dict[str, Wire]:
        """The key attributes in a text that `seal` made. Raises CursorError, which says nothing of what is inside."""
        raw = _from_text(text)
        head, salt, sealed = raw[:1], raw[1 : 1 + _SALT_BYTES], raw[1 + _SALT_BYTES :]
        if head != _VERSION:
            msg = "this is no cursor that this version of dynamap can read: start again with the first page"
            raise CursorError(msg)
        for secret in self._secrets:
            cipher, nonce = self._cipher(secret, salt)
            try:
                content = cipher.decrypt(nonce, sealed, _VERSION + binding)
            except self._invalid:
                continue
            issued, key = _content(content)
            if self._max_age is not None and now - issued > self._max_age:
                msg = f"the cursor is older than the {self._max_age:g} seconds of cursor_max_age: start again"
                raise CursorError(msg)
            return key
        msg = (
            "the cursor does not belong here: it was changed, sealed with another cursor_key=, or made by another "
            "query (table, index, keys, range, filter and direction must be the same): start again with the first page"
        )
        raise CursorError(msg)

    def _cipher(self, secret: bytes, salt: bytes) -> tuple[Any, bytes]:
        length = 32 + _NONCE_BYTES
        derived = self._derivation(self._hash(), length, salt, _INFO + _VERSION).derive(secret)
        return self._aead(derived[:32]), derived[32:]


def cursor_keys(secret: bytes | Sequence[bytes] | None, max_age: float | None) -> CursorKeys | None:
    """The keys from what the caller gave for `cursor_key=` and `cursor_max_age=`. Raises RequestError."""
    if secret is None:
        if max_age is not None:
            msg = "cursor_max_age= is about the cursors of pages, which need cursor_key=: give both"
            raise RequestError(msg)
        return None
    if max_age is not None and (type(max_age) not in (int, float) or not max_age > 0):
        msg = f"cursor_max_age= is a number of seconds above 0; got {max_age!r}"
        raise RequestError(msg)
    secrets = _secrets(secret)
    try:
        return CursorKeys(secrets, max_age)
    except ImportError as error:
        msg = 'cursor_key= needs the package cryptography: install it with `pip install "dynamap[cursors]"`'
        raise RequestError(msg) from error


def _secrets(secret: Any) -> list[bytes]:
    """The secrets that were given, alone or in a sequence. Raises RequestError, which shows none of them."""
    several: Any = secret
    if isinstance(secret, str) or not isinstance(secret, Sequence):
        _refuse_secret(f"got {type(secret).__name__}")
    secrets: list[Any] = [several] if isinstance(secret, bytes) else list(several)
    for each in secrets:
        if not isinstance(each, bytes):
            _refuse_secret(f"got a sequence with {type(each).__name__}")
        if len(each) < LEAST_KEY_BYTES:
            _refuse_secret(f"got one of {len(each)}")
    if not secrets:
        _refuse_secret("got none")
    return secrets


def _refuse_secret(got: str) -> NoReturn:
    msg = (
        f"cursor_key= is a secret of at least {LEAST_KEY_BYTES} bytes, or a sequence of them of which the first seals "
        f"new cursors; {got}: make one with secrets.token_bytes({LEAST_KEY_BYTES}) and keep it with your other secrets"
    )
    raise RequestError(msg)


def _to_text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _from_text(text: object) -> bytes:
    """The bytes of a text that `_to_text` made. Raises CursorError for every other one."""
    if not isinstance(text, str):
        msg = f"a cursor is the text in the .next of a page; got {type(text).__name__}"
        raise CursorError(msg)
    if not text:
        msg = "a cursor is the text in the .next of a page; got an empty one: leave it out for the first page"
        raise CursorError(msg)
    raw = b""
    if len(text) <= MOST_CHARACTERS and text.isascii():
        try:
            raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except binascii.Error:
            raw = b""
    # base64 has several texts for the same bytes: only the one that was given away counts
    if len(raw) < 1 + _SALT_BYTES + _TAG_BYTES or _to_text(raw) != text:
        msg = "this is no cursor: give the text in the .next of a page as it was, or none for the first page"
        raise CursorError(msg)
    return raw


def _content(packed: bytes) -> tuple[int, dict[str, Wire]]:
    """What was sealed: the second of its making, and the key attributes."""
    content: tuple[int, dict[str, Wire]] = msgspec.msgpack.decode(packed, type=tuple[int, dict[str, Any]])
    return content
