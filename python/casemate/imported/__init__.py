"""Configurations of DRAM simulators as machine files: DRAMsim3's `.ini`, Ramulator 2's YAML, Ramulator 2.1's export.

| file | part |
|---|---|
| `ini.py`, `block_yaml.py`, `json_paths.py` | the three syntaxes, with the line of an error |
| `dramsim3.py`, `ramulator2.py`, `ramulator21.py` | the keys of each simulator, and the presets of Ramulator 2 |
| `ramulator21_export.py` | the lists of an export, with names for their entries |
| `ramulator_rules.py` | rules that all versions of Ramulator 2 share |
| `keys.py` | the treatment of each key, and the defaults |
| `channel.py` | the channel that they describe |
| `machine.py` | the machine file: that channel on the machine `modern` |

The machine `modern` provides the parts that a DRAM simulator's configuration does not describe: cores, caches,
cryptographic units.
"""

from casemate.imported.machine import import_machine

__all__ = ["import_machine"]
