"""What came back after power was cut on a whole machine, while programs ran."""

from pydantic import Field

from casemate.results.base import Result


class MemoryRefused(Result):
    """Recovery refused all of memory."""

    memory_refused: str = Field(alias="memory-refused")
    """What it reported."""


class FalseAlarm(Result):
    """The machine took something for tampering, and nobody had tampered."""

    false_alarm: str = Field(alias="false-alarm")
    """What it reported."""


class WrongByte(Result):
    """A byte of a line that is not what was stored."""

    offset: int
    """Which byte of the line, from 0."""
    expected: int
    """What it should be."""
    found: int
    """What it is."""


class ByteDiffers(Result):
    """A line holds something else."""

    byte: WrongByte
    """Its first wrong byte."""


class Mismatch(Result):
    """A line that is not as the programs' accepted stores have made it."""

    session: int
    """How many losses of power there had been on this machine, this one included."""
    line: int | None
    """The line's number in memory, its address by 64; nothing if it is about no single line."""
    store: int | None
    """The latest store that should be there: how many of its core's program came before it."""
    core: int | None
    """The core that stored."""
    pc: int | None
    """The address of the instruction that stored."""
    address: int | None
    """The address that it stored to, as the program has it."""
    wrong: MemoryRefused | FalseAlarm | ByteDiffers | str
    """What is wrong: a refused memory, a false alarm or a byte, or one of refused (the line), overtaken (a store is
    there, and one before it is not), never-accepted and accepted-early."""
    words: str
    """The same in words."""


class Moment(Result):
    """When power failed."""

    time_fs: int
    """On the simulated clock, in femtoseconds."""
    instructions: int
    """How many instructions the cores had been given."""
    events: int
    """How many events of the simulation there had been."""
    ended: bool
    """Whether the programs had ended."""


class Stores(Result):
    """What the programs had stored when power failed."""

    executed: int
    """How many stores they had made; cores execute ahead of what memory has."""
    accepted: int
    """How many of these had been accepted where the design makes stores durable, or were on their way to it."""


class OnBattery(Result):
    """What the battery did."""

    lines: int
    """Lines that were durable and that memory did not have."""
    needed_nj: float
    """What its work takes, in nanojoules, at the SecPB paper's prices."""
    died_after: int | None
    """After how many operations it died, if it did (--battery)."""


class PowerLoss(Result):
    """One loss of power, of one design on one machine."""

    design: str
    """The design."""
    machine: str
    """The machine."""
    seed: int
    """The seed of the run."""
    at: Moment
    """When it was."""
    stores: Stores
    """What the programs had stored."""
    battery: OnBattery | None
    """What the battery did; nothing if there is none."""
    lines_compared: int
    """Lines that were read and compared: after this loss, and after one more of the machine that had recovered and
    stored more."""
    wrong: int
    """How many things were wrong."""
    mismatches: tuple[Mismatch, ...]
    """What was wrong; the first twenty."""
    pad_used_twice: bool
    """Whether a pad hid two texts, where the ledger was asked for."""
    host_ms: float
    """What battery, recovery and comparison took of this computer, in milliseconds."""
    passed: bool
    """Whether nothing was wrong."""


class PowerLosses(Result):
    """Losses of power, each with the next seed."""

    losses: tuple[PowerLoss, ...]
    """All of them, design by design."""
    interrupted: bool
    """Whether it was stopped before the last."""
    passed: bool
    """Whether nothing was wrong after any of them."""

    @property
    def idle(self) -> tuple[str, ...]:
        """The designs of which no loss had anything to compare."""
        compared = {loss.design for loss in self.losses if loss.lines_compared}
        return tuple(dict.fromkeys(loss.design for loss in self.losses if loss.design not in compared))

    def brief(self) -> str:
        """How many there were and how many lost something."""
        losing = sum(not loss.passed for loss in self.losses)
        what = "loss" if len(self.losses) == 1 else "losses"
        return f"{len(self.losses)} {what} of power, {losing} of which lost something"
