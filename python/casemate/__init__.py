"""Casemate: a laboratory for memory protection.

Run a real program under encryption, authentication and integrity trees; see the cost of the protection, the attacks
that it stops, and why:

    >>> import casemate as cm
    >>> results = cm.run(["gzip", "-9", "-c", "/usr/bin/python3"], designs=["none", "sc64-bmt"])
    >>> results.slowdown("sc64-bmt")
    >>> cm.explain("sc64-bmt", cm.Read(on_chip="tree")).critical_path()
    >>> cm.attack("ctr-mac").agrees
    >>> cm.crash("plp-sp", row="power-loss").agrees

The command `casemate` offers the same functions. Failures raise `CasemateError` with the reason as its text.
"""

from typing import TYPE_CHECKING, Any

from casemate import starting  # noqa: F401  # isort: split  # before what takes time to load
from casemate._core import CasemateError, __version__
from casemate.api import (
    attack,
    attack_bits,
    attack_many,
    attacks,
    bench_crypto,
    cost_of_battery,
    crash,
    crash_program,
    design,
    designs,
    layout,
    losses,
    machines,
    record,
    run,
    settings,
    trace_info,
    validate,
    window,
    workloads,
)
from casemate.crypto.crypto_bench import CryptoOptions
from casemate.laboratory.explaining import explain, explain_together
from casemate.laboratory.power_loss import LossOptions, lose_power
from casemate.laboratory.requests import (
    BuiltIn,
    Page,
    Permutation,
    Program,
    Read,
    RunOptions,
    Store,
    Trace,
    TraceWindow,
    Write,
)
from casemate.schemas import AttackReport, Explanation, Layout, Record, Recording, RunResults, TraceInfo
from casemate.text import shown

if TYPE_CHECKING:
    from casemate.studies.query import results
    from casemate.studies.study import Study
    from casemate.studies.sweep import Workers, sweep

# Earlier names of these functions, for programs that call them.
campaign, exhaustive, survive = attack_many, attack_bits, crash_program

__all__ = [
    "AttackReport",
    "BuiltIn",
    "CasemateError",
    "CryptoOptions",
    "Explanation",
    "Layout",
    "LossOptions",
    "Page",
    "Permutation",
    "Program",
    "Read",
    "Record",
    "Recording",
    "RunOptions",
    "RunResults",
    "Store",
    "Study",
    "Trace",
    "TraceInfo",
    "TraceWindow",
    "Workers",
    "Write",
    "__version__",
    "attack",
    "attack_bits",
    "attack_many",
    "attacks",
    "bench_crypto",
    "campaign",
    "cost_of_battery",
    "crash",
    "crash_program",
    "design",
    "designs",
    "exhaustive",
    "explain",
    "explain_together",
    "layout",
    "lose_power",
    "losses",
    "machines",
    "record",
    "results",
    "run",
    "settings",
    "survive",
    "sweep",
    "trace_info",
    "validate",
    "window",
    "workloads",
]

_LATER = {"Study": "study", "Workers": "sweep", "results": "query", "sweep": "sweep"}
"""Names from modules that only studies need: the package loads these modules at the first use."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        import importlib

        return getattr(importlib.import_module(f"casemate.studies.{_LATER[name]}"), name)
    raise AttributeError(f"module 'casemate' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Returns all names of the package, with those that are loaded at the first use."""
    return sorted({*globals(), *_LATER})


def _renderer() -> Any:
    from casemate.notebook import rendering

    return rendering


shown.render_with(_renderer)
