"""Built-in components, for people."""

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from casemate.schemas.catalogue import Attack, Component, DesignInfo, Settings, Workload
from casemate.schemas.listing import Listing, RefusedTrace
from casemate.tables import layouts

KINDS = ("designs", "machines", "workloads", "attacks", "traces")
"""Sections of a listing."""


def listing(found: Listing, kinds: Sequence[str]) -> RenderableType:
    """Returns a section for each kind of component."""
    sections: dict[str, Callable[[], RenderableType]] = {
        "designs": lambda: components(found.designs),
        "machines": lambda: components(found.machines),
        "workloads": lambda: components(found.workloads),
        "attacks": lambda: components(found.attacks),
        "traces": lambda: _traces(found),
    }
    parts: list[RenderableType] = []
    for kind in kinds:
        parts += [Text(kind, style="bold cyan"), sections[kind]()]
    return Group(*parts)


def components(found: Sequence[Component]) -> RenderableType:
    """Returns components of one kind, without a heading."""
    designs = [each for each in found if isinstance(each, DesignInfo)]
    workloads = [each for each in found if isinstance(each, Workload)]
    if designs:
        return _designs(designs)
    return _workloads(workloads) if workloads else _named(found)


SOURCES = {"file": "file", "class": "class", "default": "default", "change": "--with"}


def settings(found: Settings) -> str:
    """Returns all values of a machine or a design in the notation of a complete file, each with its source."""
    lines: list[str] = []
    table = ""
    for setting in found.settings:
        path, _, key = setting.key.rpartition(".")
        if path != table:
            lines += ["", f"[{path}]"]
            table = path
        said = f"{key} = {setting.value}" if setting.value is not None else f"# {key} has no value"
        lines.append(f"{said:<40} # {SOURCES[setting.source]}")
    return "\n".join(lines)


def _named(found: Sequence[Component]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    for each in found:
        table.add_row(Text(f"  {each.name}", style="bold"), Text(_said(each)))
    table.add_row("")
    return table


def _said(component: Component) -> str:
    is_hypothetical = isinstance(component, Attack) and component.hypothetical
    return component.summary + (" Hypothetical: no design here has that fault." if is_hypothetical else "")


def _designs(designs: Sequence[DesignInfo]) -> Table:
    table = layouts.plain_table("  name", "class", "what it is", "weak choices")
    for design in designs:
        weak = Text("\n".join(design.weaknesses) or "none", style="yellow" if design.weaknesses else "green")
        text = Text.assemble(design.summary, "\n", (design.source, "dim"))
        for sentence in design.leaves_out:
            text.append(f"\nLeaves out: {sentence}", style="dim")
        table.add_row(Text(f"  {design.name}", style="bold"), Text(design.design_class), text, weak)
    return table


def _workloads(workloads: Sequence[Workload]) -> Group:
    parts: list[RenderableType] = []
    for workload in workloads:
        parts.append(Text.assemble((f"  {workload.name}", "bold"), f"  {workload.summary}"))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
        for parameter in workload.parameters:
            setting = f"    {parameter.name}={parameter.default}"
            table.add_row(Text(setting, style="cyan"), Text(parameter.summary), Text(parameter.accepts, style="dim"))
        parts += [table, Text("")]
    return Group(*parts)


def _traces(found: Listing) -> Group:
    none = Text("  none here; make one: casemate record -o prog.trace -- ./prog args", style="dim")
    paths = Text("\n".join(f"  {path}" for path in found.traces))
    return Group(paths if found.traces else none, *map(_refused, found.refused_traces))


def _refused(trace: RefusedTrace) -> Text:
    return Text(f"  {trace.reason}", style="yellow")
