"""Every error that a user of feedline can meet.

    FeedlineError                 bad usage or bad input; exit code 2
    ├── TensorFlowMissing         TensorFlow is not installed here
    ├── ScriptError               the script cannot be run at all
    ├── NoTrainingLoop            the script ran, nothing was trained; exit code 3
    ├── CannotRebuild             an altered pipeline cannot be made a dataset
    ├── CannotPutBack             an experiment would leave something behind
    ├── CaptureError              a profiler capture cannot be read
    ├── ReportError               a saved report cannot be read
    ├── UnknownCause              `feedline explain` was given a wrong name
    ├── CorpusError               text that cannot be read, or has no words in it
    ├── TrainingError             word vectors cannot be trained or resumed so
    │   └── WorkerLost            another machine of the cluster is gone; exit code 75
    ├── VectorsError              a file of vectors is damaged or of another kind
    ├── ClassifierError           a saved classifier is damaged or misused
    ├── UnknownWord               the vocabulary has no such word
    └── OutputExists              a file would be overwritten without --force

    FeedlineWarning               what `feedline.Monitor` has to say of a running job

Each message says what was wrong, the value, and what to do about it. A failure
of the user's own script is none of these: it is shown as Python shows it.
"""

from __future__ import annotations

import re

_MOST = 240


class FeedlineError(Exception):
    """Something that the user can put right."""

    exit_code = 2


class TensorFlowMissing(FeedlineError):
    """TensorFlow is what the user brings; it is not installed here."""

    def __init__(self) -> None:
        super().__init__(
            "TensorFlow is not installed for this Python. feedline uses the "
            "TensorFlow you train with: run feedline from that environment, or "
            'install one with: pip install "feedline[cpu]"'
        )


class ScriptError(FeedlineError):
    """The script cannot be started."""


class NoTrainingLoop(FeedlineError):
    """The script ended without a training loop long enough to measure."""

    exit_code = 3


class CannotPutBack(FeedlineError):
    """The training step changes something that nobody could put back, so no
    experiment is made with it in the user's process."""


class CannotRebuild(FeedlineError):
    """A stage cannot be made again over its altered arguments or inputs."""

    def __init__(self, stage: str, where: object, reason: str) -> None:
        at = f" at {where}" if where else ""
        super().__init__(
            f"the stage {stage}{at} cannot be made again: {reason}. Leave this stage "
            "and those before it as they were read."
        )


class CaptureError(FeedlineError):
    """A profiler capture is missing, damaged, empty or of another kind."""


class ReportError(FeedlineError):
    """A saved report is missing, damaged or of an unknown schema."""


class UnknownCause(FeedlineError):
    """There is no cause of that name."""


class CorpusError(FeedlineError):
    """Text that cannot be read, or that has no words to train on."""


class TrainingError(FeedlineError):
    """Word vectors cannot be trained, continued or resumed as asked."""


class WorkerLost(TrainingError):
    """Another machine of the cluster is gone: going on needs it back."""

    exit_code = 75


class VectorsError(FeedlineError):
    """A file of vectors is missing, damaged, hostile or of another kind."""


class ClassifierError(FeedlineError):
    """A saved classifier is damaged or of another kind, or the question is invalid."""


class UnknownWord(FeedlineError, KeyError):
    """The vocabulary has no such word."""

    def __str__(self) -> str:
        return str(self.args[0])


class OutputExists(FeedlineError):
    """Refuses to overwrite a file."""


class FeedlineWarning(UserWarning):
    """The monitor warns of the job it watches."""


def one_sentence(error: BaseException | str) -> str:
    """The first sentence of what an error says, on one line; one that is very long ends
    after a word. Errors of TensorFlow and Keras go on for paragraphs."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    text = " ".join(" ".join(lines).split())
    first = re.split(r"(?<=[.!?])\s+(?=[A-Z`'\"(])", text, maxsplit=1)[0]
    if len(first) > _MOST:
        first = f"{first[:_MOST].rsplit(' ', 1)[0]} ..."
    return first
