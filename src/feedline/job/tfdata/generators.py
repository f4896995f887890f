"""What stands behind a `from_generator`: may it be started once more?"""

from __future__ import annotations

from typing import Any

from feedline.job.tfdata import ops
from feedline.job.tfdata.recognised import Found


def generator_of(found: Found) -> Any:
    """The user's generator function, or Keras' around what the user gave to fit."""
    return found.users[0][1] if len(found.users) == 1 else None


def adapter_of(found: Found) -> Any:
    """What Keras puts between `fit` and a `PyDataset`, None for anything else."""
    if found.op != ops.FROM_GENERATOR:
        return None
    owner = getattr(generator_of(found), "__self__", None)
    return owner if type(owner).__name__ == "PyDatasetAdapter" else None


def starts_anew(found: Found) -> bool:
    """Does each call give the same elements and take none from the job? So it is
    with the numbered batches of a `PyDataset`, and where the code of the user's
    function shows that it keeps no state, nor uses TensorFlow, whose datasets and
    variables do, nor opens files, which may be pipes."""
    from feedline.job.source.purity import is_user, purity
    from feedline.job.source.uses import tensorflow_in

    generator = generator_of(found)
    if adapter_of(found) is not None:
        return True
    if not is_user(generator) or tensorflow_in(generator) is not None:
        return False
    found_out = purity(generator)
    return found_out.pure is True and not found_out.opens
