"""The parts of machines and designs that decide the cost of a run, for the head of its table.

The placement of pages and the prefetchers change a slowdown as much as a design does, so the reader must see them with
the figures.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from casemate.schemas.run import Record
from casemate.text import amounts

PLACEMENTS = {"blocks": "pages in 2 MB blocks", "scattered": "scattered pages"}
"""Values of `memory.placement`, in words."""
LINE_CHARACTERS = 98
"""Maximum length of a line, unless one design needs more."""


def decided_by(records: Sequence[Record]) -> list[str]:
    """Returns the placement of pages, the prefetchers, the check of a line with its latency, and the size of the
    metadata caches: one line if all fits, otherwise more. The text names machines and designs where they differ.
    """
    machines = {record.machine: ", ".join(_machine(record)) for record in records}
    designs = {record.design: text for record in records if (text := _design(record))}
    lines = list[str]()
    for group in (*_grouped(machines, name_all=False), *_grouped(designs, name_all=True)):
        if lines and len(lines[-1]) + len(f"; {group}") <= LINE_CHARACTERS:
            lines[-1] += f"; {group}"
        else:
            lines.append(group)
    return lines


def begun_with(records: Sequence[Record]) -> Iterator[str]:
    """States that memory or tables began with the values of a first pass, if a design has a table of such values."""
    begun = (record.configuration.design.parts for record in records if record.configuration.start_values)
    tables = [parts.speculation for parts in begun if parts.speculation]
    learning = [table for table in tables if table.tracking != "fixed"]
    if any(table.reorder for table in learning):
        yield "memory begins ordered by the values of a first pass (--start-order frequent)"
    elif learning:
        yield "tables of frequent values begin with those of a first pass (--start-order frequent)"
    if any(table.tracking == "fixed" and table.reorder for table in tables):
        yield "memory begins ordered by the words of a fixed table (--start-order frequent)"


def _machine(record: Record) -> Iterator[str]:
    keys: dict[str, Any] = record.configuration.machine.model_extra or {}
    yield PLACEMENTS[keys["memory"]["placement"]]
    if record.configuration.workload.requests:
        return
    found = {name.upper(): keys["node"][name].get("prefetcher") for name in ("l1d", "l2")}
    named = [f"{next(iter(prefetcher))} ({cache})" for cache, prefetcher in found.items() if prefetcher]
    yield f"prefetch {', '.join(named)}" if named else "no prefetch"


def _design(record: Record) -> str:
    code = record.configuration.design.parts.mac.code
    caches = record.footprint.metadata_cache_bytes
    mac = "" if record.check_ns is None else f"{'tags' if code == 'none' else code} {record.check_ns:g} ns"
    return ", ".join(part for part in (mac, f"caches {amounts.size(caches)}" if caches else "") if part)


def _grouped(texts: dict[str, str], name_all: bool) -> Iterator[str]:
    """Yields each text once, with the names that it describes; without names if it describes all and `name_all` is
    false.
    """
    for text in dict.fromkeys(texts.values()):
        names = ", ".join(name for name, of_name in texts.items() if of_name == text)
        yield text if len(set(texts.values())) == 1 and not name_all else f"{names}: {text}"
