"""Configurations of DRAM simulators as machine files: DRAMsim3's `.ini`, and Ramulator 2's YAML.

| file | part |
|---|---|
| `ini.py`, `block_yaml.py` | the two syntaxes, with the line of each key |
| `dramsim3.py`, `ramulator2.py` | the keys of each simulator, and the presets of Ramulator 2 |
| `ramulator_rules.py` | rules that all versions of Ramulator 2 share |
| `keys.py` | the treatment of each key, and the defaults |
| `channel.py` | the channel that they describe |
| `machine.py` | the machine file: that channel on the machine `modern` |

The machine `modern` provides the parts that a DRAM simulator's configuration does not describe: cores, caches,
cryptographic units.
"""

from casemate.imported.machine import import_machine

__all__ = ["import_machine"]
