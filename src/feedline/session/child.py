"""The program that runs in the script's process, started by `children.py`: it reads its
order and does what the order says with the script."""

from __future__ import annotations

import logging
import os
import sys

from feedline.job.script import run as script
from feedline.process import lifeline
from feedline.process.channel import Channel
from feedline.process.voice import Voice
from feedline.session.examination import Examination, unblock
from feedline.session.messages import Order, decode


def _silence() -> None:
    """What we log is not the script's: it reaches none of its handlers, whatever level
    it sets, and costs no record."""
    logger = logging.getLogger("feedline")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)


def _examination(order: Order, channel: Channel) -> Examination:
    voice = Voice(order.voice)
    if order.mode == "why":
        return Examination(order, channel, voice)
    if order.mode == "run":
        from feedline.session.run.runner import Runner

        return Runner(order, channel, voice)
    from feedline.session.rehearsal.rehearse import Rehearsal

    return Rehearsal(order, channel, voice)


def _plainly(order: Order) -> None:
    """feedline cannot be here: the script runs as if it were not."""
    unblock(order)
    module = ["-m"] if order.module else []
    os.execv(sys.executable, [sys.executable, *module, *order.target])


def main() -> None:
    """`sys.argv` has the addresses of the order and of the outcome."""
    _silence()
    given = Channel.at(sys.argv[1])
    order = decode(Order, given.get() or b"")
    given.close()
    try:
        if order.parent is not None:
            lifeline.end_with(order.parent)
        examination = _examination(order, Channel.at(sys.argv[2]))
    except Exception:
        if order.mode == "run":
            _plainly(order)
        raise
    script.leave(examination.run())
