"""Results of attacks on designs, and the comparison with the claims of these designs."""

from pydantic import Field

from casemate.schemas.base import Result
from casemate.schemas.catalogue import SEVERITY, STOPPED, End, Verdict


class Example(Result):
    """The first trial of an attack with a given end, and the data that repeats the trial."""

    verdict: End
    """End of this trial: its verdict, and whether plaintext leaked."""
    seed: int
    """Seed of this one trial."""
    line: int
    """Number of the attacked line."""
    bit: int | None = None
    """Number of the flipped bit, counted from the start of its slot."""
    level: int | None = None
    """Level of the integrity tree below which the attacker replayed all metadata and data lines."""
    replay: str
    """Command that repeats the trial."""

    def brief(self) -> str:
        """Returns the end of the trial, and the command that repeats it."""
        return f"{self.verdict}: {self.replay}"


class Outcome(Result):
    """Result of one attack on one design."""

    attack: str
    """Action of the attacker."""
    hypothetical: bool
    """True if the attack assumes a fault that the design does not have, so that the end of the attack does not count
    against the design.
    """
    histogram: dict[End, int]
    """Number of trials for each end. A trial at several levels of the tree counts once for each level."""
    counts: dict[str, int] = Field(default_factory=dict)
    """Statistics summed over all trials, by name; empty for attacks that are judged only by their end."""
    worst: End
    """Worst end, both in the returned data and in the leaked information."""
    worst_by_level: tuple[End, ...] = ()
    """Worst end at each level of the tree, from the lowest; empty for attacks without levels."""
    claim: End | None
    """End that the design claims."""
    reached: bool
    """True if the worst end, at every level, is exactly as claimed: neither worse nor better, in verdict and in
    leakage.
    """
    agrees: bool
    """True if the trials do not contradict the claim. Either a trial reached the claimed end, or no trial was worse and
    there were fewer than a hundred, perhaps too few to reach the claimed end.
    """
    examples: tuple[Example, ...]
    """First trial of each end."""

    def brief(self) -> str:
        """Returns the attack, its worst end, and the claim of the design if it differs."""
        ended = "" if self.reached else f", claimed {self.claim or 'nothing'}"
        return f"{self.attack} ended {self.worst}{ended}"

    @property
    def stopped(self) -> bool:
        """True if the design stopped the attack in every trial and claims to stop it. With few trials, an attack that
        sometimes succeeds may appear as stopped.
        """
        return self.worst in STOPPED and (self.claim is None or self.claim in STOPPED)

    def telling(self) -> Example | None:
        """Returns the worst example, preferably among trials that did not end as claimed."""
        return max(self.examples, key=lambda it: (it.verdict != self.claim, SEVERITY.index(it.verdict)), default=None)


class AttackReport(Result):
    """Results of all attacks on one design."""

    design: str
    """Name of the design."""
    summary: str
    """Description of the design, in a sentence."""
    source: str
    """Class and origin of the design."""
    weaknesses: tuple[str, ...]
    """Objections that a reviewer would raise, a word each."""
    leaves_out: tuple[str, ...] = ()
    """Features of the design's source that the model lacks, a sentence each."""
    seed: int
    """Seed of the first trial of each attack; later trials use the following seeds."""
    trials: int
    """Number of trials of each attack."""
    rows: tuple[Outcome, ...]
    """One row for each attack that was carried out."""
    agrees: bool
    """True if the ends of all attacks agree with the claims."""

    def brief(self) -> str:
        """Returns the design, the number of attacks, and the number of attacks that did not end as claimed."""
        differ = sum(not row.agrees for row in self.rows)
        missed = sum(row.agrees and not row.reached for row in self.rows)
        as_claimed = f"none contradicts its claim, {missed} not reached" if missed else "all as claimed"
        ended = f"{differ} end otherwise than claimed" if differ else as_claimed
        return f"{len(self.rows)} attacks on {self.design}, {self.trials} trials each: {ended}"


class ExhaustiveRow(Result):
    """Results of flipping each bit of one kind of structure."""

    structure: str
    """Kind of structure: data, counter, tag, or a level of the tree."""
    flips: int
    """Number of bits flipped, one at a time."""
    histogram: dict[Verdict, int]
    """Number of flips for each verdict. A flip is harmless if no data in use depends on the bit."""
    first_at: dict[Verdict, tuple[int, int]]
    """First flip with each verdict: the slot, and the bit in the slot."""
    claim: End | None
    """Worst end that the design claims for flips in this kind of structure."""
    agrees: bool
    """True if the worst verdict is exactly as claimed: neither worse nor better."""


class ExhaustiveReport(Result):
    """Results of flipping each stored bit of a small memory under one design."""

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
    """True if the verdicts of all structures agree with the claims of the design."""

    def brief(self) -> str:
        """Returns the design, the number of flipped bits, and their worst verdict."""
        ended = "all as claimed" if self.agrees else "not all as claimed"
        return f"{self.flips:,} bits flipped under {self.design}: worst {self.worst}, {ended}"


class Campaign(Result):
    """Results of many trials of attacks, carried out in one run or in several."""

    reports: tuple[AttackReport, ...]
    """A report for each design. If attacks differ in their number of trials, the report states the lowest number."""
    resumed: int
    """Number of trials that the log contained before this run."""
    added: int
    """Number of trials that this run carried out."""
    complete: bool
    """True if every attack has all its trials."""

    def brief(self) -> str:
        """Returns the brief form of each report."""
        return "; ".join(report.brief() for report in self.reports)


class AttackResults(Result):
    """Results of attacks on several designs."""

    reports: tuple[AttackReport, ...] = ()
    """A report for each attacked design."""
    exhaustive: tuple[ExhaustiveReport, ...] = ()
    """A report for each design under `--exhaustive`, which flips all stored bits."""
    agrees: bool
    """True if every complete attack ended as claimed; false if no attack is complete. Always true for a repeated single
    trial, since one trial does not decide a claim.
    """
    replay: bool = False
    """True if the result is that of a single repeated trial (`--replay`)."""
    interrupted: bool = False
    """True if Ctrl-C or SIGTERM ended the campaign. The reports are the complete ones, or the content of the log at
    that time.
    """
    log: str | None = None
    """File from which a long campaign continues."""
    resumed: int = 0
    """Trials that the log contained before this run."""
    added: int = 0
    """Trials that this run added to the log."""
    changes: dict[str, str] = Field(default_factory=dict)
    """Keys of designs with values that the user gave in place of those in the files (`--with`)."""

    def brief(self) -> str:
        """Returns the brief form of each report."""
        return "; ".join(report.brief() for report in (*self.reports, *self.exhaustive))


class Protection(Result):
    """Number of attacks that a design stops, out of the attacks that apply to it."""

    design: str
    """Name of the design."""
    stopped: int
    """Attacks that the design stopped in every trial and claims to stop."""
    applicable: int
    """Attacks that have a target in this design, without hypothetical attacks."""
    trials: int
    """Number of trials of each attack."""
    agrees: bool
    """True if no attack ended worse than the design claims."""

    def brief(self) -> str:
        """Returns the design and the number of attacks that it stops."""
        return f"{self.design} stops {self.stopped} of {self.applicable} attacks"

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
