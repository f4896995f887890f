"""The elements of a dataset as plain values that can be compared by ==."""

import itertools
from dataclasses import replace

import numpy as np
import tensorflow as tf

from feedline.job.tfdata.pipeline import Pipeline, Stage


def elements(dataset, most=40):
    """One epoch, or its beginning."""
    return [value(one) for one in itertools.islice(iter(dataset), most)]


def epochs(dataset, most=40):
    return [elements(dataset, most), elements(dataset, most)]


def value(element):
    if isinstance(element, tf.data.Dataset):
        return ["dataset", *elements(element)]
    if isinstance(element, dict):
        return {name: value(one) for name, one in element.items()}
    if isinstance(element, tuple | list):
        return tuple(value(one) for one in element)
    if isinstance(element, tf.RaggedTensor):
        return "ragged", element.dtype.name, element.to_list()
    if isinstance(element, tf.SparseTensor):
        return "sparse", *map(value, (element.indices, element.values))
    return element.dtype.name, tuple(element.shape), np.asarray(element).tolist()


def ops(pipeline):
    return [stage.op for stage in pipeline.stages()]


def remade(pipeline):
    """With a stage behind every source that changes nothing, so that all that
    comes after has to be made again."""

    def alter(stage):
        if not stage.inputs:
            return Stage("take", (stage,), {"count": -1})
        return replace(stage, inputs=tuple(alter(one) for one in stage.inputs))

    return Pipeline(alter(pipeline.root), pipeline.options)
