"""Workers that wait for each other, so that none of them does all the work alone."""

import os
import time
from pathlib import Path

PATIENCE_S = 60.0


def meet(folder, job, number=2):
    """In a worker: here until so many of them were here. In the process `job`,
    which may compute the same by itself: at once."""
    if os.getpid() == job:
        return
    Path(folder, str(os.getpid())).touch()
    until = time.monotonic() + PATIENCE_S
    while len(os.listdir(folder)) < number and time.monotonic() < until:
        time.sleep(0.005)


def wait_for(path):
    """Until somebody makes this file."""
    until = time.monotonic() + PATIENCE_S
    while not os.path.exists(path) and time.monotonic() < until:
        time.sleep(0.005)
