"""Several steps of a fit in one launch: the same training, however fit is called."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

import feedline
from feedline.fixes.fix import CannotFix, Edit
from feedline.fixes.target import Target
from feedline.session.each_fit import in_each_fit
from feedline.session.step_edits import install
from tests.plans import TELL
from tests.scripts import LIGHT, MODEL, planned, run

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]

CASES = {
    "to the end of the data": {},
    "an even number": {"steps_per_epoch": 12},
    "a prime number": {"steps_per_epoch": 13},
    "less than a launch": {"steps_per_epoch": 3},
    "more than there are": {"steps_per_epoch": 45},
    "some of the validation data": {"validation_steps": 5},
    "both": {"steps_per_epoch": 12, "validation_steps": 3},
}
IN_A_SCRIPT = ("some of the validation data", "both", "a prime number")
SCRIPT = """\
    def read():
        ds = tf.data.Dataset.from_tensor_slices((pictures[:61, :40, :40], labels[:61]))
        return ds.shuffle(64, seed=2).batch(2)

    for more in CASES:
        data = read().repeat() if more.get("steps_per_epoch", 45) < 45 else read()
        model = make()
        print(model.evaluate(read(), steps=3, verbose=0))
        more = {"epochs": 3, "validation_data": read(), "verbose": 0, **more}
        told("fit", model, model.fit(data, **more))
        print(model.evaluate(read(), steps=3, verbose=0), model.optimizer.iterations)
"""


@pytest.mark.parametrize(
    "kind", ["endless", pytest.param("finite", marks=pytest.mark.slow)]
)
def test_every_way_to_call_fit(place, kind):
    """By a plan for the data that end, or for those that do not."""
    cases = f"CASES = {[CASES[name] for name in IN_A_SCRIPT]!r}\n"
    marks = """\
    for data in (read(), read().repeat()):
        tell_bound(data, kind="fit", model=model)
    """
    place.write(LIGHT, MODEL, cases, SCRIPT, TELL, marks)
    *lines, finite, endless = place.python().stdout.splitlines(keepends=True)
    expected = "".join(lines)
    place.write(LIGHT, MODEL, cases, SCRIPT)
    mark = finite if kind == "finite" else endless
    planned(place, mark, Edit("steps-per-execution", None, {"steps": 8}))
    assert run(place, "--plan", "p.json").stdout == expected


def made() -> keras.Model:
    keras.utils.set_random_seed(5)
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dropout(0.3), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"])
    return model


def launching(model: keras.Model, most: int = 8) -> list[int]:
    """As `feedline.tune` leaves it; how many steps each launch had comes back."""
    install(Target(model), ())
    in_each_fit(model, most)
    seen: list[int] = []
    make = model.make_train_function

    def noting(force: bool = False) -> None:
        make(force=force)
        if force:
            train = model.train_function
            model.train_function = lambda iterator: (
                seen.append(model.steps_per_execution),
                train(iterator),
            )[1]

    model.make_train_function = noting
    return seen


def data(batches: int = 31) -> tf.data.Dataset:
    drawn = np.random.default_rng(0).normal(size=(2 * batches, 4)).astype("f4")
    ds = tf.data.Dataset.from_tensor_slices((drawn, drawn.sum(1, keepdims=True)))
    return ds.shuffle(64, seed=3).batch(2)


def trained(model: keras.Model, **more: object) -> list[object]:
    endless = int(str(more.get("steps_per_epoch", 45))) < 45
    source = data().repeat() if endless else data()
    before = model.evaluate(data(), steps=3, verbose=0)
    fit = model.fit(source, epochs=3, validation_data=data(), verbose=0, **more)
    after = model.evaluate(data(), steps=3, verbose=0)
    count = int(model.optimizer.iterations)
    weights = [weight.tobytes() for weight in model.get_weights()]
    return [before, fit.history, after, count, weights, len(model.predict(data()))]


@pytest.mark.parametrize("more", CASES.values(), ids=CASES)
def test_a_tuned_model_trains_the_same(more):
    model = made()
    launches = launching(model)
    assert trained(model, **more) == trained(made(), **more)
    assert model.steps_per_execution == 1
    expected = {None: {8}, 12: {6}, 13: set(), 3: set(), 45: {5}}
    assert set(launches) == expected[more.get("steps_per_epoch")]


def test_a_function_is_traced_once_for_all_fits():
    model = made()
    launches = launching(model)
    function = None
    for _ in range(3):
        model.fit(data(), epochs=2, verbose=0)
        single = model.train_function
        assert function in (None, single)
        function = single
    assert len(launches) == 3 * 2 * 4


class Listens(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.heard = getattr(self, "heard", 0) + 1


class Epochs(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.epochs = epoch + 1


def test_who_listens_to_batches_hears_them_all():
    model = made()
    launches, listens, epochs = launching(model), Listens(), Epochs()
    model.fit(data(), verbose=0, callbacks=[listens, epochs])
    assert (listens.heard, launches) == (31, [])
    model.fit(data(), None, None, 1, 0, [listens])
    assert (listens.heard, launches) == (62, [])
    model.fit(data(), verbose=0, callbacks=[epochs])
    assert launches == [8, 8, 8, 8]


@pytest.mark.parametrize("more", [{}, {"steps_per_epoch": 12}], ids=["all", "some"])
def test_a_monitor_counts_the_steps_of_a_launch(more):
    model, plain, monitor = made(), made(), feedline.Monitor()
    launches = launching(model)
    found = trained(model, callbacks=[monitor], **more)
    assert found == trained(plain, **more)
    assert len(launches) == 3 * (2 if more else 4)
    assert monitor._record is not None
    # Where the data end a launch, it counts as a whole one.
    assert monitor._record.meter.steps == 3 * (12 if more else 32)


def test_compiled_anew_it_is_the_users_again():
    model, plain = made(), made()
    launches = launching(model)
    for each in (model, plain):
        each.compile("sgd", "mae")
        each.fit(data(), verbose=0)
    assert launches == []
    assert all(map(np.array_equal, model.get_weights(), plain.get_weights()))


def test_tuned_twice_it_has_one_fit():
    model = made()
    launching(model)
    fit = model.fit
    in_each_fit(model, 4)
    assert model.fit.__wrapped__ is fit.__wrapped__


def test_what_is_wrong_with_a_call_keras_says():
    model = made()
    launching(model)
    with pytest.raises(TypeError, match="colour"):
        model.fit(data(), colour="red")


# ------------------------------------------------- an eager step, compiled in a fit


class Small(keras.Model):
    """A model of the user's own."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = keras.layers.Dense(8), keras.layers.Dense(1)

    def call(self, x):
        return self.last(self.first(x))


class Loud(Small):
    def train_step(self, data):
        print("a step")
        return super().train_step(data)


class Freezes(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.model.first.trainable = epoch != 1


def eager(kind: type[Small] = Small) -> Small:
    keras.utils.set_random_seed(5)
    model = kind()
    model.compile("sgd", "mse", metrics=["mae"], run_eagerly=True)
    model.fit(data(), verbose=0)
    return model


def test_a_compiled_step_leaves_the_rest_of_the_fit_eager():
    model = eager()
    undo = install(Target(model), (Edit("compile-step"),))
    seen: list[bool] = []
    call = model.test_step
    model.test_step = lambda data: (seen.append(tf.executing_eagerly()), call(data))[1]
    model.fit(data(), validation_data=data(), verbose=0)
    assert model.run_eagerly
    assert set(seen) == {True}
    undo()
    assert model.train_function is not None


def test_a_compiled_step_follows_a_callback_that_freezes():
    plain, model = eager(), eager()
    install(Target(model), (Edit("compile-step"),))
    for each in (plain, model):
        before = each.first.kernel.numpy()
        each.fit(data(), epochs=3, verbose=0, callbacks=[Freezes()])
        assert not np.array_equal(before, each.first.kernel.numpy())
    for one, other in zip(plain.get_weights(), model.get_weights(), strict=True):
        assert np.allclose(one, other, rtol=1e-5)


def test_a_step_that_prints_is_left_alone():
    model = eager(Loud)
    with pytest.raises(CannotFix, match="print"):
        install(Target(model), (Edit("compile-step"),))
    source = data()
    with pytest.warns(UserWarning, match=r"calls print\(\)"):
        assert feedline.tune(source, model, seconds=1) is source
