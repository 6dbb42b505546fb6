"""Published values for the hardware's blocks and lanes.

The benches use the four published cases of AES-GCM that have the form of a line. The form is 64 bytes of text, a nonce
of 96 bits, no additional data, a tag of 128 bits, and a key of 128 or 256 bits. NIST's CAVP files contain no case of
this form (their texts have 0, 13, 16, 32 or 51 bytes). In Wycheproof, no case of this form has a wrong tag. Therefore
the tests derive wrong cases: they flip each bit of the published cases.
"""

from __future__ import annotations

from dataclasses import dataclass


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text)


@dataclass(frozen=True)
class Sealed:
    """A line sealed by AES-GCM, with the source of the values."""

    source: str
    key: bytes
    nonce: bytes
    plaintext: bytes
    ciphertext: bytes
    tag: bytes


@dataclass(frozen=True)
class Hashed:
    """Intermediate values of GHASH over a line: X1 to X4, and the hash."""

    source: str
    hash_key: bytes
    # Blocks of ciphertext, then the block of lengths.
    blocks: tuple[bytes, ...]
    values: tuple[bytes, ...]


@dataclass(frozen=True)
class Encrypted:
    """A block encrypted by AES, without GCM."""

    source: str
    key: bytes
    plaintext: bytes
    ciphertext: bytes


_SPEC_TEXT = _bytes(
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
)
_SPEC_KEY = _bytes("feffe9928665731c6d6a8f9467308308")
_SPEC_NONCE = _bytes("cafebabefacedbaddecaf888")
_SPEC = "McGrew and Viega, The Galois/Counter Mode of Operation (GCM), appendix B"
# C2SP/wycheproof, testvectors_v1/aes_gcm_test.json, 316 cases; Copyright The Wycheproof Authors, Apache-2.0.
_WYCHEPROOF = "Wycheproof, aes_gcm_test.json"

LINES = (
    Sealed(
        f"{_SPEC}, test case 3",
        _SPEC_KEY,
        _SPEC_NONCE,
        _SPEC_TEXT,
        _bytes(
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
            "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985"
        ),
        _bytes("4d5c2af327cd64a62cf35abd2ba6fab4"),
    ),
    Sealed(
        f"{_SPEC}, test case 15",
        _SPEC_KEY * 2,
        _SPEC_NONCE,
        _SPEC_TEXT,
        _bytes(
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
            "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad"
        ),
        _bytes("b094dac5d93471bdec1a502270e3cc6c"),
    ),
    Sealed(
        f"{_WYCHEPROOF}, case 16",
        _bytes("e12260fcd355a51a0d01bb1f6fa538c2"),
        _bytes("5dfc37366f5688275147d3f9"),
        _bytes(
            "d902deeab175c008329a33bfaccd5c0eb3a6a152a1510e7db04fa0aff7ce4288"
            "530db6a80fa7fea582aa7d46d7d56e708d2bb0c5edd3d26648d336c3620ea55e"
        ),
        _bytes(
            "d33bf6722fc29384fad75f990248b9528e0959aa67ec66869dc3996c67a2d559"
            "e7d77ce5955f8cad2a4df5fdc3acccafa7bc0def53d848111256903e5add0420"
        ),
        _bytes("8bc833de510863b4b432c3cbf45aa7cc"),
    ),
    Sealed(
        f"{_WYCHEPROOF}, case 105",
        _bytes("5b1d1035c0b17ee0b0444767f80a25b8c1b741f4b50a4d3052226baa1c6fb701"),
        _bytes("d61040a313ed492823cc065b"),
        _bytes(
            "d096803181beef9e008ff85d5ddc38ddacf0f09ee5f7e07f1e4079cb64d0dc8f"
            "5e6711cd4921a7887de76e2678fdc67618f1185586bfea9d4c685d50e4bb9a82"
        ),
        _bytes(
            "c7d191b601f86c28b6a1bdef6a57b4f6ee3ae417bc125c381cdf1c4dac184ed1"
            "d84f1196206d62cad112b038845720e02c061179a8836f02b93fa7008379a6bf"
        ),
        _bytes("f15612f6c40f2e0db6dc76fc4822fcfe"),
    ),
)
HASHES = (
    Hashed(
        f"{_SPEC}, test case 3",
        _bytes("b83b533708bf535d0aa6e52980d53b78"),
        (*(LINES[0].ciphertext[at : at + 16] for at in range(0, 64, 16)), (512).to_bytes(16, "big")),
        (
            _bytes("59ed3f2bb1a0aaa07c9f56c6a504647b"),
            _bytes("b714c9048389afd9f9bc5c1d4378e052"),
            _bytes("47400c6577b1ee8d8f40b2721e86ff10"),
            _bytes("4796cf49464704b5dd91f159bb1b7f95"),
            _bytes("7f1b32b81b820d02614f8895ac1d4eac"),
        ),
    ),
    Hashed(
        f"{_SPEC}, test case 15",
        _bytes("acbef20579b4b8ebce889bac8732dad7"),
        (*(LINES[1].ciphertext[at : at + 16] for at in range(0, 64, 16)), (512).to_bytes(16, "big")),
        (
            _bytes("fcbefb78635d598eddaf982310670f35"),
            _bytes("29de812309d3116a6eff7ec844484f3e"),
            _bytes("45fad9deeda9ea561b8f199c3613845b"),
            _bytes("ed95f8e164bf3213febc740f0bd9c6af"),
            _bytes("4db870d37cb75fcb46097c36230d1612"),
        ),
    ),
)

_EXAMPLE_TEXTS = (
    "6bc1bee22e409f96e93d7e117393172a",
    "ae2d8a571e03ac9c9eb76fac45af8e51",
    "30c81c46a35ce411e5fbc1191a0a52ef",
    "f69f2445df4f9b17ad2b417be66c3710",
)
_SP38A_128 = (
    "3ad77bb40d7a3660a89ecaf32466ef97",
    "f5d3d58503b9699de785895a96fdbaaf",
    "43b1cd7f598ece23881b00e3ed030688",
    "7b0c785e27e8ad3f8223207104725dd4",
)
_SP38A_256 = (
    "f3eed1bdb5d2a03c064b5a7e3db181f8",
    "591ccb10d410ed26dc5ba74a31362870",
    "b6ed21b99ca6f4f9f153e7b1beafed1d",
    "23304b7a39f9f3ff067d8d8f9e24ecc7",
)

BLOCKS = (
    Encrypted(
        "FIPS-197, appendix B",
        _bytes("2b7e151628aed2a6abf7158809cf4f3c"),
        _bytes("3243f6a8885a308d313198a2e0370734"),
        _bytes("3925841d02dc09fbdc118597196a0b32"),
    ),
    Encrypted(
        "FIPS-197, appendix C.1",
        bytes(range(16)),
        _bytes("00112233445566778899aabbccddeeff"),
        _bytes("69c4e0d86a7b0430d8cdb78070b4c55a"),
    ),
    Encrypted(
        "FIPS-197, appendix C.3",
        bytes(range(32)),
        _bytes("00112233445566778899aabbccddeeff"),
        _bytes("8ea2b7ca516745bfeafc49904b496089"),
    ),
    *(
        Encrypted(
            "SP 800-38A, F.1.1", _bytes("2b7e151628aed2a6abf7158809cf4f3c"), _bytes(plaintext), _bytes(ciphertext)
        )
        for plaintext, ciphertext in zip(_EXAMPLE_TEXTS, _SP38A_128, strict=True)
    ),
    *(
        Encrypted(
            "SP 800-38A, F.1.5",
            _bytes("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"),
            _bytes(plaintext),
            _bytes(ciphertext),
        )
        for plaintext, ciphertext in zip(_EXAMPLE_TEXTS, _SP38A_256, strict=True)
    ),
)
