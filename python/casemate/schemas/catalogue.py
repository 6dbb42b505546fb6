"""The catalogue of designs, machines, workloads and attacks."""

from typing import Literal, get_args

from pydantic import ConfigDict, Field

from casemate.schemas.base import STRICT, Result
from casemate.schemas.caches import CacheDesign
from casemate.schemas.moving import PermutationDesign
from casemate.schemas.predicted import SpeculationDesign
from casemate.text import amounts

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
"""End of an attack, from the defender's best to its worst case. `casemate.api.verdicts()` explains each verdict."""

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
"""Full end of an attack: a verdict, and whether the attacker learned anything about the plaintext as well."""

SEVERITY: tuple[End, ...] = get_args(End)
"""All ends, from the defender's best to its worst case."""

STOPPED: tuple[Verdict, ...] = ("not-applicable", "harmless", "hidden", "refused", "detected", "bounded")
"""Verdicts of attacks that the design withstood."""


class Component(Result):
    """A component of the catalogue."""

    name: str
    """Name of the component."""
    summary: str
    """Description of the component, in a sentence."""

    def brief(self) -> str:
        """Returns the name and the summary."""
        return f"{self.name}: {self.summary}"


class MacDesign(Result):
    """Method of authenticating lines."""

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
    """Authentication code of the design."""
    tag_bits: int | None = None
    """Length of a line's tag, in bits; null if each chunk has a separate tag."""
    chunk_tag_bits: int | None = None
    """Length of the tag of each chunk, in bits; null without tags of chunks, or if the file states no length."""
    over: Literal["ciphertext", "plaintext"]
    """Text over which the tag is computed."""
    covers: tuple[Literal["address", "counter"], ...]
    """Input of a code without a nonce, in addition to the line; a code with a nonce covers address and counter."""
    place: Literal["region", "ecc", "beside"]
    """Storage of tags: in a separate region, in the ECC bits of their line, or behind the line."""
    lines: int
    """Number of lines that share one tag."""


Counters = Literal[
    "none", "mono-56", "sc64", "sc64-mac", "sc128", "vault32", "vault16", "morphable", "page-record", "rv-64"
]
"""Organisation of the encryption counters in their lines."""


class StaticForest(Result):
    """A forest: all nodes of one level of the tree are roots, which the chip keeps."""

    kind: Literal["static"]
    """Kind of the forest: always static."""
    level: int
    """Level of the roots; level 0 is directly above the counters."""
    entries: int
    """Room for roots on the chip; if the level has more nodes, the last are folded into their parents."""


class DynamicForest(Result):
    """A forest: the most often updated nodes of the tree are roots, which the chip keeps."""

    kind: Literal["dynamic"]
    """Kind of the forest: always dynamic."""
    entries: int
    """Number of roots for which the chip has room."""
    period: int
    """Number of updates after which the forest halves all update counts and may select a new root."""
    threshold: int
    """Twice the number of updates that a root must still count, after halving, for a child to become a root as well."""


class TreeDesign(Result):
    """Freshness of the metadata of a design."""

    kind: Literal["none", "bonsai", "merkle", "counters"]
    """Kind of the tree."""
    arity: int
    """Number of children of a node of tags."""
    levels: list[Counters]
    """Counter organisation of nodes, from the level above the leaves; the last entry applies to all higher levels."""
    root_lines: int
    """Number of lines on the chip that the root occupies."""
    update: Literal["lazy", "eager"]
    """Time at which the controller updates nodes: at each write, or when a child leaves the chip."""
    forest: StaticForest | DynamicForest | None = Field(default=None, discriminator="kind")
    """Forest: nodes that are roots in addition to the topmost node."""


class PersistenceDesign(Result):
    """Survival of writes after a loss of power."""

    order: Literal["none", "strict", "pipelined", "coalesced"]
    """Order in which tuples become durable."""
    lines: int
    """Maximum number of data lines in a tuple, which become durable together."""
    point: Literal["controller", "buffer", "caches"] = "controller"
    """Point at which a store becomes durable."""
    entries: int = 32
    """Entries of each core's persist buffer."""
    drain_from: float = 0.75
    """Share of used entries at which the buffer begins to drain."""
    drain_to: float = 0.5
    """Share of used entries at which the buffer stops draining."""
    latency_cycles: int = 2
    """Latency of a store into the buffer, in core cycles."""
    early: tuple[Literal["counter", "pad", "root", "ciphertext", "tag"], ...] = ()
    """Early steps: steps of securing a store that are done as the store enters the buffer."""
    battery: Literal["tuples", "data"] = "tuples"
    """Work of the buffer's battery when power fails."""

    @property
    def exists(self) -> bool:
        """True if any data survives a loss of power."""
        return self.order != "none" or self.point != "controller"


class Parts(Result):
    """Parts that compose a design."""

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
    """Method of encryption of data."""
    counters: Counters
    """Organisation of encryption counters."""
    mac: MacDesign
    """Method of authenticating lines."""
    tree: TreeDesign
    """Protection of counters or tags against replay."""
    ownership: Literal["none", "pages", "pages-hidden"]
    """Page ownership: only the owner may write a page. `pages-hidden` also hides its ciphertext from others."""
    caches: CacheDesign
    """Metadata caches on the chip."""
    persistence: PersistenceDesign
    """Survival of writes after a loss of power."""
    release: Literal["verified", "speculative"]
    """Time at which a line is released to the core: after its verification, or as soon as it is decrypted."""
    speculation: SpeculationDesign | None = None
    """Speculation of the controller on the content of lines; null without speculation."""
    permutation: PermutationDesign | None = None
    """Permutation of lines among slots; null if lines keep their slots."""


class Design(Component):
    """A design, as its file describes it."""

    name: str
    """Name of the design."""
    summary: str
    """Description of the design in a sentence."""
    design_class: str
    """Class of protection, from C0 (plain memory) up; it decides the claimed end of attacks that the file omits."""
    source: str
    """Publication or product that the design models."""
    leaves_out: tuple[str, ...] = ()
    """Features of this source that the model lacks, if their absence could make a claim misleading; a sentence each."""
    parts: Parts
    """Parts that compose the design."""
    alias_check: bool = False
    """True if firmware checks memory for address aliases before software may use it."""
    claims: dict[str, End]
    """Worst end that the design admits for each attack: from its class or from its file."""
    crash: dict[str, End]
    """Worst end that the design admits for each kind of loss of power: from its class or from its file."""


class DesignInfo(Design):
    """A design that is built in."""

    weaknesses: tuple[str, ...]
    """Objections that a reviewer would raise, a word each."""


class Machine(Component):
    """A machine: its name, and every value as in its file (the files in `machines/` state the units)."""

    model_config = STRICT | ConfigDict(extra="allow")

    name: str
    """Name of the machine."""
    summary: str
    """Description of the machine in a sentence."""


class Setting(Result):
    """A configuration key of a machine or a design, with its value."""

    key: str
    """Path of the key."""
    value: str | None
    """Value in the notation of the file; null without a value."""
    source: Literal["file", "class", "default", "change"]
    """Source of the value: the file, the class, the default of a key that the file omits, or `--with`."""


class Settings(Result):
    """All values of a machine or a design."""

    name: str
    """Name of the machine or design, or of its file."""
    settings: tuple[Setting, ...]
    """All keys, grouped by table."""

    def brief(self) -> str:
        """Returns the name and the number of keys."""
        return f"{self.name}: {amounts.counted(len(self.settings), 'key')}"


class Parameter(Result):
    """A parameter of a workload."""

    name: str
    """Name of the parameter."""
    accepts: str
    """Accepted values, with their unit."""
    default: str
    """Value if the user does not set the parameter."""
    summary: str
    """Meaning of the parameter, in a line."""


class Workload(Component):
    """A workload that is built in."""

    name: str
    """Name of the workload."""
    summary: str
    """Work of the program, and the resource that bounds its speed."""
    parameters: tuple[Parameter, ...]
    """Parameters of the workload."""


class Attack(Component):
    """An attack on memory."""

    name: str
    """Name of the attack."""
    summary: str
    """Action of the attacker, in a sentence."""
    hypothetical: bool = False
    """True if the attack assumes a fault that no design here has, so that its end does not count against a design."""


class Loss(Component):
    """A kind of loss of power."""

    name: str
    """Name of the kind of loss."""
    summary: str
    """Description of the kind of loss, in a sentence."""


class Meaning(Component):
    """A verdict and its meaning."""

    name: Verdict
    """Name of the verdict."""
    summary: str
    """Meaning of the verdict, in a sentence."""
    stopped: bool
    """True if the design withstood the attack."""


Subject = Literal["memory", "cache", "encryption", "authentication", "tree", "way", "wait", "exit", "alarm"]
"""Category of a piece of work, by the subject of its verb."""


class VerbMeaning(Component):
    """Kind of work of a timeline span."""

    name: str
    """Verb of the span."""
    about: Subject
    """Subject of the verb; verbs of one subject are drawn alike."""
    summary: str
    """Meaning of the verb, in a sentence."""
