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

CONTROLLER21 = """\
    - impl: GenericDDR
      wr_high_watermark: 0.75
      read_buffer_size: 48
      write_buffer_size: 40
      scheduler:
        impl: FRFCFS
      refresh_manager:
        impl: AllBank
        debug: false
      row_policy:
        impl: ClosedCAP
        cap: 3
      addr_mapper:
        impl: ChRaBaRoCo
      dram:
        impl: DDR4
        org:
          dq: 16
          count: [1, 2, 2, 4, 32768, 1024]
        timing: [1600, 4, 11, 12, 13, 28, 41, 14, 6, 9, 5, 7, 6, 8, 2, 10, 29, 209, 6241, 3, 1250]
        command_cycles: [1, 1, 1]
        channel_width: 64
        read_latency: 15
        timing_constraints:
          - [0, [3, 5], [3, 5], 4]
          - [1, [3, 5], [3, 4], 7, 1, true]
      controller_plugins:
        - impl: Counter
          path: "counts, one per line.txt"
        - impl: Recorder
"""

RAMULATOR21 = f"""\
frontend:
  impl: SimpleO3
  traces: [a.trace, b.trace]
memory_system:
  impl: GenericDRAM
  clock_ratio: 3
  channel_mapper:
    impl: CacheLineInterleave
    interleave_bits: 1
  controllers:
{CONTROLLER21}"""


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
