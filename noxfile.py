"""The tests on the oldest TensorFlow that feedline supports, and on the newest that
there is: `nox -s oldest`, `nox -s newest`."""

from __future__ import annotations

import nox
from nox.command import CommandFailed

nox.options.sessions = []


@nox.session(python=["3.10", "3.11", "3.12"])
def oldest(session: nox.Session) -> None:
    """TensorFlow 2.16, with whichever of these Pythons is installed."""
    session.install("-e", ".[test]", "tensorflow-cpu==2.16.*")
    _test(session)


@nox.session
def newest(session: nox.Session) -> None:
    """Tonight's TensorFlow and Keras, or the newest release candidates where pip has
    no nightly build. What is private is asked first: see `job/private`."""
    session.install("-e", ".[test]")
    try:
        session.install("--pre", "--upgrade", "tf-nightly-cpu", "keras-nightly")
    except CommandFailed:
        session.install("--pre", "--upgrade", "tensorflow-cpu", "keras")
    session.run("pytest", "tests/job/private", "tests/job/tfdata")
    _test(session)


def _test(session: nox.Session) -> None:
    session.run(
        "pytest", "-m", "not slow", *session.posargs, env={"TF_CPP_MIN_LOG_LEVEL": "2"}
    )
