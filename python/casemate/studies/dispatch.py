"""Has the workers of a cluster carry points out, and keeps the row of each as it ends."""

import queue
import time
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError
from typing import Any

from distributed.scheduler import KilledWorker

from casemate._core import CasemateError
from casemate.rows.columns import Row
from casemate.studies import identity, worker
from casemate.studies.cluster import DEATHS, MEMORY, Cluster
from casemate.studies.folder import ResultsFolder
from casemate.studies.points import Point
from casemate.studies.sessions import Batch, batches, needed_bytes
from casemate.terminal.work import Report, Work
from casemate.text import amounts

SECONDS_BETWEEN_LOOKS = 0.25
SECONDS_TO_FETCH = 10
"""Maximum time to fetch the rows of an ended batch from its worker."""
SECONDS_BETWEEN_ADMISSIONS = 1.0
BATCHES_PER_WORKER = 2
"""Batches that the scheduler has for each worker, so that no worker waits for the client."""


class Dispatch:
    """Carries points out on a cluster, and writes their rows into a results folder."""

    def __init__(self, cluster: Cluster, folder: ResultsFolder, work: Work, report: Report) -> None:
        self._cluster, self._folder, self._work, self._report = cluster, folder, work, report
        self._waiting: deque[Batch] = deque()
        self._running: dict[Any, Batch] = {}
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._attempts: dict[str, int] = {}
        self._last_admission = 0.0

    def carry_out(self, points: Sequence[Point]) -> None:
        """Carries out all points, and reports on the way. Raises `CasemateError` if no worker has enough memory for a
        point. `KeyboardInterrupt` ends the work; the rows of finished points are kept.
        """
        self._wait_for_workers()
        self._check_memory(points)
        self._waiting = deque(batches(points, self._cluster.slots, self._cluster.largest_bytes()))
        try:
            while self._waiting or self._running:
                self._look_at_workers()
                self._submit()
                self._take()
                self._folder.flush_if_due()
                self._report_state()
        except KeyboardInterrupt:
            self._take_finished()
            raise
        finally:
            self._cluster.client.cancel(list(self._running), force=True)
            self._folder.flush()

    def _report_state(self) -> None:
        # The workers carry the oldest batches out, and have one more each.
        oldest = list(self._running.values())[: self._cluster.slots]
        self._work.running = [point.title for batch in oldest for point in batch]
        self._work.workers = self._cluster.slots
        self._report(self._work)

    def _wait_for_workers(self) -> None:
        self._cluster.admit()
        while not self._cluster.slots:
            if self._cluster.has_only_refused():
                raise CasemateError("no worker can do the work: the client refused each, for the reason above")
            time.sleep(SECONDS_BETWEEN_LOOKS)
            self._report_state()
            self._cluster.admit()

    def _check_memory(self, points: Iterable[Point]) -> None:
        most = self._cluster.largest_bytes()
        for point in points:
            if point.memory_bytes > most:
                raise CasemateError(
                    f"{point.title} may need {amounts.size(point.memory_bytes)} of memory, and the largest worker has "
                    f"{amounts.size(most)}: expected a smaller program or machine.memory.size, fewer --workers, or a "
                    "larger computer"
                )

    def _look_at_workers(self) -> None:
        """Admits new workers. Points of workers that died begin again, if the scheduler found no other worker for them:
        it does not look again when a worker is admitted.
        """
        if time.monotonic() - self._last_admission < SECONDS_BETWEEN_ADMISSIONS:
            return
        self._last_admission = time.monotonic()
        if not self._cluster.admit():
            return
        placed = {key for keys in self._cluster.client.processing().values() for key in keys}
        for future in [each for each in self._running if each.status == "pending" and each.key not in placed]:
            batch = self._running.pop(future)
            future.cancel(force=True)
            self._again(batch, "its worker died")

    def _submit(self) -> None:
        while self._waiting and len(self._running) < self._batches_at_once():
            batch = self._waiting.popleft()
            self._cluster.send(trace for point in batch for trace in point.traces())
            future = self._cluster.client.submit(
                worker.guarded, worker.carry_out, [point.to_json() for point in batch], pure=False,
                resources={MEMORY: float(needed_bytes(batch))},
            )  # fmt: skip
            self._running[future] = batch
            future.add_done_callback(self._ended.put)

    def _batches_at_once(self) -> int:
        """Returns the number of batches that the scheduler may have. While points of dead workers run again, each
        worker has one batch, so that a point which ends its worker does not take other points with it.
        """
        repeated = any(point.hash in self._attempts for batch in self._running.values() for point in batch)
        repeated |= any(point.hash in self._attempts for point in self._waiting[0])
        return self._cluster.slots * (1 if repeated else BATCHES_PER_WORKER)

    def _take(self) -> None:
        """Takes the rows of ended batches; waits a moment for the first."""
        try:
            self._keep(self._ended.get(timeout=SECONDS_BETWEEN_LOOKS))
            while not self._ended.empty():
                self._keep(self._ended.get())
        except queue.Empty:
            pass

    def _take_finished(self) -> None:
        """Keeps the rows of batches that ended but were not taken."""
        for future in [each for each in self._running if each.status == "finished"]:
            self._keep(future)

    def _keep(self, future: Any) -> None:
        """Keeps the rows of an ended batch, or queues its points again if they are not to blame."""
        batch = self._running.pop(future, None)
        if batch is None:
            return
        try:
            rows = future.result(timeout=SECONDS_TO_FETCH)
        except (CancelledError, TimeoutError):
            # The worker may have died with the rows, before the client fetched them.
            future.cancel(force=True)
            self._again(batch, "its worker died")
        except KilledWorker:
            # Some point of the batch ended the workers: find it.
            if len(batch) > 1:
                self._waiting.extendleft((point,) for point in batch)
            else:
                self._add([worker.failed(batch[0], f"its worker died, {DEATHS + 1} times", DEATHS + 1)])
        except Exception as error:
            self._add(worker.failed(point, f"{type(error).__name__}: {error}") for point in batch)
        else:
            self._keep_rows(batch, rows)

    def _keep_rows(self, batch: Batch, rows: "list[Row] | worker.Failure") -> None:
        """Keeps the rows of a batch, or the reason why it has no rows."""
        if not isinstance(rows, worker.Failure):
            if any(row["build"] != identity.BUILD for row in rows):
                self._again(batch, "a worker of another build did it")
            else:
                self._add(rows)
        elif rows.missing_trace:
            self._cluster.forget(rows.reason)
            self._again(batch, "its trace was removed from the worker")
        elif rows.cancelled:
            self._again(batch, "its scheduler lost it")
        else:
            self._add(worker.failed(point, rows.reason) for point in batch)

    def _again(self, batch: Batch, reason: str) -> None:
        """Queues points again, or keeps them as failed after too many attempts."""
        for point in batch:
            attempts = self._attempts[point.hash] = self._attempts.get(point.hash, 0) + 1
            if attempts <= DEATHS:
                self._waiting.appendleft((point,))
            else:
                self._add([worker.failed(point, f"{reason}, {attempts} times", attempts)])

    def _add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._folder.add(row)
            self._work.done += row["status"] == "done"
            self._work.failed += row["status"] == "failed"
