"""The claims of a new design, from what its attacks came to: the tables that its file still lacks."""

from collections.abc import Iterable, Sequence

from casemate.results.attack import AttackReport
from casemate.results.crash import CrashReport


def scaffold(attacks: AttackReport, losses: CrashReport) -> str:
    """The tables `[claims]` and `[crash]` of a design file, with the worst verdict of every row. To claim them says
    that this is what the design should do.
    """
    about = f"{attacks.trials} trials of each attack, seeds from {attacks.seed}: read every row before you claim it"
    rows = [(row.attack, row.worst) for row in attacks.rows]
    lost = [(row.loss, row.worst) for row in losses.rows if row.worst != "not-applicable" or row.loss == "power-loss"]
    return "\n".join([*_table("claims", rows, about), "", *_table("crash", lost), ""])


def _table(name: str, rows: Sequence[tuple[str, str]], about: str = "") -> Iterable[str]:
    yield f"[{name}]" + (f" # {about}" if about else "")
    for row, worst in rows:
        yield f'{row} = "{worst}"'
