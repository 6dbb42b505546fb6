"""What attacks did to designs, and whether that is what the designs claim."""

from pydantic import Field

from casemate.results.base import Result
from casemate.results.catalogue import SEVERITY, STOPPED, End, Verdict


class Example(Result):
    """The first case of an end, with all that is needed to see it again."""

    verdict: End
    """How it ended."""
    seed: int
    """The seed of this one trial."""
    line: int
    """The line that the attack was about, as a line number."""
    bit: int | None = None
    """The bit that was flipped, counted from the start of its slot."""
    level: int | None = None
    """The level of the tree below which everything was replayed."""
    replay: str
    """The command that shows it again."""


class Outcome(Result):
    """An attack on a design."""

    attack: str
    """What the attacker did."""
    hypothetical: bool
    """Whether it assumes a fault that the design does not have, so that its end is none of the design's."""
    histogram: dict[End, int]
    """How often it ended how. Attacks that are tried at several levels count once for each."""
    counts: dict[str, int] = Field(default_factory=dict)
    """What was counted in all trials together, by what it is; empty for attacks of which only the end matters."""
    worst: End
    """The worst end, both of what came out and of what leaked."""
    worst_by_level: tuple[End, ...] = ()
    """The worst end at each level of the tree, from the lowest; empty for attacks that have no levels."""
    claim: End | None
    """What the design claims."""
    reached: bool
    """Whether the worst end, at every level, is exactly what is claimed: neither worse nor better, on either axis."""
    agrees: bool
    """Whether the trials do not contradict the claim: it was reached, or nothing was worse and they are fewer than a
    hundred, which may miss it."""
    examples: tuple[Example, ...]
    """The first case of each end."""

    @property
    def stopped(self) -> bool:
        """Whether the design stopped it in every trial, and claims to: few trials may miss what it does not stop."""
        return self.worst in STOPPED and (self.claim is None or self.claim in STOPPED)

    def telling(self) -> Example | None:
        """The worst of the examples, of those that did not end as claimed if there are any."""
        return max(self.examples, key=lambda it: (it.verdict != self.claim, SEVERITY.index(it.verdict)), default=None)


class AttackReport(Result):
    """All attacks on one design."""

    design: str
    """The design's name."""
    summary: str
    """What it is, in a sentence."""
    source: str
    """Its class and where it comes from."""
    weaknesses: tuple[str, ...]
    """What a reviewer would object to, in a word each."""
    leaves_out: tuple[str, ...] = ()
    """What the source has and the model lacks, a sentence each."""
    seed: int
    """The seed of the first trial of each attack; the others follow."""
    trials: int
    """Trials of each attack."""
    rows: tuple[Outcome, ...]
    """One for each attack that was carried out."""
    agrees: bool
    """Whether all agree with what is claimed."""

    def brief(self) -> str:
        """Which design, how many attacks, and how many of them ended otherwise than claimed."""
        differ = sum(not row.agrees for row in self.rows)
        missed = sum(row.agrees and not row.reached for row in self.rows)
        as_claimed = f"none contradicts its claim, {missed} not reached" if missed else "all as claimed"
        ended = f"{differ} end otherwise than claimed" if differ else as_claimed
        return f"{len(self.rows)} attacks on {self.design}, {self.trials} trials each: {ended}"


class ExhaustiveRow(Result):
    """The flips of all bits of one kind of structure."""

    structure: str
    """Data, counter, tag, or a level of the tree."""
    flips: int
    """Bits flipped, each by itself."""
    histogram: dict[Verdict, int]
    """How often each verdict came out. Harmless are the bits that nothing in use depends on."""
    first_at: dict[Verdict, tuple[int, int]]
    """The first case of each verdict: the slot and the bit in it."""
    claim: End | None
    """What the design claims about flips in such a structure."""
    agrees: bool
    """Whether the worst verdict is exactly what is claimed: neither worse nor better."""


class ExhaustiveReport(Result):
    """The flips of every stored bit of a small memory under one design."""

    design: str
    """The design's name."""
    seed: int
    """The seed of the memory's content."""
    flips: int
    """Bits flipped, each by itself."""
    rows: tuple[ExhaustiveRow, ...]
    """One for each kind of structure that the design stores."""
    worst: Verdict
    """The worst verdict of all."""
    agrees: bool
    """Whether all structures agree with what the design claims."""


class Campaign(Result):
    """What is known after many trials of attacks, done in one run or in several."""

    reports: tuple[AttackReport, ...]
    """A report for each design; attacks may differ in their trials, of which it states the least."""
    resumed: int
    """Trials that the log held before."""
    added: int
    """Trials of this run."""
    complete: bool
    """Whether every attack has all its trials."""


class AttackResults(Result):
    """Attacks on several designs."""

    reports: tuple[AttackReport, ...] = ()
    """A report for each design that was attacked."""
    exhaustive: tuple[ExhaustiveReport, ...] = ()
    """A report for each design of which every bit was flipped."""
    agrees: bool
    """Whether everything that is complete ended as claimed; false if nothing is complete, and true of one trial that
    was looked at again, which decides about no claim.
    """
    replay: bool = False
    """Whether this is one trial that was looked at again."""
    interrupted: bool = False
    """Whether Ctrl-C or SIGTERM ended it; the reports are those that were complete, or what the log held then."""
    log: str | None = None
    """The file that a long campaign goes on from."""
    resumed: int = 0
    """Trials that the log held before this run."""
    added: int = 0
    """Trials that this run added to the log."""
    changes: dict[str, str] = Field(default_factory=dict)
    """Keys of designs that had other values than in their files, as they were asked for."""


class Protection(Result):
    """What a design stops, in two numbers."""

    design: str
    """The design's name."""
    stopped: int
    """Attacks that it stopped, in every trial, and claims to stop."""
    applicable: int
    """Attacks that there was something to attack for, but for those that are hypothetical."""
    trials: int
    """Trials of each attack."""
    agrees: bool
    """Whether no attack ended worse than the design claims."""

    @staticmethod
    def of(report: AttackReport) -> "Protection":
        """The summary of a report."""
        rows = [row for row in report.rows if row.worst != "not-applicable" and not row.hypothetical]
        return Protection(
            design=report.design,
            stopped=sum(row.stopped for row in rows),
            applicable=len(rows),
            trials=report.trials,
            agrees=report.agrees,
        )
