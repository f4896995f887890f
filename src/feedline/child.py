"""The process in which the user's script runs under `feedline why`.

Started by `session.py` as `python -m feedline.child ORDER`. It runs the script,
measures the loop that the watch catches, writes the outcome into a file and
stops the script.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from feedline.errors import FeedlineError
from feedline.job import capture
from feedline.job.job import Job
from feedline.job.loop import drive
from feedline.job.watch import ScriptStopped, Watch
from feedline.measure.clock import SystemClock
from feedline.measure.measurement import Measurement, RunTimes
from feedline.measure.run import RunSampler

_GRACE_SECONDS = 20.0


class Examination:
    """What happens when a loop is warm, and what comes of it."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.clock = SystemClock()
        self.began = self.clock.now()
        self.watch = Watch(
            self.clock,
            self.on_warm,
            loop=order["loop"],
            patient=order["patient"],
        )
        self.sampler = RunSampler(self.clock, self.watch)
        self.outcome: dict[str, Any] = {}

    def run(self) -> int:
        self.sampler.start()
        try:
            code = capture.run(
                self.order["target"], module=self.order["module"], watch=self.watch
            )
        except FeedlineError as error:
            self.outcome = {"refused": str(error)}
            return error.exit_code
        finally:
            self.sampler.stop()
            for loop in self.watch.loops:
                loop.close()
        if not self.outcome:
            self.outcome = self._seen()
        self._save()
        return code

    def on_warm(self, loop: Any) -> None:
        """Measure, and stop the script when that is done."""
        from feedline.measure.examine import Examiner

        self.sampler.stop()
        where = loop.where or "the script"
        seconds = self.order["seconds"]
        _say(f"training found at {where}; measuring, at most {seconds:g} s")
        self._guard(3 * seconds + 30)
        examiner = Examiner(loop, self.watch, self.clock, seconds, say=_say)

        def experiment() -> Any:
            try:
                found = yield from examiner.examine()
                self._conclude(loop, *found)
            except Exception:
                self.outcome = {"failed": traceback.format_exc()}
            self._save()

        if loop.kind == "loop":
            loop.start(experiment(), finish=self._stop)
            return
        drive(experiment(), loop.execute)
        self._stop(None)

    def _stop(self, _: Any) -> None:
        self._guard(_GRACE_SECONDS)
        self.watch.stopped = True
        raise ScriptStopped

    def _conclude(self, loop: Any, job: Job, measured: Measurement) -> None:
        from feedline import __version__, causes
        from feedline.report.build import make
        from feedline.report.json import to_json

        measured = replace(measured, run=self._run_times(loop, job, measured))
        findings = causes.diagnose(job, measured)
        report = make(
            job,
            measured,
            findings,
            {name: cause.title for name, cause in causes.all().items()},
            script=self.order["target"][0],
            version=__version__,
            seconds=self.clock.now() - self.began,
        )
        self.outcome = {"report": json.loads(to_json(report))}

    def _run_times(self, loop: Any, job: Job, measured: Measurement) -> RunTimes:
        step_s = measured.step.observed.value / 1e3
        sampler = self.sampler
        first = max(0.0, loop.first_step_seconds - loop.first_step_tracing - step_s)
        total, epoch = job.total_steps, job.steps_per_epoch
        return RunTimes(
            import_s=sampler.import_s,
            prepare_s=sampler.prepare_s,
            trace_s=loop.traced_before + first,
            train_s=None if total is None else total * step_s,
            epoch_s=None if epoch is None else epoch * step_s,
            slowest_lines=sampler.slowest(),
        )

    def _seen(self) -> dict[str, Any]:
        loops = self.watch.loops
        seen = [
            f"training at {loop.where}, {loop.steps} step(s): too short to measure"
            for loop in loops
        ]
        seen += [
            f"a loop over a dataset at {where}, {count} batch(es), without a gradient"
            for where, count in self.watch.untrained.items()
        ]
        longest = max(
            range(len(loops)), key=lambda index: loops[index].steps, default=None
        )
        short = None
        if longest is not None and loops[longest].steps >= 3:
            short = longest + 1
        return {"seen": seen, "short": short, "tensorflow": "tensorflow" in sys.modules}

    def _save(self) -> None:
        path = Path(self.order["outcome"])
        part = path.with_suffix(".part")
        part.write_text(json.dumps(self.outcome))
        os.replace(part, path)

    def _guard(self, seconds: float) -> None:
        """If the script (or we) hang, end the process with what is known."""

        def end() -> None:
            if not self.outcome:
                self.outcome = {
                    "failed": f"the measurement did not end within {seconds:g} s; "
                    "the input may be waiting for something"
                }
                self._save()
            sys.stdout.flush()
            os._exit(0)

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()


def _say(text: str) -> None:
    print(f"feedline: {text}", file=sys.stderr, flush=True)


def main() -> None:
    logging.getLogger("feedline").addHandler(logging.NullHandler())
    order = json.loads(sys.argv[1])
    examination = Examination(order)
    code = examination.run()
    if examination.outcome and not Path(order["outcome"]).exists():
        examination._save()
    capture.leave(code)


if __name__ == "__main__":
    main()
