"""Claims of a new design, from the results of its attacks: the tables that its file still lacks."""

from collections.abc import Iterable, Sequence

from casemate.schemas.attack import AttackReport
from casemate.schemas.crash import CrashReport


def scaffold(attacks: AttackReport, losses: CrashReport) -> str:
    """Returns the tables `[claims]` and `[crash]` of a design file: the rows with an end that neither its class nor its
    file states, each with its worst end. A designer who adds the tables to the file declares these ends as intended.
    """
    tried = f"{attacks.trials} trials of each attack, seeds from {attacks.seed}"
    rows = [(row.attack, row.worst) for row in attacks.rows if row.worst != row.claim]
    lost = [(row.loss, row.worst) for row in losses.rows if row.worst != (row.claim or "not-applicable")]
    if not rows and not lost:
        return f"# Every row ended as the class and the file say ({tried}).\n"
    about = f"{tried}: read every row before you claim it"
    tables = [[*_table("claims", rows, about)] if rows else [], [*_table("crash", lost)] if lost else []]
    return "\n".join("\n".join([*table, ""]) for table in tables if table)


def _table(name: str, rows: Sequence[tuple[str, str]], about: str = "") -> Iterable[str]:
    yield f"[{name}]" + (f" # {about}" if about else "")
    for row, worst in rows:
        yield f'{row} = "{worst}"'
