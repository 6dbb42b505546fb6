"""What the lane is asked, and what it must answer: the golden model is the simulator's cryptography."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from enum import IntEnum

from casemate._core import GcmLines

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
