"""What every test may count on."""

from __future__ import annotations

import concurrent.futures.thread
import os
import random
import signal
import sys
import threading
from contextlib import closing

import hypothesis
import pytest

from tests.place import Place

# No test is about time, and none fails today because of what it tried by chance.
# `--hypothesis-profile=explore` tries other things each time; so does the slow tier.
PATIENT = {
    "deadline": None,
    "suppress_health_check": [hypothesis.HealthCheck.too_slow],
}
hypothesis.settings.register_profile("explore", **PATIENT)
hypothesis.settings.register_profile("same", derandomize=True, **PATIENT)
hypothesis.settings.load_profile("same")

# Started in the background of a shell, a process inherits that Ctrl-C is ignored,
# and hands it on to every script that a test starts and interrupts.
# Under `nohup` it is so with the end of the terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)


@pytest.fixture(autouse=True, scope="session")
def _own_store(tmp_path_factory):
    """Nothing is kept in the user's home folder, nor found there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEEDLINE_CACHE", str(tmp_path_factory.mktemp("store")))
        yield


@pytest.fixture(autouse=True)
def _as_it_was():
    """No test finds what another has left behind in the process."""
    folder, environment, draws = os.getcwd(), dict(os.environ), random.getstate()
    environment.pop("PYTEST_CURRENT_TEST", None)  # pytest's own, which it changes
    yield
    # A test that runs a script in this process also ends it as Python does, which
    # tells thread pools that the interpreter is going.
    threading._SHUTTING_DOWN = False
    concurrent.futures.thread._shutdown = False
    os.chdir(folder)
    for name in os.environ.keys() - environment.keys() - {"PYTEST_CURRENT_TEST"}:
        del os.environ[name]
    os.environ.update(environment)
    random.setstate(draws)
    # Neither is imported for this: most tests need none of them.
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    if "tensorflow" in sys.modules:
        _restore_tensorflow()


def _restore_tensorflow() -> None:
    """Its seed, its modes, and what Keras keeps: policy, names and draws."""
    import tensorflow as tf
    from tensorflow.python.eager import context

    tf.config.run_functions_eagerly(False)
    if context.global_seed() is not None:
        tf.random.set_seed(None)
    if "keras" in sys.modules:
        import keras

        keras.utils.clear_session(free_memory=False)


@pytest.fixture
def place(tmp_path):
    """Where to run scripts, as a user would."""
    with closing(Place(tmp_path)) as place:
        yield place
