"""What stands behind a `from_generator`: whose code is it, may it be started anew?"""

from __future__ import annotations

from typing import Any

from feedline.job import marks
from feedline.job.source.lines import is_library, line_of
from feedline.job.tfdata import ops
from feedline.job.tfdata.functions import closure, where_of
from feedline.job.tfdata.pipeline import Where
from feedline.job.tfdata.recognised import Found


def generator_of(found: Found) -> Any:
    """The user's generator function, or Keras' around what the user gave to fit."""
    made = found.users[0][1] if len(found.users) == 1 else None
    return getattr(made, marks.BEHIND, made)


def adapter_of(found: Found) -> Any:
    """What Keras puts between `fit` and a `PyDataset`, None for anything else."""
    if found.op != ops.FROM_GENERATOR:
        return None
    owner = getattr(generator_of(found), "__self__", None)
    return owner if type(owner).__name__ == "PyDatasetAdapter" else None


def user_code(found: Found) -> tuple[str, Where | None] | None:
    """Name and line of what the user wrote, where Keras stands in between: the
    `__getitem__` of a `PyDataset`, the generator that was given to `fit`."""
    adapter = adapter_of(found)
    if adapter is not None:
        kind = type(getattr(adapter, "py_dataset", None))
        return f"{kind.__name__}.__getitem__", where_of(
            getattr(kind, "__getitem__", None)
        )
    given = given_generator(found)
    if given is None:
        return None
    code = getattr(given, "gi_code", None)
    if code is None:
        return type(given).__name__, where_of(getattr(type(given), "__next__", None))
    if is_library(code.co_filename):
        return code.co_name, None
    return code.co_name, line_of(code.co_filename, code.co_firstlineno)


def given_generator(found: Found) -> Any:
    """The iterator that the user gave to `fit`, which Keras reads; None for anything
    else."""
    if found.op != ops.FROM_GENERATOR:
        return None
    owner: Any = closure(generator_of(found)).get("self")
    if type(owner).__name__ != "GeneratorDataAdapter":
        return None
    return closure(owner.generator).get("generator")


def starts_anew(found: Found) -> bool:
    """Does each call give the same elements and take none from the job? So it is
    with the numbered batches of a `PyDataset`, and where the code of the user's
    function shows that it keeps no state, nor uses TensorFlow, whose datasets and
    variables do, nor opens files, which may be pipes."""
    from feedline.job.source.purity import purity
    from feedline.job.source.users import is_user
    from feedline.job.source.uses import tensorflow_in

    generator = generator_of(found)
    if adapter_of(found) is not None:
        return True
    if not is_user(generator) or tensorflow_in(generator) is not None:
        return False
    found_out = purity(generator)
    return found_out.pure is True and not found_out.opens
