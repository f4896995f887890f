"""The tests on the oldest TensorFlow that feedline supports: `nox -s oldest`."""

from __future__ import annotations

import nox

nox.options.sessions = []


@nox.session(python=["3.10", "3.11", "3.12"])
def oldest(session: nox.Session) -> None:
    """TensorFlow 2.16, with whichever of these Pythons is installed."""
    session.install("-e", ".[test]", "tensorflow-cpu==2.16.*")
    session.run(
        "pytest", "-m", "not slow", *session.posargs, env={"TF_CPP_MIN_LOG_LEVEL": "2"}
    )
