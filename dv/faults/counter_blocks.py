# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Computes AES-GCM over a line in parts: the block of each counter and all keys, which a lane must not release.

The cryptography is that of the simulator (`casemate._core`), as everywhere in `dv/`. A lane without a fault must give
the same results.
"""

from __future__ import annotations

from casemate._core import GcmLines, ghash_product

WORDS = 4
BLOCK = 16
LINE = WORDS * BLOCK
# Last input block of GHASH: no additional data, and the bits of a line.
LENGTHS = (8 * LINE).to_bytes(BLOCK, "big")


def xor(*parts: bytes) -> bytes:
    """Returns the exclusive-or of strings of the same length."""
    total = 0
    for part in parts:
        total ^= int.from_bytes(part, "big")
    return total.to_bytes(len(parts[0]), "big")


class Gcm:
    """AES-GCM over lines under one key."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self._lines = GcmLines(key)
        self._hash_key = self._lines.encrypt_block(bytes(BLOCK))
        self._pads: dict[bytes, list[bytes]] = {}

    def keys(self) -> list[bytes]:
        """Returns the values that must never leave: the key in blocks, H, H^2 and the product of the length and H."""
        h = self._hash_key
        parts = [self.key[i : i + BLOCK] for i in range(0, len(self.key), BLOCK)]
        return [*parts, h, ghash_product(h, h), ghash_product(LENGTHS, h)]

    def pads(self, nonce: bytes) -> list[bytes]:
        """Returns the blocks of counters 1 to 5: the mask of the tag, then a pad for each word."""
        if nonce not in self._pads:
            blocks = [nonce + counter.to_bytes(4, "big") for counter in range(1, WORDS + 2)]
            self._pads[nonce] = [self._lines.encrypt_block(block) for block in blocks]
        return self._pads[nonce]

    def crypt(self, nonce: bytes, line: bytes) -> bytes:
        """Returns the line with its pads added."""
        return xor(line, b"".join(self.pads(nonce)[1:]))

    def tag(self, nonce: bytes, ciphertext: bytes) -> bytes:
        """Returns the tag of a ciphertext, without additional data."""
        total = bytes(BLOCK)
        for block in (*(ciphertext[i : i + BLOCK] for i in range(0, LINE, BLOCK)), LENGTHS):
            total = ghash_product(xor(total, block), self._hash_key)
        return xor(self.pads(nonce)[0], total)
