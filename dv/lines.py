"""What the lane is asked, and what it must answer: the golden model is the simulator's cryptography."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import IntEnum

from casemate._core import GcmLines, ghash_product

LINE_BYTES, TAG_BYTES, NONCE_BYTES = 64, 16, 12


class Op(IntEnum):
    """gcm_pkg::op_e."""

    SEAL = 1
    OPEN = 2


@dataclass(frozen=True)
class Request:
    """A line for the lane; the tag is of a line that is opened."""

    op: Op
    nonce: bytes
    line: bytes
    tag: bytes = bytes(TAG_BYTES)


@dataclass(frozen=True)
class Response:
    """What came back; zeros where the interface says zeros."""

    ok: bool
    line: bytes
    tag: bytes


REFUSED = Response(ok=False, line=bytes(LINE_BYTES), tag=bytes(TAG_BYTES))


def expected(golden: GcmLines, request: Request) -> Response:
    """What the lane must answer under the key of `golden`."""
    if request.op is Op.SEAL:
        return Response(True, *golden.seal(request.nonce, request.line))
    plaintext = golden.open(request.nonce, request.line, request.tag)
    return REFUSED if plaintext is None else Response(True, plaintext, bytes(TAG_BYTES))


def flipped(data: bytes, bit: int) -> bytes:
    """The same but for one bit; bit 0 is the highest of byte 0."""
    changed = bytearray(data)
    changed[bit // 8] ^= 0x80 >> bit % 8
    return bytes(changed)


def single_flips(request: Request) -> list[Request]:
    """The request with each bit of line, tag and nonce flipped, one at a time."""
    return [
        *(replace(request, line=flipped(request.line, bit)) for bit in range(8 * LINE_BYTES)),
        *(replace(request, tag=flipped(request.tag, bit)) for bit in range(8 * TAG_BYTES)),
        *(replace(request, nonce=flipped(request.nonce, bit)) for bit in range(8 * NONCE_BYTES)),
    ]


class Source:
    """Draws requests. No nonce comes twice: the lower half of its counter counts lines, and all else is random."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0

    def nonce(self) -> bytes:
        """Line number and counter as memory has them (crates/crypto/src/cipher/gcm.rs)."""
        self.count += 1
        return self.rng.randbytes(5) + self.count.to_bytes(4, "little") + self.rng.randbytes(3)

    def draw(self, golden: GcmLines) -> Request:
        """A line to be sealed, one that `golden` sealed, or such a one with a bit flipped: a third each."""
        nonce, text = self.nonce(), self.rng.randbytes(LINE_BYTES)
        kind = self.rng.randrange(3)
        if kind == 0:
            # What a line that is sealed brings as its tag means nothing.
            return Request(Op.SEAL, nonce, text, self.rng.randbytes(TAG_BYTES))
        sealed = Request(Op.OPEN, nonce, *golden.seal(nonce, text))
        if kind == 1:
            return sealed
        bit = self.rng.randrange(8 * (LINE_BYTES + TAG_BYTES))
        if bit < 8 * LINE_BYTES:
            return replace(sealed, line=flipped(sealed.line, bit))
        return replace(sealed, tag=flipped(sealed.tag, bit - 8 * LINE_BYTES))

    def extremes(self, golden: GcmLines) -> list[Request]:
        """Lines with what random ones do not have: words of zeros and of ones in text, in ciphertext, and in what GHASH
        multiplies. Each is sealed, opened, and refused with a bit of its tag flipped and with a tag of zeros.
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
        """A random text but for one word."""
        before = TAG_BYTES * self.rng.randrange(4)
        return self.rng.randbytes(before) + block + self.rng.randbytes(LINE_BYTES - TAG_BYTES - before)

    def _factors(self, golden: GcmLines, nonce: bytes, block: bytes) -> bytes:
        """A text for which GHASH multiplies a random word and then, whatever the products, the block three times."""
        hash_key = golden.encrypt_block(bytes(TAG_BYTES))
        factor = ciphertext = self.rng.randbytes(TAG_BYTES)
        while len(ciphertext) < LINE_BYTES:
            ciphertext += _sum(ghash_product(factor, hash_key), block)
            factor = block
        return _sum(_pads(golden, nonce), ciphertext)


def _text(_golden: GcmLines, _nonce: bytes, block: bytes) -> bytes:
    """The block four times."""
    return 4 * block


def _ciphertext(golden: GcmLines, nonce: bytes, block: bytes) -> bytes:
    """A text whose ciphertext is the block four times: of zeros, it is the pads, and all products are with zero."""
    return _sum(_pads(golden, nonce), 4 * block)


def _pads(golden: GcmLines, nonce: bytes) -> bytes:
    """What a line is added to."""
    return golden.seal(nonce, bytes(LINE_BYTES))[0]


def _sum(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
