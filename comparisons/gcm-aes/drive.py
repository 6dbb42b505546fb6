"""Drives `gcm_aes_v0`, the AES-GCM core of Tariq Bashir Ahmad and Guy Hutchison (OpenCores, project gcm-aes, 2010), for
`casemate cost rtl`. The core itself is not part of this repository:

    casemate cost rtl *.v --top gcm_aes_v0 --stimulus comparisons/gcm-aes/drive.py

The core computes its hash key anew for every message, and only reset clears its byte counts. So each line begins with a
reset, in the cycle in which the core outputs the tag of the previous line. No other cycles are idle, so this is the
maximum throughput of the core.
"""

from casemate.hardware.stimulus import Core

BLOCKS = 4
BLOCK_BITS = 128
WHOLE_BLOCK = 15
"""Value of the port `dii_data_size` for a block of 16 bytes."""
IV_CYCLES = 16
"""Cycles for which the driver holds the IV: until the core has computed the hash key. The core ignores data in the next
12 cycles."""


def drive(core: Core) -> None:
    """Encrypts all lines, one after the other."""
    core.cycle(rst=1)
    tail = 0
    for number, line in enumerate(core.lines):
        if number == len(core.lines) // 3:
            core.measure()
        core.cycle(rst=0, cii_ctl_vld=1, cii_K=core.key, dii_data_type=0, dii_data_size=WHOLE_BLOCK)
        core.begun(number)
        core.cycle(cii_IV_vld=1, dii_data=line.nonce << 32 | 1)
        for _ in range(IV_CYCLES - 1):
            core.cycle()
        sealed = 0
        for block in range(BLOCKS):
            sealed = sealed << BLOCK_BITS | _block(core, line.text, block)
        tag, tail = _tag(core, tail)
        core.done(sealed, tag, line=number)


def _block(core: Core, text: int, block: int) -> int:
    """Sends a block of plaintext to the core, and returns its ciphertext."""
    word = text >> BLOCK_BITS * (BLOCKS - 1 - block) & (1 << BLOCK_BITS) - 1
    # The first block ends the IV. `cii_ctl_vld` holds the hash at zero until the first product begins; otherwise the
    # last product of the previous line would change the hash.
    ctl = {"cii_ctl_vld": 0} if block else {}
    out = core.cycle(cii_IV_vld=0, dii_data=word, dii_data_vld=1, **ctl)
    while out["dii_data_not_ready"]:
        out = core.cycle()
    # The core reads `dii_last_word` when it computes the hash of the word.
    out = core.cycle(dii_last_word=int(block == BLOCKS - 1))
    while not out["Out_vld"]:
        out = core.cycle()
    return out["Out_data"]


def _tag(core: Core, tail: int) -> tuple[int, int]:
    """Waits for the tag. The wait has the same number of cycles for each line: `tail`, or 0 if it is not known yet."""
    waited, out = 0, {"Tag_vld": 0}
    while not out["Tag_vld"]:
        waited += 1
        ends = {"rst": 1, "dii_last_word": 0} if waited == tail else {}
        out = core.cycle(dii_data_vld=0, cii_ctl_vld=0, **ends)
    if not tail:
        core.cycle(rst=1, dii_last_word=0)
    return out["Out_data"], waited
