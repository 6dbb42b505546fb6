"""Result of `casemate list`: the components that are built in, and the traces in a folder."""

from casemate.schemas.base import Result
from casemate.schemas.catalogue import Attack, DesignInfo, Machine, Workload


class RefusedTrace(Result):
    """A file with the name of a trace and other content."""

    path: str
    """Path of the file."""
    reason: str
    """Content that was found, and the expected one."""


class Listing(Result):
    """All components that are built in."""

    designs: tuple[DesignInfo, ...] = ()
    """Designs that protect memory."""
    machines: tuple[Machine, ...] = ()
    """Machines on which programs run."""
    workloads: tuple[Workload, ...] = ()
    """Workloads that run without a program."""
    attacks: tuple[Attack, ...] = ()
    """Attacks that can be carried out."""
    traces: tuple[str, ...] = ()
    """Traces in the folder that was searched, recognised by their content."""
    refused_traces: tuple[RefusedTrace, ...] = ()
    """Files in this folder that are named like traces, and are not traces."""
