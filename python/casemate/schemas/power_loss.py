"""Results of cutting power on a whole machine while programs run: the recovered memory, compared with the stores."""

from pydantic import Field

from casemate.schemas.base import Result
from casemate.schemas.catalogue import End


class MemoryRefused(Result):
    """Recovery refused all of memory."""

    memory_refused: str = Field(alias="memory-refused")
    """Message of the recovery."""


class FalseAlarm(Result):
    """The machine reported tampering without an attack."""

    false_alarm: str = Field(alias="false-alarm")
    """Message of the machine."""


class WrongByte(Result):
    """A byte of a line that differs from the stored one."""

    offset: int
    """Position of the byte in the line, from 0."""
    expected: int
    """Value that was stored."""
    found: int
    """Value that was found."""


class ByteDiffers(Result):
    """Kind of mismatch: a line with other content than the programs stored."""

    byte: WrongByte
    """First wrong byte of the line."""


class Mismatch(Result):
    """A line that differs from the state after the programs' accepted stores."""

    session: int
    """Number of losses of power on this machine so far, this loss included."""
    line: int | None
    """Number of the line in memory, its address by 64; null if the mismatch is not about a single line."""
    store: int | None
    """Latest store that should be in memory, as the number of earlier stores of the same core's program."""
    core: int | None
    """Core that executed the store."""
    pc: int | None
    """Address of the storing instruction."""
    address: int | None
    """Address of the store, as the program sees it."""
    wrong: MemoryRefused | FalseAlarm | ByteDiffers | str
    """Kind of mismatch: a refused memory, a false alarm or a byte; or one word. The words are `refused` (the line),
    `overtaken` (memory has a store, but not an earlier one), `never-accepted` and `accepted-early`.
    """
    words: str
    """The mismatch in words."""


class Moment(Result):
    """Moment of the loss of power."""

    time_fs: int
    """Simulated time, in femtoseconds."""
    instructions: int
    """Number of instructions that the cores had received."""
    events: int
    """Number of simulation events before the loss."""
    ended: bool
    """True if the programs had ended."""


class Stores(Result):
    """Numbers of the programs' stores before power failed."""

    executed: int
    """Number of executed stores; cores execute ahead of memory."""
    accepted: int
    """Number of stores, among these, that had been accepted at the point where the design makes stores durable, or were
    on their way to it.
    """


class OnBattery(Result):
    """Work of the battery after power failed."""

    lines: int
    """Number of lines that were durable but not yet in memory."""
    needed_nj: float
    """Energy of the battery's work, in nanojoules, by the costs in the SecPB paper."""
    died_after: int | None
    """Number of operations after which the battery was empty, if its energy did not suffice (--battery)."""


class Tampering(Result):
    """Tampering while power is off: an attacker flips one bit in each of some stored lines, before recovery."""

    stored: int
    """Number of lines of all kinds that memory stored when the battery had done its work."""
    changed: dict[str, int]
    """Number of lines with a flipped bit, by kind: `data`, `counters`, `tags`, `nodes`, and kinds of other designs."""
    recovery_fault: str | None
    """Fault that recovery reported; null if recovery accepted the memory."""
    lines_right: int
    """Number of stored lines of data that read as they do without the attacker."""
    lines_refused: int
    """Number of stored lines of data that the chip refused, with a report."""
    lines_wrong: int
    """Number of stored lines of data that read wrong, or that the chip did not release and did not report."""
    mismatches: tuple[Mismatch, ...]
    """The first twenty wrong lines."""
    end: End
    """End of the attack, in the words of campaigns: `detected`, `garbled`, or `harmless` if each line reads right."""
    claim: End | None
    """Claim of the design for the row `tampering-while-off` of `casemate crash`."""
    as_claimed: bool
    """True if the end is not worse than the claim."""


class PowerLoss(Result):
    """One loss of power, of one design on one machine."""

    design: str
    """Name of the design."""
    machine: str
    """Name of the machine."""
    seed: int
    """Seed of the run."""
    at: Moment
    """Moment of the loss."""
    stores: Stores
    """Stores of the programs."""
    battery: OnBattery | None
    """Work of the battery; null in a design without a battery."""
    lines_compared: int
    """Number of lines that were read and compared after this loss, and after a second loss: the recovered machine
    stores more, and power fails again.
    """
    wrong: int
    """Total number of mismatches."""
    mismatches: tuple[Mismatch, ...]
    """The first twenty mismatches."""
    pad_used_twice: bool
    """True if a pad was used for two texts, in runs with the ledger."""
    tamper: Tampering | None = None
    """Outcome of tampering while power was off; null without `--tamper`."""
    host_ms: float
    """Host time for battery, recovery and comparison, in milliseconds."""
    passed: bool
    """True if the comparison found no error, and tampering ended as the design claims."""


class PowerLosses(Result):
    """Losses of power, each with the next seed."""

    losses: tuple[PowerLoss, ...]
    """All losses, in the order of the designs."""
    interrupted: bool
    """True if the campaign was interrupted before the last loss."""
    passed: bool
    """True if no loss had an error."""

    @property
    def idle(self) -> tuple[str, ...]:
        """Designs for which no loss had any line to compare."""
        compared = {loss.design for loss in self.losses if loss.lines_compared}
        return tuple(dict.fromkeys(loss.design for loss in self.losses if loss.design not in compared))

    def brief(self) -> str:
        """Returns the number of losses of power, and the number of those that lost data."""
        losing = sum(not loss.passed for loss in self.losses)
        what = "loss" if len(self.losses) == 1 else "losses"
        return f"{len(self.losses)} {what} of power, {losing} failed the check"
