"""One trace serves all shapes

A `tf.function` makes a graph for every shape that it is called with: a new length for
every document is a new trace for every document. Traced once with the changing lengths
left open, the same operations serve them all. A step of such a graph can take longer
than one whose lengths are known, so shapes that have a trace keep it, and a shape that
comes often enough to repay its own trace gets one. If the shared trace turns out slower
than tracing each shape, it is removed.

`feedline run` does this while the script trains, for a step that is called in a loop of
the script's own: a function of the module, a method, a function in a function. After
the third shape it traces the step with open lengths and compares it with the script's
own traces on the calls so far, from several starts: all variables and all values that
the step returns. If they are equal, bit for bit, it is exact. It is numeric if
TensorFlow's optimizer of graphs (Grappler) rounds differently with known lengths, or
might for lengths still to come: where the graph computes with a number that it makes of
a length, such as `x / n`, in a way that Grappler rewrites once that is a constant. At
least two of the lengths compared must not be powers of two.

It is not used where a Python value changes (pass it as a tensor), nor where fewer
traces could be noticed: the step looks at `x.shape`, prints or keeps something while it
is traced, changes more than variables, or the script asks how often it was traced. A
length of 0 or 1 always gets its own trace, and so does a new shape once the script has
changed what tracing looks at (a layer's `trainable`, a number), or where it would catch
an error of the step.

## Example

```python
@tf.function
def train_step(tokens):
    return update(tokens)

for tokens in documents:  # each of another length
    train_step(tokens)
```

## Use instead

```python
@tf.function(reduce_retracing=True)
def train_step(tokens):
    return update(tokens)

for tokens in documents:
    train_step(tokens)
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from feedline.causes.asking import tried
from feedline.fixes.args import Takes
from feedline.fixes.fix import CannotFix, Case, Edit, OwnLoop, Proposal
from feedline.fixes.patching import Patch
from feedline.fixes.place import Place
from feedline.fixes.target import Target, Undo

TAKES = Takes()
_OPTION = "reduce_retracing"


def propose(case: Case) -> Iterator[Proposal]:
    """Only a training that goes on can tell: it meets the shapes."""
    measured = tried(case.measured, "step:open-shapes")
    there = any(edit.fix == "reduce-retracing" for edit in case.edits)
    if case.job.kind != "loop" or measured is None or there:
        return
    share = measured.after.value / max(measured.before.value, 1e-9)
    yield Proposal(
        Edit("reduce-retracing"),
        "exact",
        case.job.step_where or case.job.where,
        step_ms=case.measured.step.ceiling.value * share,
    )


def install(target: Target, edit: Edit) -> Undo:  # noqa: ARG001
    """A fit needs none of it."""
    raise CannotFix("Keras leaves the shapes of a fit open by itself")


def own_loop(_: Edit) -> OwnLoop:
    return OwnLoop(open_shapes=True)


def _comment(place: Place, _: str) -> str:  # noqa: ARG001
    return f"{_OPTION}=True where the step is made a tf.function"


def _of_function(edit: Edit, edits: Sequence[Edit]) -> Edit:  # noqa: ARG001
    return replace(edit, args={"option": _OPTION})


PATCH = Patch(_comment, of_function=_of_function)
