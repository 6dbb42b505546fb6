# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Histories of a lane: the requests before, with and after a line to be opened, which a flipped bit may spoil.

A flipped bit that misaligns a slot, a pointer or a hash does not affect the present line, but a later line. An attacker
who chooses lines chooses the later line too. Therefore the lines of most histories belong together. For example, a line
contains the authentic ciphertext of another line under a wrong nonce, or the tag of the line before.
`docs/systems/gcm-engine-faults.md` explains the purpose of each history.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from counter_blocks import BLOCK, LINE, Gcm, xor

# Ids of requests: any two differ in at least two bits, so a flipped bit does not turn one into another.
IDS = (0, 3, 5, 6, 9, 10, 12, 15)
# Idle cycles after which every tested lane has responded to the line before.
IDLE = 120
REFUSED = "- -"


@dataclass(frozen=True)
class Sealed:
    """A line as its owner wrote it, and as memory stores it."""

    nonce: bytes
    text: bytes
    ciphertext: bytes
    tag: bytes


@dataclass
class History:
    """A history under construction; `written` returns its text, one statement a line (`history.h`)."""

    name: str
    gcm: Gcm
    draw: random.Random
    requests: list[str] = field(default_factory=list)
    known: list[bytes] = field(default_factory=lambda: [bytes(BLOCK)])
    secrets: list[bytes] = field(default_factory=list)
    stall: int = 0
    window: tuple[int, int, int] = (0, 0, 8)
    requested: int = 0

    def __post_init__(self) -> None:
        self.first_key = self.gcm.key
        self.secrets += self.gcm.keys()

    def sealed(self, ciphertext: bytes | None = None, nonce: bytes | None = None) -> Sealed:
        """Returns a line that the owner wrote: a random one, or one with this ciphertext or this nonce."""
        nonce = nonce or self.draw.randbytes(12)
        made = self.gcm.crypt(nonce, self.draw.randbytes(LINE)) if ciphertext is None else ciphertext
        return Sealed(nonce, self.gcm.crypt(nonce, made), made, self.gcm.tag(nonce, made))

    def _ask(self, kind: str, nonce: bytes, line: bytes, tag: bytes, response: str, gap: int) -> int:
        self.requests.append(
            f"request {kind} {IDS[self.requested]} {gap} {nonce.hex()} {line.hex()} {tag.hex()} {response}"
        )
        self._knows(line)
        self._knows(tag)
        self.requested += 1
        return self.requested - 1

    def _hides_mask(self, nonce: bytes) -> None:
        """Adds the mask of a tag to the secrets: with the mask and the ciphertext, each tag gives an equation for H."""
        self.secrets.append(self.gcm.pads(nonce)[0])

    def _knows(self, data: bytes) -> None:
        self.known += [data[i : i + BLOCK] for i in range(0, len(data), BLOCK)]

    def seal(self, text: bytes | None = None, gap: int = 0, nonce: bytes | None = None) -> int:
        """Adds a line to be sealed, and returns the index of the request. The default line is zero, so that its
        ciphertext shows the pads, also if a fault selects the pads of another line.
        """
        nonce, line = nonce or self.draw.randbytes(12), bytes(LINE) if text is None else text
        ciphertext = self.gcm.crypt(nonce, line)
        tag = self.gcm.tag(nonce, ciphertext)
        self._knows(ciphertext)
        self._hides_mask(nonce)
        return self._ask("seal", nonce, line, bytes(BLOCK), f"{ciphertext.hex()} {tag.hex()}", gap)

    def open(self, line: Sealed | None = None, gap: int = 0) -> int:
        """Adds an authentic line to be opened, and returns the index of the request."""
        line = line or self.sealed()
        self._knows(line.text)
        self._hides_mask(line.nonce)
        return self._ask("open", line.nonce, line.ciphertext, line.tag, f"{line.text.hex()} {bytes(BLOCK).hex()}", gap)

    def refuse(self, line: Sealed, ciphertext: bytes, tag: bytes | None = None, gap: int = 0) -> int:
        """Adds a line that is not authentic, and returns the index of the request. The secrets are its decrypted text,
        its pads, the true text, and the tag with which the line would be authentic.
        """
        self.secrets += [*self.gcm.pads(line.nonce), self.gcm.tag(line.nonce, ciphertext)]
        for text in (line.text, self.gcm.crypt(line.nonce, ciphertext)):
            self.secrets += [text[i : i + BLOCK] for i in range(0, LINE, BLOCK)]
        return self._ask("refuse", line.nonce, ciphertext, line.tag if tag is None else tag, REFUSED, gap)

    def refuse_known(self, line: Sealed, ciphertext: bytes, tag: bytes | None = None, gap: int = 0) -> int:
        """Like `refuse`, for a history that also opens the authentic line: its pads and its original tag are public."""
        self._hides_mask(line.nonce)
        if ciphertext != line.ciphertext:
            self.secrets.append(self.gcm.tag(line.nonce, ciphertext))
        return self._ask("refuse", line.nonce, ciphertext, line.tag if tag is None else tag, REFUSED, gap)

    def again(self, of: int, delta: bytes, text: bytes, nonce: bytes, gap: int = 0) -> int:
        """Opens the response to the seal request `of` with `delta` added; `text` is the plaintext of that request."""
        changed = xor(text, delta)
        self.secrets.append(self.gcm.tag(nonce, self.gcm.crypt(nonce, changed)))
        self.secrets += [changed[i : i + BLOCK] for i in range(0, LINE, BLOCK) if any(delta[i : i + BLOCK])]
        return self._ask(f"again {of}", nonce, delta, bytes(BLOCK), REFUSED, gap)

    def abort(self, gap: int) -> None:
        """Discards the lines inside. At least one abort of a history must find two or more lines."""
        self.requests.append(f"request abort 0 {gap}")
        self.requested += 1

    def rekey(self) -> None:
        """Loads another key after the responses to all lines."""
        self.gcm = Gcm(self.draw.randbytes(len(self.gcm.key)))
        self.secrets += self.gcm.keys()
        self.requests.append(f"request key 0 0 {self.gcm.key.hex()}")
        self.requested += 1

    def garbled(self, line: Sealed) -> bytes:
        """Returns the ciphertext with about half of the bits of each word flipped."""
        return xor(line.ciphertext, self.draw.randbytes(LINE))

    def written(self, slack: int) -> str:
        """Returns the statements for the injector; `slack` is in cycles."""
        head = [f"key {self.first_key.hex()}", f"stall {self.stall}", f"slack {slack}"]
        head.append("window {} {} {}".format(*self.window))
        blocks = [f"known {block.hex()}" for block in dict.fromkeys(self.known)]
        secrets = [f"secret {block.hex()}" for block in dict.fromkeys(self.secrets)]
        return "\n".join([*head, *blocks, *secrets, *self.requests, ""])


def _alone(h: History) -> None:
    line = h.sealed()
    target = h.refuse(line, h.garbled(line))
    h.seal(gap=IDLE)
    h.open(gap=IDLE)
    h.window = (target, target, 20)


def _busy(h: History) -> None:
    h.seal()
    h.open()
    line = h.sealed()
    target = h.refuse(line, h.garbled(line))
    h.seal()
    h.open()
    h.seal()
    h.window = (target, target, 8)


def _busy_turned(h: History) -> None:
    h.open()
    h.seal()
    line = h.sealed()
    target = h.refuse(line, h.garbled(line))
    h.open()
    h.seal()
    h.window = (target, target, 8)


def _stalled(h: History) -> None:
    _busy(h)
    h.stall = 22


def _hash_before(h: History) -> None:
    line, other = h.sealed(), h.sealed()
    swapped = Sealed(other.nonce, h.gcm.crypt(other.nonce, line.ciphertext), line.ciphertext, line.tag)
    h.open()
    first = h.refuse(swapped, line.ciphertext)
    target = h.refuse(line, h.garbled(line))
    h.seal()
    h.open()
    h.window = (first, target, 8)


def _hash_after(h: History) -> None:
    line, other = h.sealed(), h.sealed()
    swapped = Sealed(other.nonce, h.gcm.crypt(other.nonce, line.ciphertext), line.ciphertext, line.tag)
    h.seal()
    target = h.refuse(line, h.garbled(line))
    last = h.refuse(swapped, line.ciphertext)
    h.refuse(line, h.garbled(line))
    h.seal()
    h.window = (target, last, 8)


def _between_authentic(h: History) -> None:
    line = h.sealed()
    first = h.open(line)
    target = h.refuse_known(line, h.garbled(line))
    h.open(line)
    h.refuse_known(line, line.ciphertext, h.draw.randbytes(BLOCK))
    h.window = (first, target, 8)


def _neighbours(h: History) -> None:
    # Nonces one flip apart, like those of neighbouring counters: another line could show the pads of the forged one.
    line = h.sealed()
    first = h.refuse(line, h.garbled(line))
    h.open(h.sealed(nonce=xor(line.nonce, bytes(11) + b"\x01")))
    last = h.seal(nonce=xor(line.nonce, b"\x80" + bytes(11)))
    h.window = (first, last, 8)


def _zero_ciphertext(h: History) -> None:
    line = h.sealed(bytes(LINE))
    h.open()
    target = h.refuse(line, h.garbled(line))
    h.seal()
    h.open()
    h.window = (target, target, 8)


def _one_digit(h: History) -> None:
    # The first word is zero. One forged line has ones in its first 16 bits, which a product takes last, and the other
    # in its last 16 bits, which a product takes first.
    line = h.sealed(bytes(BLOCK) + h.draw.randbytes(LINE - BLOCK))
    first = h.refuse(line, b"\xff\xff" + line.ciphertext[2:])
    target = h.refuse(line, xor(line.ciphertext, bytes(14) + b"\xff\xff" + bytes(LINE - BLOCK)))
    h.seal()
    h.window = (first, target, 8)


def _wrong_tag(h: History) -> None:
    line = h.sealed()
    h.seal()
    target = h.refuse(line, line.ciphertext, bytes(BLOCK))
    h.refuse(line, line.ciphertext, h.draw.randbytes(BLOCK))
    h.open()
    h.window = (target, target, 8)


def _own(h: History) -> None:
    nonce, text = h.draw.randbytes(12), h.draw.randbytes(LINE)
    sealed = h.seal(text, nonce=nonce)
    h.again(sealed, h.draw.randbytes(LINE), text, nonce)
    h.seal()
    h.window = (-1, sealed, 4)


def _aborted(h: History) -> None:
    # The first abort follows four lines without gaps, which fill any lane. The second strikes a line that is half done.
    lines = [h.sealed() for _ in range(5)]
    full = [h.refuse(line, h.garbled(line)) for line in lines[:4]]
    h.abort(gap=0)
    h.refuse(lines[4], h.garbled(lines[4]))
    h.abort(gap=12)
    follow = h.seal()
    h.window = (full[2], follow, 8)


def _authentic(h: History) -> None:
    h.seal()
    target = h.open(gap=0)
    h.open()
    h.seal()
    h.window = (target, target, 2)


def _sealing(h: History) -> None:
    h.open()
    target = h.seal(h.draw.randbytes(LINE))
    h.open()
    h.seal()
    h.window = (target, target, 2)


def _rekeyed(h: History) -> None:
    h.seal()
    h.open()
    h.seal()
    old = h.sealed()
    h.rekey()
    follow = h.seal()
    # A line that is authentic only under the previous key.
    h.refuse(old, old.ciphertext)
    line = h.sealed()
    h.refuse(line, h.garbled(line))
    h.window = (follow - 1, follow, 8)


def _one_bit(h: History) -> None:
    line = h.sealed()
    h.open()
    target = h.refuse_known(line, xor(line.ciphertext, bytes(20) + b"\x10" + bytes(LINE - 21)))
    h.open()
    h.window = (target, target, 2)


# Histories with a line that the lane must refuse. No flip may release any part of it.
HISTORIES: dict[str, Callable[[History], None]] = {
    "alone": _alone,
    "busy": _busy,
    "busy-turned": _busy_turned,
    "stalled": _stalled,
    "hash-before": _hash_before,
    "hash-after": _hash_after,
    "between-authentic": _between_authentic,
    "neighbours": _neighbours,
    "zero-ciphertext": _zero_ciphertext,
    "one-digit": _one_digit,
    "wrong-tag": _wrong_tag,
    "own": _own,
    "aborted": _aborted,
    "rekeyed": _rekeyed,
}

# Histories in which a flip may do harm that GCM cannot detect. The tables count them without a claim.
UNSEEN: dict[str, Callable[[History], None]] = {
    "one-bit": _one_bit,
    "authentic": _authentic,
    "sealing": _sealing,
}


def history(name: str, key_bits: int, seed: int) -> History:
    """Returns a history by its name; its keys, nonces and texts depend on the name, the key size and the seed."""
    draw = random.Random(f"{name} {key_bits} {seed}")
    made = History(name, Gcm(draw.randbytes(key_bits // 8)), draw)
    (HISTORIES | UNSEEN)[name](made)
    return made
