"""What reads and cores waited for."""

from casemate.results.base import Result


class ReadParts(Result):
    """What the time of reads was for.

    While the line itself is not there, time counts for it, though metadata may be under way too; then for what is
    awaited, in the order in which it ends. So the parts add up to the whole.
    """

    write_back: float
    """On the way to the controller: a fill waited until a victim's write had left its buffer."""
    admission: float
    """Before the fetch: others had the line, or its owner was looked up."""
    reencryption: float
    """Before the fetch as well: its group was being re-encrypted, or as many groups as may be."""
    memory_queue: float
    """The line's fetch, in so far as other requests, refreshes and writes made it longer than a lone one."""
    data: float
    """The rest of the fetch."""
    counter: float
    """Its counter."""
    tree: float
    """Nodes of the tree and their hashes."""
    tag: float
    """Its tag."""
    bitmap: float
    """The bitmap that its words lie by, with its decryption."""
    engine_queue: float
    """Units for cryptography that were busy."""
    engine: float
    """Units for cryptography at work."""
    on_chip: float
    """Ways and look-ups on the chip, before the controller and after it."""
    persist_buffer: float = 0.0
    """No read: a core's stores waited for its persist buffer."""
    fence: float = 0.0
    """No read: a core's persist fences waited for what it had flushed."""


class CoreTime(Result):
    """What the cores' cycles were for, all cores together: the parts add up to them."""

    cycles: int
    """All of them."""
    at_work_cycles: float
    """Those in which instructions retired, or would have with whatever speed of memory."""
    idle_cycles: float
    """Those without anything to execute, because other cores' part of the program had to come first."""
    switching_cycles: float = 0.0
    """Those in which a core was switched from one process to another."""
    waiting_cycles: ReadParts
    """Those in which nothing retired because a line was awaited, by what its trip to the core was taken up with."""

    def by_cause(self) -> dict[str, float]:
        """Each cause, and its cycles."""
        own = {"at_work": self.at_work_cycles, "idle": self.idle_cycles, "switching": self.switching_cycles}
        return own | self.waiting_cycles.model_dump()


class ReadTimes(Result):
    """What reads took from the memory controller's door to the release of the line, or of the words asked for."""

    lines: int
    """Lines."""
    mean_ns: float
    """In the mean, in nanoseconds."""
    median_ns: float
    """What half of them did not exceed, to within a thirty-second part, in nanoseconds."""
    p99_ns: float
    """What 99 in 100 did not exceed, likewise."""
    parts_ns: ReadParts
    """What the mean is made of, in nanoseconds. What is before the controller's door has no part in it."""
    histogram: tuple[tuple[int, int], ...] = ()
    """How many ended in each bucket, by its end in femtoseconds; an interval has none."""
