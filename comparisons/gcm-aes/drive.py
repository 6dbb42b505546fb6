"""Drives `gcm_aes_v0`, the AES-GCM core of Tariq Bashir Ahmad and Guy Hutchison (OpenCores, project gcm-aes, 2010), for
`casemate cost rtl`. The core itself is not part of this repository:

    casemate cost rtl *.v --top gcm_aes_v0 --stimulus comparisons/gcm-aes/drive.py

It makes its hash key anew for every message, and only reset clears its counts of bytes, so each line begins with reset,
in the cycle in which the tag of the line before it is there. Nothing waits for anything else: it is as fast as it goes.
"""

from casemate.hardware.stimulus import Core

BLOCKS = 4
BLOCK_BITS = 128
WHOLE_BLOCK = 15
"""What the core calls a block of 16 bytes."""
IV_CYCLES = 16
"""So long the IV stays: until the hash key is there. The core looks at no data in the 12 cycles after that."""


def drive(core: Core) -> None:
    """Seals all lines, one after the other."""
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
    """Gives a block, and returns it sealed."""
    word = text >> BLOCK_BITS * (BLOCKS - 1 - block) & (1 << BLOCK_BITS) - 1
    # With the first block the IV goes. The hash must be held at zero until the first product begins: the last one of
    # the line before would change it.
    ctl = {"cii_ctl_vld": 0} if block else {}
    out = core.cycle(cii_IV_vld=0, dii_data=word, dii_data_vld=1, **ctl)
    while out["dii_data_not_ready"]:
        out = core.cycle()
    # Whether a word is the last one is asked for when its hash is made.
    out = core.cycle(dii_last_word=int(block == BLOCKS - 1))
    while not out["Out_vld"]:
        out = core.cycle()
    return out["Out_data"]


def _tag(core: Core, tail: int) -> tuple[int, int]:
    """Waits for the tag, which comes after as many cycles for each line; `tail` is how many, once that is known."""
    waited, out = 0, {"Tag_vld": 0}
    while not out["Tag_vld"]:
        waited += 1
        ends = {"rst": 1, "dii_last_word": 0} if waited == tail else {}
        out = core.cycle(dii_data_vld=0, cii_ctl_vld=0, **ends)
    if not tail:
        core.cycle(rst=1, dii_last_word=0)
    return out["Out_data"], waited
