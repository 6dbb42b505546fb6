"""AES-128/256-GCM as it is written down, for a few lines: what a core under simulation must come to.

Energy of a core that computes something else is worth nothing, so a core is believed only when it seals the lines as
this does. It is written from the standards (FIPS-197; NIST SP 800-38D) and shares nothing with the RTL; speed does not
matter.
"""

NONCE_BYTES = 12
BLOCK_BYTES = 16


def _xtime(value: int) -> int:
    return (value << 1) ^ (0x11B if value & 0x80 else 0)


def _times(a: int, b: int) -> int:
    """The product in the field of AES."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a, b = _xtime(a), b >> 1
    return product


def _s_box() -> list[int]:
    """FIPS-197, section 5.1.1: the inverse, then the affine map."""
    box = list[int]()
    for value in range(256):
        inverse = next((other for other in range(256) if _times(value, other) == 1), 0)
        rotated = (inverse << turn | inverse >> 8 - turn for turn in range(5))
        box.append(0x63)
        for bits in rotated:
            box[-1] ^= bits & 0xFF
    return box


S_BOX = _s_box()


def _round_keys(key: bytes) -> list[bytes]:
    """FIPS-197, section 5.2."""
    words = [key[start : start + 4] for start in range(0, len(key), 4)]
    length, constant = len(words), 1
    for number in range(length, 4 * (length + 7)):
        word = words[-1]
        if number % length == 0:
            word = bytes(S_BOX[byte] for byte in word[1:] + word[:1])
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = _xtime(constant)
        elif length > 6 and number % length == 4:
            word = bytes(S_BOX[byte] for byte in word)
        words.append(bytes(a ^ b for a, b in zip(words[-length], word, strict=True)))
    return [b"".join(words[start : start + 4]) for start in range(0, len(words), 4)]


def _mixed(column: bytes) -> list[int]:
    return [
        _xtime(column[row])
        ^ _xtime(column[(row + 1) % 4])
        ^ column[(row + 1) % 4]
        ^ column[(row + 2) % 4]
        ^ column[(row + 3) % 4]
        for row in range(4)
    ]


def encrypt_block(key: bytes, block: bytes) -> bytes:
    """AES of a block (FIPS-197, section 5.1)."""
    keys = _round_keys(key)
    state = bytes(a ^ b for a, b in zip(block, keys[0], strict=True))
    for number, key_of_round in enumerate(keys[1:], 1):
        shifted = bytes(S_BOX[state[4 * ((column + row) % 4) + row]] for column in range(4) for row in range(4))
        if number < len(keys) - 1:
            shifted = bytes(byte for start in range(0, 16, 4) for byte in _mixed(shifted[start : start + 4]))
        state = bytes(a ^ b for a, b in zip(shifted, key_of_round, strict=True))
    return state


def product(a: int, b: int) -> int:
    """The product of two blocks in the field of GHASH (NIST SP 800-38D, algorithm 1)."""
    result = 0
    for position in range(127, -1, -1):
        result ^= a if b >> position & 1 else 0
        a = a >> 1 ^ (0xE1 << 120 if a & 1 else 0)
    return result


def _hashed(hash_key: int, blocks: list[bytes]) -> int:
    """GHASH (NIST SP 800-38D, section 6.4)."""
    result = 0
    for block in blocks:
        result = product(hash_key, result ^ int.from_bytes(block, "big"))
    return result


def seal(key: bytes, nonce: bytes, text: bytes) -> tuple[bytes, bytes]:
    """Ciphertext and tag (16 bytes) of a text of whole blocks under a nonce of 12 bytes, without additional data (NIST
    SP 800-38D, algorithm 4).
    """
    assert len(nonce) == NONCE_BYTES
    assert len(text) % BLOCK_BYTES == 0
    blocks = [text[start : start + BLOCK_BYTES] for start in range(0, len(text), BLOCK_BYTES)]
    sealed = list[bytes]()
    for number, block in enumerate(blocks, 2):
        pad = encrypt_block(key, nonce + number.to_bytes(4, "big"))
        sealed.append(bytes(a ^ b for a, b in zip(block, pad, strict=True)))
    hash_key = int.from_bytes(encrypt_block(key, bytes(BLOCK_BYTES)), "big")
    lengths = (8 * len(text)).to_bytes(BLOCK_BYTES, "big")
    mask = int.from_bytes(encrypt_block(key, nonce + (1).to_bytes(4, "big")), "big")
    return b"".join(sealed), (_hashed(hash_key, [*sealed, lengths]) ^ mask).to_bytes(BLOCK_BYTES, "big")
