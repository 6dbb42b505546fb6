"""Describes a worker before it gets any work. The client sends this code itself, so it also runs on a worker without
Casemate, or with another version. The module therefore does not import the package.
"""

from typing import Any


def memory_bytes() -> int:
    """Returns the memory of this computer, or of the container or job in which this process runs, in bytes."""
    import os

    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/proc/self/cgroup") as file:
            group = next((line.strip()[3:] for line in file if line.startswith("0::")), "/")
    except OSError:
        group = "/"
    # The limit of each enclosing group holds as well.
    names = [name for name in group.split("/") if name]
    for depth in range(len(names) + 1):
        try:
            with open("/".join(["/sys/fs/cgroup", *names[:depth], "memory.max"])) as file:
                text = file.read().strip()
        except OSError:
            continue
        found = min(found, int(text)) if text.isdigit() else found
    return found


def describe(flags: list[str]) -> dict[str, Any]:
    """Returns the version, the missing processor flags and the memory of this computer. It imports Casemate only on a
    processor that has all `flags`: on another one, the package could end the process.
    """
    import os
    import socket

    found: dict[str, Any] = {
        "host": socket.gethostname(), "pid": os.getpid(), "memory": memory_bytes(), "missing": [],
    }  # fmt: skip
    try:
        with open("/proc/cpuinfo") as file:
            listed = next((line for line in file if line.startswith("flags")), "")
        found["missing"] = [flag for flag in flags if flag not in listed.split()]
    except OSError:
        pass
    if not found["missing"]:
        try:
            from casemate.studies import identity

            found |= {"version": identity.VERSION, "build": identity.BUILD}
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {error}"
    return found
