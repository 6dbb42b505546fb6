"""Many tiny points: no point is lost, whatever tables the client merges on the way.

The usual test has a few hundred; `CASEMATE_DRILL=full` has ten thousand.
"""

import os
from pathlib import Path

from casemate.studies import table
from casemate.studies.query import Results
from casemate.studies.study import Study
from casemate.studies.sweep import Workers, sweep

POINTS = 10_000 if os.environ.get("CASEMATE_DRILL") == "full" else 200


def test_no_tiny_point_of_a_study_is_lost(scheduler: str, tmp_path: Path) -> None:
    programs = [{"workload": "gups", "settings": {"footprint": "64 KB"}}]
    study = Study(programs=programs, designs="none", seeds=POINTS, limit=2_000)
    found = sweep(study, tmp_path, workers=Workers(scheduler=scheduler))
    assert (found.points, found.done, found.failures) == (POINTS, POINTS, ())
    (counted,) = Results(tmp_path).sql("SELECT count(*), count(DISTINCT point), count(DISTINCT seed) FROM runs").rows()
    assert counted == (POINTS, POINTS, POINTS)
    assert len(table.written(tmp_path)) < 32
