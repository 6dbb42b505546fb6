"""Describes a worker before it gets any work. The client sends this code itself, so it also runs on a worker without
Casemate, or with another version. The module therefore does not import the package.
"""

from typing import Any


def describe(flags: list[str]) -> dict[str, Any]:
    """Returns the version, the missing processor flags and the memory of this computer. It imports Casemate only on a
    processor that has all `flags`: on another one, the package could end the process.
    """
    import os
    import socket

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found: dict[str, Any] = {"host": socket.gethostname(), "pid": os.getpid(), "memory": memory, "missing": []}
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
