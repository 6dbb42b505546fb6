"""Typed results of all commands. Every field has a description with its unit; `casemate schema` prints the JSON
schemas.
"""

from casemate.schemas.attack import AttackReport, AttackResults, ExhaustiveReport, Outcome, Protection
from casemate.schemas.bench import CryptoBench, CryptoEngine, CryptoPower, CryptoRow, Implementation
from casemate.schemas.bus import BusEvent, BusHeader, BusInfo, BusShape, BusTotals
from casemate.schemas.catalogue import (
    Attack,
    Design,
    DesignInfo,
    End,
    Loss,
    Machine,
    Setting,
    Settings,
    Verdict,
    Workload,
)
from casemate.schemas.cost import (
    BatteryCost,
    BatteryRow,
    CountedDrain,
    DrainAccount,
    DrainDifference,
    Operations,
    StorageSize,
)
from casemate.schemas.crash import CrashReport, CrashResults, ProgramReport
from casemate.schemas.derivation import Derivation, DerivedRow, DerivedTable, EngineNeed
from casemate.schemas.excerpt import ExcerptAbout, ExcerptInfo, UnitWork
from casemate.schemas.explain import Cause, Explanation, Explanations, OnChip, Row, Scenario, Span, Spread
from casemate.schemas.hardware import (
    Area,
    CoreCost,
    EnergyOfLine,
    Fpga,
    HardwareComparison,
    HardwareCost,
    Ratio,
    Scaling,
    Speed,
)
from casemate.schemas.imported import ImportedKey, ImportedMachine
from casemate.schemas.intervals import Interval
from casemate.schemas.layout import Layout
from casemate.schemas.listing import Listing, RefusedTrace
from casemate.schemas.origin import Origin, Recording, Totals, TraceInfo
from casemate.schemas.power_loss import Mismatch, PowerLoss, PowerLosses, Tampering
from casemate.schemas.predicted import FrequentWord, Predicted, Speculation
from casemate.schemas.reproduce import Reproduction
from casemate.schemas.run import Configuration, Failure, Record, RunResults
from casemate.schemas.sweep import Rows, SweepPlan, SweepResult
from casemate.schemas.validation import Validation, ValidationRow
from casemate.schemas.window import Accesses, Window

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
    "FrequentWord",
    "HardwareComparison",
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
    "Ratio",
    "Record",
    "Recording",
    "RefusedTrace",
    "Reproduction",
    "Row",
    "Rows",
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
    "SweepPlan",
    "SweepResult",
    "Tampering",
    "Totals",
    "TraceInfo",
    "UnitWork",
    "Validation",
    "ValidationRow",
    "Verdict",
    "Window",
    "Workload",
]
