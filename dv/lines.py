"""Requests to the lane, and the expected responses from the golden model, the simulator's cryptography."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import IntEnum

from casemate._core import GcmLines, ghash_product

LINE_BYTES, TAG_BYTES, NONCE_BYTES = 64, 16, 12


class Op(IntEnum):
    """Operation of a request, encoded as gcm_pkg::op_e."""

    SEAL = 1
    OPEN = 2


@dataclass(frozen=True)
class Request:
    """A line for the lane; the tag counts only for a line to be opened."""

    op: Op
    nonce: bytes
    line: bytes
    tag: bytes = bytes(TAG_BYTES)


@dataclass(frozen=True)
class Response:
    """A response of the lane; line and tag are zero where the interface requires it."""

    ok: bool
    line: bytes
    tag: bytes


REFUSED = Response(ok=False, line=bytes(LINE_BYTES), tag=bytes(TAG_BYTES))


def expected(golden: GcmLines, request: Request) -> Response:
    """Returns the response that the lane must give under the key of `golden`."""
    if request.op is Op.SEAL:
        return Response(True, *golden.seal(request.nonce, request.line))
    plaintext = golden.open(request.nonce, request.line, request.tag)
    return REFUSED if plaintext is None else Response(True, plaintext, bytes(TAG_BYTES))


def flipped(data: bytes, bit: int) -> bytes:
    """Returns the data with one bit flipped; bit 0 is the highest bit of byte 0."""
    changed = bytearray(data)
    changed[bit // 8] ^= 0x80 >> bit % 8
    return bytes(changed)


def single_flips(request: Request) -> list[Request]:
    """Returns the request with each bit of line, tag and nonce flipped, one at a time."""
    return [
        *(replace(request, line=flipped(request.line, bit)) for bit in range(8 * LINE_BYTES)),
        *(replace(request, tag=flipped(request.tag, bit)) for bit in range(8 * TAG_BYTES)),
        *(replace(request, nonce=flipped(request.nonce, bit)) for bit in range(8 * NONCE_BYTES)),
    ]


class Source:
    """Draws requests. Nonces never repeat: the lower half of the counter counts lines, and all else is random."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0

    def nonce(self) -> bytes:
        """Returns line number and counter in the order of memory (crates/crypto/src/cipher/gcm.rs)."""
        self.count += 1
        return self.rng.randbytes(5) + self.count.to_bytes(4, "little") + self.rng.randbytes(3)

    def draw(self, golden: GcmLines) -> Request:
        """Draws a line to be sealed, a line that `golden` sealed, or a sealed line with a flipped bit: a third each."""
        nonce, text = self.nonce(), self.rng.randbytes(LINE_BYTES)
        kind = self.rng.randrange(3)
        if kind == 0:
            # The lane ignores the tag of a line to be sealed.
            return Request(Op.SEAL, nonce, text, self.rng.randbytes(TAG_BYTES))
        sealed = Request(Op.OPEN, nonce, *golden.seal(nonce, text))
        if kind == 1:
            return sealed
        bit = self.rng.randrange(8 * (LINE_BYTES + TAG_BYTES))
        if bit < 8 * LINE_BYTES:
            return replace(sealed, line=flipped(sealed.line, bit))
        return replace(sealed, tag=flipped(sealed.tag, bit - 8 * LINE_BYTES))

    def extremes(self, golden: GcmLines) -> list[Request]:
        """Returns lines with words that random lines lack: all zeros and all ones, in the text, the ciphertext and the
        factors of GHASH. Each kind is sealed, opened, and refused with a flipped bit in its tag and with a zero tag.
        """
        requests = []
        for block in (bytes(TAG_BYTES), b"\xff" * TAG_BYTES):
            for draw in (_text, _ciphertext, self._word, self._factors):
                nonce = self.nonce()
                requests.append(Request(Op.SEAL, nonce, draw(golden, nonce, block)))
                nonce = self.nonce()
                sealed = Request(Op.OPEN, nonce, *golden.seal(nonce, draw(golden, nonce, block)))
                wrong = flipped(sealed.tag, self.rng.randrange(8 * TAG_BYTES))
                requests += [sealed, replace(sealed, tag=wrong), replace(sealed, tag=bytes(TAG_BYTES))]
        return requests

    def _word(self, _golden: GcmLines, _nonce: bytes, block: bytes) -> bytes:
        """Returns a random text with `block` in place of one word."""
        before = TAG_BYTES * self.rng.randrange(4)
        return self.rng.randbytes(before) + block + self.rng.randbytes(LINE_BYTES - TAG_BYTES - before)

    def _factors(self, golden: GcmLines, nonce: bytes, block: bytes) -> bytes:
        """Returns a text for which the factors of GHASH are a random word and then three times the block."""
        hash_key = golden.encrypt_block(bytes(TAG_BYTES))
        factor = ciphertext = self.rng.randbytes(TAG_BYTES)
        while len(ciphertext) < LINE_BYTES:
            ciphertext += _sum(ghash_product(factor, hash_key), block)
            factor = block
        return _sum(_pads(golden, nonce), ciphertext)


def _text(_golden: GcmLines, _nonce: bytes, block: bytes) -> bytes:
    """Returns a text of four times the block."""
    return 4 * block


def _ciphertext(golden: GcmLines, nonce: bytes, block: bytes) -> bytes:
    """Returns a text with four times the block as ciphertext. A zero block gives the pads; all products are then 0."""
    return _sum(_pads(golden, nonce), 4 * block)


def _pads(golden: GcmLines, nonce: bytes) -> bytes:
    """Returns the pads of a line, 64 bytes."""
    return golden.seal(nonce, bytes(LINE_BYTES))[0]


def _sum(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
