"""The workers of a study, on Dask: processes of this computer, or those of a scheduler that exists.

A worker gets points only after the client has admitted it: it must have the same build of Casemate, and a processor
that can execute it. Admission declares the worker's memory as a resource of Dask, which every point needs a part of.
The scheduler gives no point to a worker without this resource: one that the client refused, or has not examined yet.
"""

import logging
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from casemate import _core
from casemate._core import CasemateError
from casemate.rows.needed import library
from casemate.studies import cache, identity, main_guard, probe, worker
from casemate.studies.folder import WORKERS_FOLDER
from casemate.studies.points import StoredTrace

MEMORY = f"casemate-{identity.VERSION}-{identity.BUILD}"
"""Resource of Dask: the memory of a worker in bytes, for clients of this build."""
SECONDS_TO_CONNECT = 10
DEATHS = 3
"""Number of times that a point runs again after the death of its worker."""
PART_BYTES = 8 << 20
"""Size of the parts in which a trace goes to a worker."""
MEMORY_SHARE = 0.9
"""Part of a computer's memory that its workers use."""


@dataclass(frozen=True)
class Worker:
    """A worker, as it described itself."""

    address: str
    host: str
    pid: int
    memory_bytes: int
    """Memory that its points may take together; zero for a refused worker."""
    refused: str = ""
    """Reason why it gets no work; empty for an admitted one."""

    @property
    def name(self) -> str:
        """Name of the worker for people."""
        return f"worker {self.address} (process {self.pid} on {self.host})"


class Cluster:
    """A client of a Dask scheduler, with the workers that it has admitted."""

    def __init__(self, client: Any, own: Any, folder: Path | None, notify: Callable[[str], object]) -> None:
        self.client, self._own, self._folder, self._notify = client, own, folder, notify
        self._workers: dict[str, Worker] = {}
        self._sent: set[tuple[str, str]] = set()
        library("cloudpickle").register_pickle_by_value(probe)

    @staticmethod
    def local(folder: Path, count: int, notify: Callable[[str], object]) -> "Cluster":
        """Starts this number of worker processes on this computer; `folder` is the results folder."""
        main_guard.check()
        distributed, dask = library("distributed"), library("dask")
        _silence()
        own = folder / WORKERS_FOLDER
        dask.config.set({
            "distributed.scheduler.allowed-failures": DEATHS,
            "distributed.scheduler.worker-saturation": 1.0,
            "distributed.comm.timeouts.connect": "30s",
        })  # fmt: skip
        # Another user of this computer could otherwise send code to the workers.
        security = distributed.security.Security.temporary()
        try:
            cluster = distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address="127.0.0.1:0",
                local_directory=str(own), silence_logs=logging.CRITICAL, host="127.0.0.1", protocol="tls://",
                security=security, preload=["casemate.studies.worker_start"],
            )  # fmt: skip
        except RuntimeError as error:
            raise CasemateError(f"the worker processes did not start: {error}") from None
        return Cluster(_client(cluster, security=security), cluster, own, notify)

    @staticmethod
    def at(address: str, notify: Callable[[str], object]) -> "Cluster":
        """Connects to a scheduler. Raises `CasemateError` without an answer."""
        _silence()
        try:
            client = _client(address, timeout=SECONDS_TO_CONNECT)
        except (OSError, ValueError, TypeError) as error:
            raise CasemateError(
                f"no scheduler answers at '{address}': expected the address that `dask scheduler` printed, as in "
                f"tcp://head:8786 ({type(error).__name__})"
            ) from None
        return Cluster(client, None, None, notify)

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An end that hangs must not hide the error that led to it.
        for each in (self.client, self._own):
            with suppress(Exception):
                each.close(timeout=2)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def workers(self) -> list[Worker]:
        """Admitted workers that are alive."""
        return [each for each in self._workers.values() if not each.refused]

    @property
    def slots(self) -> int:
        """Number of points that the admitted workers can carry out at once, if memory permits."""
        return len(self.workers)

    def largest_bytes(self) -> int:
        """Returns the memory of the admitted worker with the most, in bytes."""
        return max((each.memory_bytes for each in self.workers), default=0)

    def has_only_refused(self) -> bool:
        """Returns true if there are workers, and the client refused each."""
        return bool(self._workers) and not self.workers

    def admit(self) -> bool:
        """Asks workers that are new, and admits or refuses them; forgets workers that have gone. Returns true if it
        admitted one.
        """
        known = self.client.scheduler_info(n_workers=-1).get("workers")
        if known is None or self.client.status == "closed":
            raise CasemateError("the scheduler has gone; all finished points are kept, and the same command continues")
        for gone in self._workers.keys() - known.keys():
            del self._workers[gone]
            self._sent = {(address, content) for address, content in self._sent if address != gone}
        new = [address for address in known if address not in self._workers]
        if not new:
            return False
        answers = self._run(new, probe.describe, _core.PROCESSOR_FLAGS)
        hosts = [each.host for each in self.workers]
        hosts += [answer["host"] for answer in answers.values() if isinstance(answer, Mapping)]
        share = {
            answer["host"]: int(MEMORY_SHARE * answer["memory"]) // hosts.count(answer["host"])
            for answer in answers.values() if isinstance(answer, Mapping)
        }  # fmt: skip
        for address, answer in answers.items():
            found = _judged(address, answer, share, known[address])
            if found.refused:
                self._notify(f"{found.name} gets no work: {found.refused}")
            else:
                self._run([address], _declare, {MEMORY: float(found.memory_bytes)})
            self._workers[address] = found
        return any(not self._workers[address].refused for address in answers)

    def send(self, traces: Iterable[StoredTrace]) -> None:
        """Sends each trace to the workers that have no file with its content."""
        wanted = {trace.content: trace for trace in traces}
        for each in self.workers:
            unknown = [(it.content, it.path) for it in wanted.values() if (each.address, it.content) not in self._sent]
            if not unknown:
                continue
            lacking = self._call(each.address, worker.lacks, unknown)
            if isinstance(lacking, worker.Failure):
                self._notify(f"{each.name} cannot look for traces: {lacking.reason}")
                continue
            for content in lacking:
                self._send(wanted[content], each)
            self._sent.update((each.address, content) for content, _ in unknown)

    def forget(self, content: str) -> None:
        """Notes that some worker has lost its copy of a trace, so that `send` examines the workers again."""
        self._sent = {(address, each) for address, each in self._sent if each != content}

    def _send(self, trace: StoredTrace, to: Worker) -> None:
        size = Path(trace.path).stat().st_size
        with Path(trace.path).open("rb") as file:
            for number in range(max(-(-size // PART_BYTES), 1)):
                part = file.read(PART_BYTES)
                is_last = (number + 1) * PART_BYTES >= size
                sent = self._call(to.address, cache.receive, trace.content, number, part, is_last)
                if isinstance(sent, worker.Failure):
                    self._notify(f"{to.name} cannot keep {trace.path}: {sent.reason}")
                    return

    def _call(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the package on a worker, and returns its value or a `Failure`."""
        answers = self._run([address], worker.guarded, function, *arguments)
        return answers.get(address, worker.Failure("it did not answer"))

    def _run(self, addresses: Sequence[str], function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Calls a function on these workers, and returns its values by address; workers that died meanwhile are
        missing.
        """
        try:
            answers = self.client.run(function, *arguments, workers=list(addresses), on_error="return")
        except (AssertionError, OSError, TimeoutError):
            return {}
        return {address: answer for address, answer in answers.items() if not isinstance(answer, OSError)}


def _judged(address: str, answer: Any, share: Mapping[str, int], known: Mapping[str, Any]) -> Worker:
    """Decides whether a worker gets work, from its answer."""
    if not isinstance(answer, Mapping):
        return Worker(address, "?", 0, 0, f"it did not describe itself ({answer})")
    memory = int(known.get("memory_limit") or 0) or share[answer["host"]]
    refused = _reason_to_refuse(answer)
    return Worker(address, answer["host"], answer["pid"], 0 if refused else memory, refused)


def _reason_to_refuse(answer: Mapping[str, Any]) -> str:
    """Returns the reason why a worker can do no work for this client; empty if there is no reason."""
    if answer["missing"]:
        return f"its processor lacks {', '.join(answer['missing'])}, which this build of Casemate needs"
    if "error" in answer:
        return f"it cannot load Casemate ({answer['error']})"
    if (answer["version"], answer["build"]) != (identity.VERSION, identity.BUILD):
        return (
            f"it has Casemate {answer['version']} of build {answer['build']}, and this client has "
            f"{identity.VERSION} of build {identity.BUILD}"
        )
    return ""


def _client(scheduler: Any, **settings: Any) -> Any:
    """Connects a client of Dask to a scheduler. A client that finds no scheduler is closed at once: the garbage
    collector would close it at any moment, also while its thread holds the lock that the end of a client waits for.
    """
    kind: Any = library("distributed").Client
    client = kind.__new__(kind)
    try:
        client.__init__(scheduler, **settings)
    except BaseException:
        with suppress(Exception):
            client.close(timeout=2)
        raise
    return client


def _silence() -> None:
    """Silences the logs of Dask: the client names workers and points that matter."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


async def _declare(resources: dict[str, float], dask_worker: Any) -> None:
    """Declares resources of a worker to its scheduler. Runs on the worker."""
    await dask_worker.set_resources(**resources)


def memory_bytes() -> int:
    """Returns the memory of this computer that its workers may use together, in bytes."""
    return int(MEMORY_SHARE * probe.memory_bytes())


def cores() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))
