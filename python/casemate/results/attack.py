"""Results of attacks on designs, and the comparison with the claims of these designs."""

from pydantic import Field

from casemate.results.base import Result
from casemate.results.catalogue import SEVERITY, STOPPED, End, Verdict


class Example(Result):
    """The first trial with a given end, and all that is needed to repeat it."""

    verdict: End
    """End of this trial."""
    seed: int
    """Seed of this one trial."""
    line: int
    """Number of the attacked line."""
    bit: int | None = None
    """Flipped bit, counted from the start of its slot."""
    level: int | None = None
    """Tree level below which the attacker replayed everything."""
    replay: str
    """Command that repeats the trial."""


class Outcome(Result):
    """Result of one attack on one design."""

    attack: str
    """Action of the attacker."""
    hypothetical: bool
    """True if the attack assumes a fault that the design does not have, so that its end does not count against the
    design.
    """
    histogram: dict[End, int]
    """Number of trials for each end. An attack that is tried at several levels counts once for each level."""
    counts: dict[str, int] = Field(default_factory=dict)
    """Sums over all trials, by name; empty for attacks that are judged by their end only."""
    worst: End
    """Worst end, both in the returned data and in the leaked information."""
    worst_by_level: tuple[End, ...] = ()
    """Worst end at each level of the tree, from the lowest; empty for attacks without levels."""
    claim: End | None
    """End that the design claims."""
    reached: bool
    """True if the worst end, at every level, is exactly as claimed: neither worse nor better, on either axis."""
    agrees: bool
    """True if the trials do not contradict the claim. They reached it, or were not worse and fewer than a hundred,
    which may be too few to reach the claimed end.
    """
    examples: tuple[Example, ...]
    """First trial of each end."""

    @property
    def stopped(self) -> bool:
        """True if the design stopped the attack in every trial and claims to. Few trials may miss an attack that
        succeeds.
        """
        return self.worst in STOPPED and (self.claim is None or self.claim in STOPPED)

    def telling(self) -> Example | None:
        """Returns the worst example, preferably among those that did not end as claimed."""
        return max(self.examples, key=lambda it: (it.verdict != self.claim, SEVERITY.index(it.verdict)), default=None)


class AttackReport(Result):
    """Results of all attacks on one design."""

    design: str
    """Name of the design."""
    summary: str
    """Description of the design in a sentence."""
    source: str
    """Class and origin of the design."""
    weaknesses: tuple[str, ...]
    """Objections that a reviewer would raise, a word each."""
    leaves_out: tuple[str, ...] = ()
    """Features of the source that the model lacks, a sentence each."""
    seed: int
    """Seed of the first trial of each attack; later trials use the following seeds."""
    trials: int
    """Number of trials of each attack."""
    rows: tuple[Outcome, ...]
    """One row for each attack that was carried out."""
    agrees: bool
    """True if all attacks agree with the claims."""

    def brief(self) -> str:
        """Returns the design, the number of attacks, and how many of them ended otherwise than claimed."""
        differ = sum(not row.agrees for row in self.rows)
        missed = sum(row.agrees and not row.reached for row in self.rows)
        as_claimed = f"none contradicts its claim, {missed} not reached" if missed else "all as claimed"
        ended = f"{differ} end otherwise than claimed" if differ else as_claimed
        return f"{len(self.rows)} attacks on {self.design}, {self.trials} trials each: {ended}"


class ExhaustiveRow(Result):
    """Flips of all bits of one kind of structure."""

    structure: str
    """Kind of structure: data, counter, tag, or a level of the tree."""
    flips: int
    """Number of bits flipped, one at a time."""
    histogram: dict[Verdict, int]
    """Number of flips for each verdict. A flip is harmless if no structure in use depends on the bit."""
    first_at: dict[Verdict, tuple[int, int]]
    """First case of each verdict: the slot and the bit in it."""
    claim: End | None
    """End that the design claims for flips in this kind of structure."""
    agrees: bool
    """True if the worst verdict is exactly as claimed: neither worse nor better."""


class ExhaustiveReport(Result):
    """Flips of every stored bit of a small memory under one design."""

    design: str
    """Name of the design."""
    seed: int
    """Seed of the memory's content."""
    flips: int
    """Number of bits flipped, one at a time."""
    rows: tuple[ExhaustiveRow, ...]
    """One row for each kind of structure that the design stores."""
    worst: Verdict
    """Worst verdict of all structures."""
    agrees: bool
    """True if all structures agree with the claims of the design."""


class Campaign(Result):
    """Results of many trials of attacks, carried out in one run or in several."""

    reports: tuple[AttackReport, ...]
    """A report for each design. If attacks differ in their number of trials, the report states the lowest."""
    resumed: int
    """Trials that the log contained before."""
    added: int
    """Trials of this run."""
    complete: bool
    """True if every attack has all its trials."""


class AttackResults(Result):
    """Results of attacks on several designs."""

    reports: tuple[AttackReport, ...] = ()
    """A report for each attacked design."""
    exhaustive: tuple[ExhaustiveReport, ...] = ()
    """A report for each design with all stored bits flipped."""
    agrees: bool
    """True if every complete attack ended as claimed. False if no attack is complete. True for a repeated single trial,
    since it decides no claim.
    """
    replay: bool = False
    """True if this is a single trial that was repeated."""
    interrupted: bool = False
    """True if Ctrl-C or SIGTERM ended it. The reports are those that were complete, or the content of the log at that
    time.
    """
    log: str | None = None
    """File from which a long campaign continues."""
    resumed: int = 0
    """Trials that the log contained before this run."""
    added: int = 0
    """Trials that this run added to the log."""
    changes: dict[str, str] = Field(default_factory=dict)
    """Keys of designs that were changed from the values in their files, as given by the user."""


class Protection(Result):
    """Number of attacks that a design stops, out of those that apply."""

    design: str
    """Name of the design."""
    stopped: int
    """Attacks that the design stopped in every trial and claims to stop."""
    applicable: int
    """Attacks that had a target in this design, without hypothetical ones."""
    trials: int
    """Number of trials of each attack."""
    agrees: bool
    """True if no attack ended worse than the design claims."""

    @staticmethod
    def of(report: AttackReport) -> "Protection":
        """Returns the summary of a report."""
        rows = [row for row in report.rows if row.worst != "not-applicable" and not row.hypothetical]
        return Protection(
            design=report.design,
            stopped=sum(row.stopped for row in rows),
            applicable=len(rows),
            trials=report.trials,
            agrees=report.agrees,
        )
