"""Start of a worker process of this computer. Ctrl-C in the terminal reaches it as well; only the client handles it."""

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Ignores Ctrl-C. Dask calls this function in the main thread of each worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
