"""A study on a Slurm cluster: Dask's deployer submits workers to a replacement of `sbatch`, which runs them here."""

import os
import time
from pathlib import Path

import pytest
from casemate.studies.study import Study
from casemate.studies.sweep import Workers, sweep

jobqueue = pytest.importorskip("dask_jobqueue")

SBATCH = """#!/bin/sh
# Runs the job script in the background, in a new session, and prints the number of the job as Slurm does. Slurm reads
# the script before it answers, and the deployer then deletes the script.
setsid sh -c "$(cat "$1")" >/dev/null 2>&1 &
echo $! >> "$JOBS"
echo "Submitted batch job $!"
"""

SCANCEL = """#!/bin/sh
# Ends a job: its session has the number of the job.
echo "$1" >> "$JOBS.cancelled"
kill -TERM -- "-$1"
"""


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that lists the jobs of the replacement, which is in the path."""
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("JOBS", str(tmp_path / "jobs"))
    return tmp_path / "jobs"


def is_running(job: str) -> bool:
    """Returns true if a process of the job runs."""
    stat = Path(f"/proc/{job}/stat")
    return stat.exists() and stat.read_text().split(")")[-1].split()[0] != "Z"


def test_a_study_runs_on_workers_that_slurm_started(jobs: Path, tmp_path: Path) -> None:
    study = Study(programs=["gups"], designs=["none", "ctr-mac"], seeds=3, limit=20_000)
    with jobqueue.SLURMCluster(
        cores=1, processes=1, memory="2GB", interface="lo", local_directory=str(tmp_path / "own"),
        log_directory=str(tmp_path / "logs"), scheduler_options={"dashboard_address": None},
    ) as cluster:  # fmt: skip
        cluster.scale(jobs=2)
        found = sweep(study, tmp_path / "results", workers=Workers(scheduler=cluster.scheduler_address))
        assert len(jobs.read_text().split()) == 2
    assert (found.points, found.done, found.failures) == (6, 6, ())
    late = time.monotonic() + 20
    while any(map(is_running, jobs.read_text().split())) and time.monotonic() < late:
        time.sleep(0.2)
    assert not any(map(is_running, jobs.read_text().split()))
