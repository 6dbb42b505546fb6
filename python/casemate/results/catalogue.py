"""What there is: designs, machines, workloads, attacks; and where a design puts its metadata."""

from typing import Literal, get_args

from pydantic import ConfigDict, Field

from casemate.results.base import STRICT, Result
from casemate.results.caches import CacheDesign
from casemate.results.moving import PermutationDesign
from casemate.results.predicted import SpeculationDesign

Verdict = Literal[
    "not-applicable",
    "harmless",
    "hidden",
    "refused",
    "detected",
    "bounded",
    "unrecoverable",
    "garbled",
    "leaked",
    "stale",
    "forged",
]
"""How an attack ends, from what the defender wants to what it fears. `casemate.api.verdicts()` says what each means."""

End = Literal[
    "not-applicable",
    "harmless",
    "hidden",
    "refused",
    "detected",
    "bounded",
    "unrecoverable",
    "unrecoverable + leaked",
    "garbled",
    "garbled + leaked",
    "leaked",
    "stale",
    "stale + leaked",
    "forged",
    "forged + leaked",
]
"""How an attack ends in full: a verdict, and whether something about the plaintext was learned as well."""

SEVERITY: tuple[End, ...] = get_args(End)
"""All ends, from what the defender wants to what it fears."""

STOPPED: tuple[Verdict, ...] = ("not-applicable", "harmless", "hidden", "refused", "detected", "bounded")
"""The verdicts with which a design withstood."""


class MacDesign(Result):
    """How lines are authenticated."""

    code: Literal[
        "none",
        "gmac",
        "sgx-cw",
        "cmac",
        "cbc-mac",
        "hmac-sha1",
        "hmac-sha256",
        "hmac-sha512",
        "sha3",
        "ocb",
        "ocb-chunks",
    ]
    """Which authentication code."""
    tag_bits: int | None = None
    """Length of a line's tag, in bits; nothing if each chunk has one."""
    chunk_tag_bits: int | None = None
    """Length of the tag of each chunk, in bits, if each has one and its length was given."""
    over: Literal["ciphertext", "plaintext"]
    """What of a line it is computed over."""
    covers: tuple[Literal["address", "counter"], ...]
    """What a code without a nonce covers besides the line; one with a nonce always covers address and counter."""
    place: Literal["region", "ecc", "beside"]
    """Where tags lie: in a region of their own, in the ECC bits of their line, or behind it."""
    lines: int
    """Lines under one tag."""


Counters = Literal[
    "none", "mono-56", "sc64", "sc64-mac", "sc128", "vault32", "vault16", "morphable", "page-record", "rv-64"
]
"""How counters are organised."""


class StaticForest(Result):
    """A tree all of whose nodes of one level are roots, kept on the chip."""

    kind: Literal["static"]
    """Static."""
    level: int
    """The level; 0 stands directly above the counters."""
    entries: int
    """Nodes for which the chip has room; where they are more, the last are folded into their parents."""


class DynamicForest(Result):
    """A tree whose nodes that hear most are roots, kept on the chip."""

    kind: Literal["dynamic"]
    """Dynamic."""
    entries: int
    """Nodes for which the chip has room."""
    period: int
    """Updates from one look at the counts to the next."""
    threshold: int
    """Twice the updates that a root must still count after halving for a child to become a root as well."""


class TreeDesign(Result):
    """The freshness of a design."""

    kind: Literal["none", "bonsai", "merkle", "counters"]
    """Which kind of tree."""
    arity: int
    """Children of a node of tags."""
    levels: list[Counters]
    """What nodes of counters are made of, from the level above the leaves; the last stands for all above it."""
    root_lines: int
    """Lines that the root takes on the chip."""
    update: Literal["lazy", "eager"]
    """When nodes learn of changes."""
    forest: StaticForest | DynamicForest | None = Field(default=None, discriminator="kind")
    """Which nodes are roots besides the topmost."""


class PersistenceDesign(Result):
    """Whether and how writes outlive a loss of power."""

    order: Literal["none", "strict", "pipelined", "coalesced"]
    """In which order tuples become durable."""
    lines: int
    """Lines of data that become durable together, if they may."""
    point: Literal["controller", "buffer", "caches"] = "controller"
    """Where a store is durable."""
    entries: int = 32
    """Entries of each core's persist buffer."""
    drain_from: float = 0.75
    """The part of the entries that are in use when the buffer begins to drain."""
    drain_to: float = 0.5
    """The part of the entries that are in use when it stops."""
    latency_cycles: int = 2
    """How long a store takes into it, in cycles of the core."""
    early: tuple[Literal["counter", "pad", "root", "ciphertext", "tag"], ...] = ()
    """The steps of its tuple that are done as a store enters the buffer."""
    battery: Literal["tuples", "data"] = "tuples"
    """What the buffer's battery does when power fails."""

    @property
    def exists(self) -> bool:
        """Whether anything outlives a loss of power."""
        return self.order != "none" or self.point != "controller"


class Parts(Result):
    """The parts that a design is composed of."""

    cipher: Literal[
        "none",
        "aes128-counter",
        "aes192-counter",
        "aes256-counter",
        "tdes-counter",
        "aes128-gcm",
        "aes256-gcm",
        "aes128-ocb",
        "aes128-ocb-chunks",
        "aes256-ocb-chunks",
        "tdes-ocb-chunks",
        "aes128-xts",
        "aes256-xts",
        "aes128-cbc",
        "tdes-cbc",
        "aes128-ecb",
        "tdes-ecb",
    ]
    """How data is encrypted."""
    counters: Counters
    """How versions are counted."""
    mac: MacDesign
    """How lines are authenticated."""
    tree: TreeDesign
    """How versions or tags are kept fresh."""
    ownership: Literal["none", "pages", "pages-hidden"]
    """Whether pages have owners, who alone write them, and whether their ciphertext is hidden from other software."""
    caches: CacheDesign
    """Caches on the chip."""
    persistence: PersistenceDesign
    """Whether and how writes outlive a loss of power."""
    release: Literal["verified", "speculative"]
    """When lines go to the core: with their verdict, or when they are decrypted."""
    speculation: SpeculationDesign | None = None
    """What the controller guesses that lines hold; nothing if it guesses nothing."""
    permutation: PermutationDesign | None = None
    """Whether and how lines move; nothing if they stay where they are."""


class Design(Result):
    """A design, as its file says it."""

    name: str
    """Its name."""
    summary: str
    """What it is, in a sentence."""
    design_class: str
    """The class of protection, from C0 (plain memory) up; it says how every row ends that the file does not name."""
    source: str
    """Where it comes from."""
    leaves_out: tuple[str, ...] = ()
    """What the source has and the model lacks, where a claim could be misread for it; a sentence each."""
    parts: Parts
    """What it is composed of."""
    alias_check: bool = False
    """Whether firmware looks for aliases of addresses before it lets memory be used."""
    claims: dict[str, End]
    """The worst end of each attack that it admits: its class's, or its own."""
    crash: dict[str, End]
    """The worst end of each kind of loss of power that it admits: its class's, or its own."""

    def brief(self) -> str:
        """Its name, and what it is."""
        return f"{self.name}: {self.summary}"


class DesignInfo(Design):
    """A built-in design."""

    weaknesses: tuple[str, ...]
    """What a reviewer would object to, in a word each."""


class Machine(Result):
    """A machine: its name, and every value as in its file (see `machines/` for the units of each)."""

    model_config = STRICT | ConfigDict(extra="allow")

    name: str
    """Its name."""
    summary: str
    """What it is, in a sentence."""

    def brief(self) -> str:
        """Its name, and what it is."""
        return f"{self.name}: {self.summary}"


class Setting(Result):
    """A key of a machine or a design, with its value."""

    key: str
    """The key, by its path."""
    value: str | None
    """Its value as a file has it; nothing if there is none."""
    source: Literal["file", "class", "default", "change"]
    """Where the value comes from: the file, the default of what the file leaves out, or `--with`."""


class Settings(Result):
    """All values of a machine or a design."""

    name: str
    """Its name, or its file."""
    settings: tuple[Setting, ...]
    """Its keys, those of a table together."""


class Parameter(Result):
    """Something that can be set about a workload."""

    name: str
    """Its name."""
    accepts: str
    """What it accepts, with its unit."""
    default: str
    """Its value if nothing is said."""
    summary: str
    """What it means, in a line."""


class Workload(Result):
    """A built-in workload."""

    name: str
    """Its name."""
    summary: str
    """What it does and what it is bound by."""
    parameters: tuple[Parameter, ...]
    """What can be set."""


class Attack(Result):
    """Something that an attacker does to memory."""

    name: str
    """Its name."""
    summary: str
    """What the attacker does, in a sentence."""
    hypothetical: bool = False
    """Whether it assumes a fault that no design here has, so that its end is none of the design's."""


class Loss(Result):
    """A kind of loss of power."""

    name: str
    """Its name."""
    summary: str
    """What is done, in a sentence."""


class Meaning(Result):
    """A verdict, and what it means."""

    name: Verdict
    """Its name."""
    summary: str
    """What it means, in a sentence."""
    stopped: bool
    """Whether the design withstood."""


Subject = Literal["memory", "cache", "encryption", "authentication", "tree", "way", "wait", "exit", "alarm"]
"""What a piece of work is about."""


class VerbMeaning(Result):
    """What a span of a timeline can be of."""

    name: str
    """The verb."""
    about: Subject
    """What it is about: verbs of one subject look alike."""
    summary: str
    """What it means, in a sentence."""


class Region(Result):
    """A run of memory with one purpose."""

    role: str
    """What it holds: data, counter, tag, or a level of the tree."""
    level: int | None
    """Of a tree, the level; level 0 stands directly above the leaves."""
    start: int
    """Its first byte, as a physical address."""
    lines: int
    """Its lines of 64 bytes."""
    bytes: int
    """Its size in bytes."""
    serves: int
    """What one line serves: data lines for data, counters and tags; children for nodes of a tree."""
    percent: float
    """Its size in percent of the data."""


class OnChip(Result):
    """Something that is kept on the chip."""

    what: str
    """What it is: a cache, or the root of the tree."""
    bytes: int
    """Its size in bytes."""
    ways: int | None
    """Of a cache, the lines in a set."""
    serves: int | None
    """Of a root, the children of each of its lines."""


class Layout(Result):
    """Where a design puts data and metadata."""

    design: str
    """The design's name."""
    memory: int
    """Bytes of data."""
    regions: tuple[Region, ...]
    """Memory, from the bottom up."""
    on_chip: tuple[OnChip, ...]
    """The chip: caches, then the root."""
    overhead_percent: float
    """All metadata in memory in percent of the data."""


class Listing(Result):
    """Everything that is built in."""

    designs: tuple[DesignInfo, ...] = ()
    """What protects memory."""
    machines: tuple[Machine, ...] = ()
    """What programs run on."""
    workloads: tuple[Workload, ...] = ()
    """What can be run without a program."""
    attacks: tuple[Attack, ...] = ()
    """What attackers do."""
    traces: tuple[str, ...] = ()
    """Trace files in the folder that was searched."""
