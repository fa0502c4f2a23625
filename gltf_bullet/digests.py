"""Hashes of contents, by which equal ones are recognised."""

from __future__ import annotations


def digest_of(*parts: bytes | memoryview) -> bytes:
    """Return a hash [16 bytes] of some contents, one after the other."""
    import hashlib  # it loads OpenSSL, of which a first load of boxes needs nothing

    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.digest()
