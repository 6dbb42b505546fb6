"""Typed results of all commands. Every field has a description with its unit; `casemate schema` prints the JSON
schemas.
"""

from casemate.results.attack import AttackReport, AttackResults, ExhaustiveReport, Outcome, Protection
from casemate.results.bench import CryptoBench, CryptoEngine, CryptoPower, CryptoRow, Implementation
from casemate.results.bus import BusEvent, BusHeader, BusInfo, BusShape, BusTotals
from casemate.results.catalogue import (
    Attack,
    Design,
    DesignInfo,
    End,
    Layout,
    Listing,
    Loss,
    Machine,
    Setting,
    Settings,
    Verdict,
    Workload,
)
from casemate.results.cost import (
    BatteryCost,
    BatteryRow,
    CountedDrain,
    DrainAccount,
    DrainDifference,
    Operations,
    StorageSize,
)
from casemate.results.crash import CrashReport, CrashResults, ProgramReport
from casemate.results.derivation import Derivation, DerivedRow, DerivedTable, EngineNeed
from casemate.results.excerpt import ExcerptAbout, ExcerptInfo, UnitWork
from casemate.results.explain import Cause, Explanation, Explanations, OnChip, Row, Scenario, Span, Spread
from casemate.results.hardware import Area, CoreCost, EnergyOfLine, Fpga, HardwareCost, Scaling, Speed
from casemate.results.imported import ImportedKey, ImportedMachine
from casemate.results.intervals import Interval
from casemate.results.origin import Origin, Recording, Totals, TraceInfo
from casemate.results.power_loss import Mismatch, PowerLoss, PowerLosses
from casemate.results.predicted import Predicted, Speculation
from casemate.results.reproduce import Reproduction
from casemate.results.run import Configuration, Failure, Record, RunResults
from casemate.results.validation import Validation, ValidationRow
from casemate.results.window import Accesses, Window

__all__ = [
    "Accesses",
    "Area",
    "Attack",
    "AttackReport",
    "AttackResults",
    "BatteryCost",
    "BatteryRow",
    "BusEvent",
    "BusHeader",
    "BusInfo",
    "BusShape",
    "BusTotals",
    "Cause",
    "Configuration",
    "CoreCost",
    "CountedDrain",
    "CrashReport",
    "CrashResults",
    "CryptoBench",
    "CryptoEngine",
    "CryptoPower",
    "CryptoRow",
    "Derivation",
    "DerivedRow",
    "DerivedTable",
    "Design",
    "DesignInfo",
    "DrainAccount",
    "DrainDifference",
    "End",
    "EnergyOfLine",
    "EngineNeed",
    "ExcerptAbout",
    "ExcerptInfo",
    "ExhaustiveReport",
    "Explanation",
    "Explanations",
    "Failure",
    "Fpga",
    "HardwareCost",
    "Implementation",
    "ImportedKey",
    "ImportedMachine",
    "Interval",
    "Layout",
    "Listing",
    "Loss",
    "Machine",
    "Mismatch",
    "OnChip",
    "Operations",
    "Origin",
    "Outcome",
    "PowerLoss",
    "PowerLosses",
    "Predicted",
    "ProgramReport",
    "Protection",
    "Record",
    "Recording",
    "Reproduction",
    "Row",
    "RunResults",
    "Scaling",
    "Scenario",
    "Setting",
    "Settings",
    "Span",
    "Speculation",
    "Speed",
    "Spread",
    "StorageSize",
    "Totals",
    "TraceInfo",
    "UnitWork",
    "Validation",
    "ValidationRow",
    "Verdict",
    "Window",
    "Workload",
]
