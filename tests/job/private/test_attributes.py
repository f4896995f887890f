"""Every private attribute that feedline uses is there, on an object of the kind that it
is asked of; and is touched nowhere but in `job/private` and `rows/private.py`."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import feedline
from feedline.job.private import keras as keras_private
from feedline.job.private import tensorflow as tf_private
from feedline.job.private.attribute import Attribute, Moved

SOURCE = Path(feedline.__file__).parent
ALL = {
    (module.__name__.rpartition(".")[2], name): value
    for module in (tf_private, keras_private)
    for name, value in vars(module).items()
    if isinstance(value, Attribute)
}


def test_no_attribute_is_listed_twice():
    names = [(value.library, value.name) for value in ALL.values()]
    assert len(names) == len(set(names)) > 70


@pytest.mark.tensorflow
@pytest.mark.parametrize(("library", "name"), ALL)
def test_it_is_on_an_object_of_its_kind(library, name):
    pytest.importorskip("tensorflow")
    samples = SAMPLES[library][name]
    for sample in samples if isinstance(samples, tuple) else (samples,):
        ALL[library, name](sample())


@pytest.mark.tensorflow
def test_the_data_of_a_csv_dataset_is_there():
    tf = pytest.importorskip("tensorflow")
    made = tf.data.experimental.CsvDataset("no.csv", [tf.int32])
    assert [each.on(made) for each in tf_private.CSV_DATA] == [True] * 3


def test_what_has_moved_is_said_with_the_file_to_change():
    gone = Attribute("keras", "_of_yesterday")
    with pytest.raises(Moved, match=r"_of_yesterday.* feedline/job/private/keras\.py"):
        gone(object())
    assert gone.get(object(), 1) == 1
    assert not gone.on(object())


# --------------------------------------------------------------------- touches

# What Python documents though it begins with an underscore.
DOCUMENTED = {"_fields", "_replace"}
BY_NAME = {"getattr", "setattr", "hasattr", "delattr"}
PRIVATE = "feedline.job.private.tensorflow"


# Another file's, and ours.
OURS = {"monitor/live.py _display"}


def test_private_names_are_touched_in_one_place():
    found = [
        f"{place}:{line} {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not (place := path.relative_to(SOURCE).as_posix()).startswith("job/private/")
        and place != "rows/private.py"
        for line, name in _touches(ast.parse(path.read_text("utf-8")))
        if f"{place} {name}" not in OURS
    ]
    assert found == [], "give it a name in feedline/job/private, and a sample above"


def test_a_touch_is_seen():
    text = """
import sys
from feedline.job.private.tensorflow import map_op
class Ours:
    def __init__(self, other): self._kept = other._kept
    def _do(self): return self._kept._func
def by_name(model): return getattr(model, "_layers", None)
map_op._MapDataset, map_op._Unexpected, sys._getframe, Ours()._do
"""
    seen = {name for _, name in _touches(ast.parse(text))}
    assert seen == {"_func", "_layers", "_Unexpected"}


def _touches(tree):
    """Private attributes of objects that are not this file's own, as far as the text
    tells: not of `self`, not of a module of Python's, not defined in this file, and not
    expected of the module that `job/private` hands out."""
    own, modules, expected = _own(tree), set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {each.asname or each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == PRIVATE:
            expected |= {each.asname or each.name: each.name for each in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name, base = node.attr, node.value
            if isinstance(base, ast.Name) and (
                base.id in ("self", "cls")
                or (base.id in modules and base.id in sys.stdlib_module_names)
                or _is_expected(expected.get(base.id), name)
            ):
                continue
            if isinstance(base, ast.Call) and getattr(base.func, "id", "") == "super":
                continue
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in BY_NAME:
            given = node.args[1] if len(node.args) > 1 else None
            name = given.value if isinstance(given, ast.Constant) else ""
            if getattr(node.args[0], "id", "") in modules & sys.stdlib_module_names:
                continue
        else:
            continue
        private = name.startswith("_") and not name.endswith("_")
        if private and name not in own | DOCUMENTED:
            yield node.lineno, name


def _own(tree):
    """Names that the classes of this file define."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and getattr(node.value, "id", "") == "self"
        ):
            found.add(node.attr)
    return found


def _is_expected(module, name):
    return module in tf_private.TABLE and name in tf_private.TABLE[module].names


# ------------------------------------------------------------------- samples


def _data():
    import tensorflow as tf

    return tf.data.Dataset


def _range():
    return _data().range(4)


def _mapped():
    return _range().map(lambda x: x + 1)


def _batched():
    return _range().batch(2)


def _shuffled():
    return _range().shuffle(4, seed=1)


def _padded():
    import tensorflow as tf

    return _range().map(lambda x: tf.expand_dims(x, 0)).padded_batch(2, [None])


def _grouped():
    return _range().group_by_window(lambda x: x % 2, lambda _, group: group, 2)


def _chosen():
    return _data().choose_from_datasets([_range(), _range()], _range())


def _sampled():
    return _data().random(seed=1, rerandomize_each_iteration=True)


def _sparse():
    import tensorflow as tf

    made = tf.compat.v1.data.Dataset.from_sparse_tensor_slices(tf.sparse.eye(2))
    return tf_private.dataset(made)


def _files(kind="TFRecordDataset"):
    import tensorflow as tf

    return getattr(tf.data, kind)(["no.file"])


def _parallel():
    return _range().interleave(lambda x: _data().range(x), 2, num_parallel_calls=2)


def _parsed():
    import tensorflow as tf

    features = {"x": tf.io.FixedLenFeature([], tf.int64)}
    parse = tf.data.experimental.parse_example_dataset(features)
    return _data().from_tensor_slices([b""]).batch(1).apply(parse)


def _restructured():
    from feedline.job.private.tensorflow import dataset_ops

    return dataset_ops._RestructuredDataset(_range(), _range().element_spec)


def _wrapper():
    return tf_private.map_func(_mapped())


def _generator():
    from feedline.job.tfdata.functions import closure

    def count():
        yield 1

    import tensorflow as tf

    made = _data().from_generator(count, output_signature=tf.TensorSpec([], tf.int32))
    outer = closure(tf_private.func(tf_private.map_func(made)))
    return closure(outer["get_iterator_id_fn"])["generator_state"]


def _distributed():
    import tensorflow as tf

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    return strategy.experimental_distribute_dataset(_batched())


def _one_worker():
    return tf_private.iterators(iter(_distributed()))[0]


def _function():
    import tensorflow as tf

    return tf.function(lambda x: x + 1, jit_compile=False)


def _graph():
    import tensorflow as tf

    return _function().get_concrete_function(tf.TensorSpec([], tf.int32)).graph


def _handle():
    import tensorflow as tf

    return tf.Variable(1.0).handle


def _eager_function():
    from feedline.job.private.tensorflow import script_ops

    return script_ops.EagerFunc(abs, [], False)


def _decorated():
    import tensorflow as tf

    return tf.add


def _error():
    import tensorflow as tf

    return tf.errors.InternalError(None, None, "said")


def _context():
    import tensorflow as tf

    from feedline.job.private.tensorflow import context

    tf.random.set_seed(1)
    return context.context()


def _module(name):
    import importlib

    return lambda: importlib.import_module(name)


def _registry():
    return _module(tf_private.LOOPS_IN_FUNCTIONS)().control_flow.for_loop_registry


def _tensors():
    return tf_private.eager_tensor_base(_module(tf_private.TENSORS)())


def _model():
    import keras

    inputs = keras.Input([1])
    model = keras.Model(inputs, keras.layers.Dense(1)(inputs))
    model.compile("sgd", "mse", metrics=["mae"])
    return model


def _trained():
    model = _model()
    model.train_on_batch(np.ones([1, 1]), np.ones([1, 1]))
    return model


def _epochs():
    import tensorflow as tf

    from feedline.job.private.keras import TFEpochIterator

    strategy = tf.distribute.get_strategy()
    return TFEpochIterator(x=_mapped().batch(1), distribute_strategy=strategy)


def _validated():
    """What a fit's callbacks see of its model while it validates."""
    import keras

    held = SimpleNamespace()

    class Look(keras.callbacks.Callback):
        def on_test_begin(self, logs=None):
            held._eval_epoch_iterator = self.model._eval_epoch_iterator

    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = np.ones((2, 1))
    model.fit(data, data, validation_data=(data, data), callbacks=[Look()], verbose=0)
    return held


def _spec():
    import tensorflow as tf

    return tf.TensorSpec([])


SAMPLES = {
    "tensorflow": {
        "variant_tensor": _range,
        "inputs": _mapped,
        "functions": (_mapped, _graph),
        "input_dataset": _mapped,
        "dataset_to_concatenate": lambda: _range().concatenate(_range()),
        "datasets": lambda: _data().zip((_range(), _range())),
        "data_inputs": _chosen,
        "selector_input": _chosen,
        "filenames": _files,
        "impl": _files,
        "tensors": lambda: _data().from_tensor_slices([1]),
        "sparse_tensor": _sparse,
        "map_func": _mapped,
        "scan_func": lambda: _range().scan(0, lambda state, x: (state, x)),
        "key_func": _grouped,
        "reduce_func": _grouped,
        "window_size_func": _grouped,
        "func": (_wrapper, _eager_function),
        "input_structure": _wrapper,
        "batch_size": _batched,
        "buffer_size": _shuffled,
        "count": lambda: _range().repeat(2),
        "cycle_length": _parallel,
        "deterministic": lambda: _range().map(abs, 2, deterministic=True),
        "drop_remainder": _batched,
        "element_spec": _restructured,
        "features": _parsed,
        "initial_state": lambda: _range().scan(0, lambda state, x: (state, x)),
        "name": _range,
        "num_parallel_calls": _parallel,
        "padded_shapes": _padded,
        "padding_values": _padded,
        "rerandomize": _sampled,
        "seed": _shuffled,
        "seed2": _shuffled,
        "stop_on_empty_dataset": _chosen,
        "generator": _generator,
        "options": lambda: _range().options(),
        "to_proto": lambda: _range().options(),
        "batch": _spec,
        "dataset": lambda: iter(_range()),
        "iterator_resource": lambda: iter(_range()),
        "flat_output_types": lambda: iter(_range()),
        "flat_output_shapes": lambda: iter(_range()),
        "iterators": lambda: iter(_distributed()),
        "iterator": _one_worker,
        "device_iterators": lambda: tf_private.iterator(_one_worker()),
        "original_dataset": _distributed,
        "strategy": _distributed,
        "jit_compile": _function,
        "reduce_retracing": _function,
        "clone": _function,
        "list_all_concrete_functions": _function,
        "tf_decorator": _decorated,
        "get_function": _graph,
        "add_function_recursive": _graph,
        "create_op_internal": _graph,
        "handle_data": _handle,
        "out_dtypes": _eager_function,
        "message": _error,
        "rng": _context,
        "excluded_paths": (
            _module(tf_private.TRACEBACKS),
            _module(keras_private.TRACEBACKS),
        ),
        "iterable_input": _module(tf_private.DISTRIBUTED),
        "tf_ag_dataset_for_stmt": _module(tf_private.LOOPS_IN_FUNCTIONS),
        "registry": _registry,
        "eager_tensor_base": _module(tf_private.TENSORS),
        "numpy": _tensors,
    },
    "keras": {
        "flatten_layers": _model,
        "layers": _model,
        "losses": lambda: _model().layers[1],
        "symbolic_build": _model,
        "compile_config": _model,
        "compile_loss": _trained,
        "compile_metrics": _trained,
        "loss_tracker": _trained,
        "metrics": _model,
        "operations": _model,
        "nodes_by_depth": _model,
        "keras_history": lambda: _model().inputs[0],
        "value": lambda: _model().variables[0],
        "trainable_variables": lambda: _trained().optimizer,
        "distributed_dataset": _epochs,
        "eval_epoch_iterator": _validated,
        "steps_seen": _epochs,
        "python_random": _module(keras_private.SEEDS),
    },
}
