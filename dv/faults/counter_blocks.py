# SPDX-License-Identifier: Apache-2.0 OR MIT
"""AES (FIPS-197) and GCM over a line of 64 bytes (NIST SP 800-38D), from the standards' text alone.

It is here to know what must not come out: the block of every counter, which no interface of GCM gives. It is checked
by use: the lane without a fault must answer as it does.
"""

from __future__ import annotations

from functools import lru_cache

WORDS = 4
BLOCK = 16
LINE = WORDS * BLOCK


def _times(a: int, b: int) -> int:
    """The product in the field of AES (FIPS-197, section 4.2)."""
    product = 0
    while b:
        product ^= a * (b & 1)
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


@lru_cache(maxsize=1)
def _s_box() -> bytes:
    """FIPS-197, section 5.1.1: the inverse, then an affine map."""
    box = bytearray(256)
    for value in range(256):
        inverse = next((x for x in range(256) if _times(value, x) == 1), 0)
        turns = [(inverse << turn | inverse >> (8 - turn)) & 0xFF for turn in range(5)]
        box[value] = turns[0] ^ turns[1] ^ turns[2] ^ turns[3] ^ turns[4] ^ 0x63
    return bytes(box)


def xor(*parts: bytes) -> bytes:
    """The sum of strings of the same length."""
    total = 0
    for part in parts:
        total ^= int.from_bytes(part, "big")
    return total.to_bytes(len(parts[0]), "big")


def _round_keys(key: bytes) -> list[bytes]:
    """FIPS-197, section 5.2."""
    box = _s_box()
    long = len(key) // 4
    words = [key[4 * i : 4 * i + 4] for i in range(long)]
    constant = 1
    for i in range(long, 4 * (long + 7)):
        last = words[-1]
        if i % long == 0:
            last = bytes(box[byte] for byte in last[1:] + last[:1])
            last = bytes([last[0] ^ constant]) + last[1:]
            constant = _times(constant, 2)
        elif long > 6 and i % long == 4:
            last = bytes(box[byte] for byte in last)
        words.append(xor(words[i - long], last))
    return [b"".join(words[i : i + 4]) for i in range(0, len(words), 4)]


def encrypt(key: bytes, block: bytes) -> bytes:
    """One block under AES-128 or AES-256."""
    box = _s_box()
    keys = _round_keys(key)
    state = xor(block, keys[0])
    for step, round_key in enumerate(keys[1:], start=1):
        state = bytes(box[state[(5 * i) % BLOCK]] for i in range(BLOCK))  # with the rows shifted
        if step < len(keys) - 1:
            columns = [state[i : i + 4] for i in range(0, BLOCK, 4)]
            state = bytes(
                _times(c[r], 2) ^ _times(c[(r + 1) % 4], 3) ^ c[(r + 2) % 4] ^ c[(r + 3) % 4]
                for c in columns
                for r in range(4)
            )
        state = xor(state, round_key)
    return state


def _product(a: int, b: int) -> int:
    """SP 800-38D, section 6.3; bit 127 is the coefficient of x^0."""
    product = 0
    for bit in range(127, -1, -1):
        if b >> bit & 1:
            product ^= a
        a = (a >> 1) ^ (0xE1 << 120 if a & 1 else 0)
    return product


class Gcm:
    """A key, and what AES-GCM makes of lines under it."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self._hash_key = int.from_bytes(encrypt(key, bytes(BLOCK)), "big")
        self._pads: dict[bytes, list[bytes]] = {}

    def keys(self) -> list[bytes]:
        """What must stay inside for good: the halves of the key, H, H^2 and the product of the length and H."""
        h = self._hash_key
        parts = [self.key[i : i + BLOCK] for i in range(0, len(self.key), BLOCK)]
        return parts + [value.to_bytes(BLOCK, "big") for value in (h, _product(h, h), _product(8 * LINE, h))]

    def pads(self, nonce: bytes) -> list[bytes]:
        """The blocks of counters 1 to 5: the mask of the tag, then a pad for each word."""
        if nonce not in self._pads:
            blocks = [nonce + counter.to_bytes(4, "big") for counter in range(1, WORDS + 2)]
            self._pads[nonce] = [encrypt(self.key, block) for block in blocks]
        return self._pads[nonce]

    def crypt(self, nonce: bytes, line: bytes) -> bytes:
        """The line with its pads added."""
        return xor(line, b"".join(self.pads(nonce)[1:]))

    def tag(self, nonce: bytes, ciphertext: bytes) -> bytes:
        """The tag of a ciphertext, without additional data."""
        total = 0
        blocks = [ciphertext[i : i + BLOCK] for i in range(0, LINE, BLOCK)] + [(8 * LINE).to_bytes(BLOCK, "big")]
        for block in blocks:
            total = _product(total ^ int.from_bytes(block, "big"), self._hash_key)
        return xor(self.pads(nonce)[0], total.to_bytes(BLOCK, "big"))
