"""Configurations of DRAM simulators for the tests of `casemate machine import`, and functions that import them."""

from pathlib import Path

from casemate.imported import import_machine

DRAMSIM3 = """\
[dram_structure]
protocol = DDR4
bankgroups = 4
banks_per_group = 4
rows = 32768   ; a comment
columns = 1024
device_width = 8
BL = 8

[timing]
tCK = 0.83
CL = 17
CWL = 12
tRCD = 17
tRP = 17
tRAS = 39
tRFC = 312
tREFI = 9400
tRRD_S = 4
tRRD_L = 6
tWTR_S = 3
tWTR_L = 9
tFAW = 26
tWR = 18
tRTP = 9
tCCD_S = 4
tCCD_L = 6
tXP = 8

[power]
VDD = 1.2

[system]
channel_size = 8192
channels = 2
bus_width = 64
address_mapping = rorababgchco
row_buf_policy = CLOSE_PAGE
trans_queue_size = 24

[other]
output_level = 1
invented = yes
"""

RAMULATOR2 = """\
# a comment
Frontend:
  impl: LoadStoreTrace
  path: "some.trace"
MemorySystem:
  impl: GenericDRAM
  clock_ratio: 3
  DRAM:
    impl: DDR4
    org:
      preset: DDR4_4Gb_x16
      rank: 1
    timing:
      preset: DDR4_3200AA
      nRCD: 23
      tFAW: 40
  Controller:
    impl: Generic
    wr_high_watermark: 0.5
    Scheduler:
      impl: BLISS
    plugins:
    - ControllerPlugin:
        impl: PRAC
        steps: [1, 2]
  AddrMapper:
    impl: RoBaRaCoCh
"""


def made(folder: Path, name: str, text: str) -> dict[str, str]:
    """The lines of the machine file, by `table.key`."""
    (folder / name).write_text(text)
    lines, table = {}, ""
    for line in import_machine(folder / name).toml.splitlines():
        if line.startswith("["):
            table = line.strip("[]") + "."
        elif line:
            key, _, value = line.partition(" = ")
            lines[table + key] = value
    return lines


def fates(folder: Path, name: str, text: str) -> dict[str, tuple[str, str]]:
    """Treatment of each key."""
    (folder / name).write_text(text)
    return {key.key: (key.fate, key.said) for key in import_machine(folder / name).keys}


def defaults(folder: Path, name: str, text: str) -> dict[str, str]:
    """Default values of the keys that a file lacks."""
    (folder / name).write_text(text)
    return {key.key: key.value for key in import_machine(folder / name).keys if key.fate == "default"}
