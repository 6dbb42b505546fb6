"""The machine file of an imported configuration: its channel, on the machine `modern`."""

import os
import re
import tempfile
from fractions import Fraction
from pathlib import Path

from casemate import api
from casemate._core import CasemateError
from casemate.imported import block_yaml, dramsim3, ini, json_paths, ramulator2, ramulator21, ramulator21_export
from casemate.imported.channel import Channel
from casemate.imported.keys import Keys
from casemate.laboratory import native
from casemate.schemas.imported import ImportedMachine

BASE = "modern"
"""Machine that provides the parts that the configuration does not describe."""

REPLACED = ("name", "summary", "dram.", "memory.size", "memory.channels", "memory.interleave.")
"""Keys, or prefixes of keys, of that machine that the configuration replaces."""


def import_machine(path: str | os.PathLike[str], *, name: str | None = None) -> ImportedMachine:
    """Makes a machine from DRAMsim3's `.ini`, Ramulator 2's YAML, or the YAML or JSON that Ramulator 2.1 exports. The
    machine's default name is that of the file.

    Raises `CasemateError` for any other file, and for one that describes an impossible machine.
    """
    file = Path(path)
    try:
        text = native.edited_text(file.read_bytes())
    except (OSError, CasemateError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise CasemateError(f"cannot read '{file}': {why}") from error
    called = name or re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-") or "imported"
    keys, channel = _read(file, text)
    toml = _toml(called, f"The memory of {file.name} ({keys.simulator}) on the machine {BASE}.", channel)
    _check(file, toml)
    return ImportedMachine.model_validate(
        {
            "name": called,
            "of": keys.simulator,
            "file": str(file),
            "memory_bytes": channel.bytes(),
            "keys": keys.all(),
            "toml": toml,
        }
    )


def _read(file: Path, text: str) -> tuple[Keys, Channel]:
    """Returns the keys of a configuration, with their treatment, and the channel that they describe."""
    if re.search(r"(?m)^\s*\[\w+\]", text):
        sections = ini.IniKeys(file, ini.parse(file, text), "DRAMsim3")
        if not any(key.lower().startswith(("dram_structure.", "timing.")) for key in sections.values):
            raise CasemateError(
                f"'{file}' has no section [dram_structure] or [timing]: expected a configuration of DRAMsim3, "
                "Ramulator 2 or Ramulator 2.1"
            )
        return sections, dramsim3.channel(sections)
    if re.search(r"(?m)^MemorySystem\s*:", text):
        blocks = Keys(file, block_yaml.parse(file, text), "Ramulator 2")
        return blocks, ramulator2.channel(blocks)
    is_json = text.lstrip().startswith("{") and '"memory_system"' in text
    if is_json or re.search(r"(?m)^memory_system\s*:", text):
        values = (json_paths if is_json else block_yaml).parse(file, text)
        export = ramulator21_export.keys(file, values)
        return export, ramulator21.channel(export)
    raise CasemateError(
        f"'{file}' is neither DRAMsim3's .ini (with [dram_structure]), Ramulator 2's YAML (with MemorySystem:) nor an "
        "export of Ramulator 2.1 (with memory_system:)"
    )


def _toml(name: str, summary: str, channel: Channel) -> str:
    """Returns the text of the machine file."""
    values = {
        setting.key: setting.value
        for setting in api.settings("machine", BASE).settings
        if setting.source == "file" and setting.value is not None and not setting.key.startswith(REPLACED)
    }
    # Programs get half of the memory, metadata the other half: no design needs more metadata than that.
    values |= {"memory.size": f'"{channel.bytes() // 2 >> 20} MB"', "memory.channels": str(channel.channels)}
    values["memory.interleave.lines"] = str(channel.interleave_lines)
    values |= {
        "dram.clock_mhz": _clock(channel.clock), "dram.read_queue": str(channel.read_queue),
        "dram.write_queue": str(channel.write_queue), "dram.drain_start": str(channel.drain_start),
        "dram.drain_stop": str(channel.drain_stop), "dram.page_policy": channel.page_policy,
        "dram.address_map": f'"{channel.address_map}"', "dram.scheduler": channel.scheduler,
    }  # fmt: skip
    values |= {f"dram.organisation.{key}": str(value) for key, value in channel.organisation.items()}
    values |= {f"dram.timing.{key}": str(value) for key, value in channel.timing.items()}
    tables: dict[str, list[str]] = {}
    for key, value in values.items():
        table, _, last = key.rpartition(".")
        tables.setdefault(table, []).append(f"{last} = {value}")
    quoted = summary.replace("\\", "\\\\").replace('"', '\\"')
    lines = [f'name = "{name}"', f'summary = "{quoted}"', *tables.pop("", [])]
    for table, entries in tables.items():
        lines += ["", f"[{table}]", *entries]
    return "\n".join(lines) + "\n"


def _clock(megahertz: Fraction) -> str:
    if megahertz.denominator == 1:
        return str(megahertz.numerator)
    return f'"{megahertz.numerator}/{megahertz.denominator} MHz"'


def _check(file: Path, toml: str) -> None:
    """Raises `CasemateError` if no machine can have these values."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "machine.toml"
        made.write_text(toml, "utf-8")
        try:
            api.settings("machine", str(made))
        except CasemateError as error:
            raise CasemateError(
                f"'{file}' describes a memory that no machine can have: {str(error).replace(str(made), 'it')}"
            ) from error
