"""The validation of a fit goes on as without us, whatever is put under it.

Every exact proposal of every fix is forced on what the fit validates on, by way of a
plan of an earlier run, so that nothing is measured here. The history with its `val_`
figures, the weights, and what is read of the same datasets later are held against the
same fit by plain Keras.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from feedline import fixes
from feedline.errors import FeedlineError
from feedline.fixes.fix import AtOnce, CannotFix, Edit, Proposal
from feedline.fixes.saved import SavedPlan
from feedline.job.loops import pace
from feedline.job.loops.call import CallLoop
from feedline.job.script.validated import validated
from feedline.job.tfdata.pipeline import Where
from feedline.job.tfdata.read import read
from feedline.measure.clock import SystemClock
from feedline.measure.validation import Pass
from feedline.process.channel import Channel
from feedline.prove.bound import bound
from feedline.report.basis import Basis
from feedline.session.judge import judge
from feedline.session.messages import Order
from feedline.session.plans import stand_ins
from feedline.session.plans.memory import Remembered
from feedline.session.plans.without_trial import WithoutTrial
from feedline.session.run.runner import Runner
from feedline.session.validation import one_fit
from feedline.session.validation.bench import why_not
from feedline.session.validation.edits import validation_of
from feedline.session.validation.one_fit import OneFit, with_validation
from feedline.session.validation.trial import as_far_as_read, examine
from tests.causes.build import step_bound
from tests.job.elements import elements
from tests.plans import somewhere
from tests.session.test_tune import looked_at

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore::UserWarning:keras"),
]

WHERE = Where("train.py", 9)
EPOCHS = 4


def slices():
    rows = np.arange(88, dtype=np.float32).reshape(22, 4)
    return tf.data.Dataset.from_tensor_slices((rows, rows[:, 0] % 3))


def warp(x, y):
    return tf.sin(x) + x * 0.5, y


def jitter(x, y):
    return x + tf.random.uniform([4], -0.1, 0.1, seed=4), y


def _shared():
    base = slices().shuffle(8)
    return base.take(16).map(warp).batch(4), (base,), {}


DATA = {
    "a map": lambda: (slices().map(warp).batch(4), (), {}),
    "a shuffle of names": lambda: (slices().shuffle(8).map(warp).batch(4), (), {}),
    "a shuffle of pictures": lambda: (slices().map(warp).shuffle(8).batch(4), (), {}),
    "a shuffle that others read": _shared,
    "random draws": lambda: (slices().map(jitter).batch(4), (), {}),
    "a part of it": lambda: (
        slices().map(warp).batch(4).repeat(),
        (),
        {"validation_steps": 4},
    ),
    "every other epoch": lambda: (
        slices().shuffle(8).map(warp).batch(4),
        (),
        {"validation_freq": 2},
    ),
}


class Script:
    """A model that is fitted and validated, and then reads all its data again."""

    def __init__(self, name):
        keras.utils.set_random_seed(5)
        self.valid, self.others, self.how = DATA[name]()
        self.model = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
        )
        self.model.compile("adam", "mse", metrics=["mae"])

    def goes_on(self, *callbacks, read_as=lambda dataset: dataset):
        train = slices().shuffle(16).batch(4)
        fitted = self.model.fit(
            train,
            validation_data=self.valid,
            epochs=EPOCHS,
            verbose=0,
            callbacks=[*callbacks],
            **self.how,
        )
        variables = [*self.model.variables, *self.model.optimizer.variables]
        later = [
            elements(read_as(each), 9) for each in (*self.others, self.valid, train)
        ]
        drawn = float(tf.random.uniform([]))
        return fitted.history, [v.numpy().tobytes() for v in variables], later, drawn


LINES = [",".join(map(str, range(n, n + 4))) for n in range(24)]


def parsed(line):
    return np.array([float(part) for part in line.split(",")], np.float32)


class Lines(keras.utils.PyDataset):
    def __len__(self):
        return 6

    def __getitem__(self, number):
        rows = [parsed(line) for line in LINES[4 * number : 4 * number + 4]]
        return np.stack(rows), np.arange(4.0) + number


class Told(keras.callbacks.Callback):
    """What `script/fits.py` tells of a fit."""

    def __init__(self, runner, script):
        super().__init__()
        self.validations = runner.validations
        self.loop = CallLoop("fit", WHERE, SystemClock(), None)
        self.loop.model = script.model
        arguments = {"validation_data": script.valid, "epochs": EPOCHS, **script.how}
        self.loop.validation = validated(arguments)

    def on_epoch_begin(self, epoch, logs=None):
        self.validations.epoch_begins(self.loop)

    def on_test_begin(self, logs=None):
        self.validations.begins(self.loop, self.model._eval_epoch_iterator)

    def on_test_end(self, logs=None):
        self.validations.ends(self.loop, self.model._eval_epoch_iterator)


def instead(dataset):
    found = stand_ins.instead_of(dataset)
    return dataset if found is None else found


@pytest.fixture
def make(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDLINE_CACHE", str(tmp_path / "store"))
    channel, heard = Channel.make(), []

    def make(**more):
        order = Order("run", ("train.py",), False, 20.0, **more)
        return Runner(order, channel, SimpleNamespace(say=heard.append)), heard

    yield make
    channel.close()


def data_of(script):
    """What a pass reads."""
    told = SimpleNamespace(steps=script.how.get("validation_steps"))
    loop = SimpleNamespace(validation=told, model=script.model)
    return as_far_as_read(script.valid, loop)


def remembered(script, edits, step_ms=1e6):
    now = bound(read(data_of(script)).numbered())
    where = validation_of(WHERE)
    plan = SavedPlan(where, now.pipeline, edits, made_for=now)
    return Remembered(plan, 30.0, step_ms)


def proposals(script):
    looked = looked_at(data_of(script))
    return [each.edit for each in fixes.proposals(looked, ("exact",))]


@pytest.mark.parametrize("name", DATA)
def test_the_fit_and_all_that_comes_after_it_is_the_same(name, make):
    expected = Script(name).goes_on()
    applied = set()
    seen = {
        edit.fix: edit
        for edit in proposals(Script(name))
        if fixes.all()[edit.fix].kind == "pipeline"
    }
    for edit in seen.values():
        script = Script(name)
        runner, heard = make(remembered=(remembered(script, (edit,)),))
        told = Told(runner, script)
        found = script.goes_on(told, read_as=instead)
        assert found == expected, (name, edit, heard)
        fit = runner.validations._fits[id(told.loop)]
        if fit.helped:
            applied.add(edit.fix)
            assert stand_ins.instead_of(fit.data) is not None
    assert applied or name == "a shuffle that others read", seen


def test_what_python_makes_is_kept_without_a_trial(make, monkeypatch):
    """The batches are the same. Whether it pays is asked below."""
    monkeypatch.setattr(one_fit, "_JUDGED", 99)
    monkeypatch.setitem(DATA, "lines", lambda: (Lines(), (), {}))
    plain = Script("lines")
    plain.others, plain.valid = (), Lines()
    history, weights, *_ = plain.goes_on(read_as=lambda _: slices())
    script = Script("lines")
    runner, heard = make()
    told = Told(runner, script)
    found = script.goes_on(told, read_as=lambda _: slices())
    assert found[:2] == (history, weights)
    fit = runner.validations._fits[id(told.loop)]
    assert "may keep a state" in fit.why_not
    assert [each.proposal.edit.fix for each in fit.live.found] == ["keep-results"]
    assert [each.helped for each in fit.passes.made] == [False, True, True, True]
    assert "keep-results to the validation of train.py:9" in heard[0]
    times, cured, _ = runner.validations.known(told.loop)
    assert times.data == "PyDataset"
    assert cured.plan.trials


@pytest.mark.parametrize(("second", "stopped"), [(0.4, False), (1.1, True)])
def test_what_is_kept_without_a_trial_stops_where_it_does_not_pay(second, stopped):
    stops = []
    live = AtOnce(
        Proposal(Edit("keep-results", 0, {}), "exact"),
        lambda: (9, 1),
        lambda: stops.append(True),
    )
    made = [
        Pass(seconds=seconds, helped=helped)
        for seconds, helped in ((1.0, False), (second, True), (second, True))
    ]
    fit = OneFit(SimpleNamespace(made=made), live=WithoutTrial((live,)))
    assert fit.judge(made[-1]) == stopped
    assert (fit.live.lost, bool(stops), fit.own_s) == (stopped, stopped, 1.0)


def test_what_is_slower_than_it_was_is_taken_out_again(make, monkeypatch):
    monkeypatch.setattr(pace, "_LEAST_S", 0.0)
    monkeypatch.setattr(pace, "_LEAST_STEPS", 1)
    expected = Script("a map").goes_on()
    script = Script("a map")
    edits = (Edit("parallel-map", 1, {}),)
    known = remembered(script, edits, step_ms=1e-6)
    runner, heard = make(remembered=(known,))
    told = Told(runner, script)
    assert script.goes_on(told, read_as=instead) == expected
    assert any("they are removed" in each for each in heard), heard
    assert stand_ins.instead_of(script.valid) is None
    assert [each.plan.edits for each in runner.plans.learned] == [()]
    made = runner.validations._fits[id(told.loop)].passes.made
    assert [each.helped for each in made] == [True, True, False, False]


def test_what_the_passes_show_goes_into_the_report(make):
    script = Script("a map")
    runner, _ = make(remembered=(remembered(script, ()),), given=False)
    told = Told(runner, script)
    script.goes_on(told)
    times, cured, _ = runner.validations.known(told.loop)
    assert cured is None
    assert times.watched
    assert (times.passes, times.steps, times.data) == (EPOCHS, 6, "dataset")
    assert 0 <= times.input_s <= times.seconds
    assert times.epoch_s > 0
    case = step_bound()
    basis = with_validation(Basis.of(case.job, case.measured), times, cured, "why")
    row = judge(basis).validation
    assert (row.passes, row.watched, row.fixes) == (EPOCHS, True, ())
    assert basis.job.notes == ("Nothing was tried with its validation: why.",)


class Counts(keras.Model):
    """Its own test step counts in Python: nobody could put that back."""

    def __init__(self):
        super().__init__()
        self.dense, self.steps = keras.layers.Dense(1), []

    def call(self, x):
        return self.dense(x)

    def test_step(self, data):
        self.steps.append(1)
        return super().test_step(data)


def test_what_cannot_be_put_back_is_not_tried(make):
    pipeline = read(slices().batch(4)).numbered()
    model = Script("a map").model
    assert why_not(model, pipeline, None) == ""
    assert "MirroredStrategy" in why_not(
        model, pipeline, tf.distribute.MirroredStrategy(["/cpu:0"])
    )
    counts = Counts()
    counts.compile("sgd", "mse")
    assert "test_step may keep something" in why_not(counts, pipeline, None)
    only = iter([1])
    once = tf.data.Dataset.from_generator(
        lambda: only, output_signature=tf.TensorSpec([])
    )
    assert (
        why_not(model, read(once).numbered(), None) == "its data cannot be read twice"
    )
    eager = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    eager.compile("sgd", "mse", run_eagerly=True)
    assert "eagerly" in why_not(eager, pipeline, None)


@pytest.mark.parametrize("kind", ["dataset", "arrays"])
def test_it_is_measured_before_the_fit_comes_to_it_and_leaves_nothing(kind):
    """Under `feedline why`, by the model's own test step."""
    script = Script("a map")
    data = script.valid
    if kind == "arrays":
        rows = np.arange(88, dtype=np.float32).reshape(22, 4)
        data = (rows, rows[:, 0])
    script.model.fit(slices().batch(4), epochs=1, verbose=0)
    loop = Told(SimpleNamespace(validations=None), script).loop
    loop.validation = validated(
        {"validation_data": data, "epochs": 3, "batch_size": 4, "validation_freq": 3}
    )
    before = [v.numpy().tobytes() for v in script.model.variables]
    test = script.model.test_function
    times = examine(loop, 0.1)
    assert script.model.test_function is test
    assert [v.numpy().tobytes() for v in script.model.variables] == before
    assert (times.steps, times.passes, times.every) == (6, 1, 3.0)
    assert (times.data, times.watched) == (kind, False)
    assert 0 <= times.input_s <= times.seconds
    assert times.where == WHERE or kind == "dataset"


def test_a_generator_is_not_read_for_it():
    script = Script("a map")
    loop = Told(SimpleNamespace(validations=None), script).loop
    loop.validation = validated({"validation_data": iter([1]), "epochs": 3})
    with pytest.raises(FeedlineError, match="has not validated yet"):
        examine(loop, 0.1)


@pytest.mark.parametrize("given", [True, False])
def test_a_plan_in_a_file_has_that_of_the_validation_in_it(given, make):
    expected = Script("a map").goes_on()
    script = Script("a map")
    inner = remembered(script, (Edit("parallel-map", 1, {}),)).plan
    plan = replace(somewhere(where=str(WHERE)), validation=inner if given else None)
    runner, heard = make(plan=plan)
    told = Told(runner, script)
    assert script.goes_on(told, read_as=instead) == expected
    assert runner.validations._fits[id(told.loop)].helped == given
    assert heard == []
    assert runner._plan() == plan


def test_a_plan_that_is_refused_leaves_the_validation_as_it_is(make):
    expected = Script("a shuffle that others read").goes_on()
    script = Script("a shuffle that others read")
    edit = Edit("shuffle-ids", 1, {})
    with pytest.raises((CannotFix, FeedlineError)):
        stand_ins.tuned(script.valid, (edit,))
    runner, _ = make(remembered=(remembered(script, (edit,)),))
    assert script.goes_on(Told(runner, script), read_as=instead) == expected
