"""Start of a run: the instructions of each program before counting begins."""

from dataclasses import dataclass

from casemate.laboratory.arguments import Instructions
from casemate.text.shown import ShortRepr


@dataclass(frozen=True, kw_only=True, repr=False)
class RunStart(ShortRepr):
    """Instructions of each program before counting begins. The limit includes them."""

    untimed: Instructions = 0
    """Number of instructions that are executed without simulated time, before the warm-up. They leave caches, locks,
    TLBs, predictors and metadata as after a long run, at several times the speed of a warm-up. The machine must have
    one core, and the design no contexts of processes.
    """
    warm_up: Instructions = 0
    """Number of instructions that are simulated before counting begins. They set the state of caches and metadata, but
    no figure includes their time and traffic.
    """
