"""Where rows live: on one device, a copy on each of several, or divided among them.

A place runs a program's launches. It looks rows up and adds changes to the rows
that they name, and to no others. In all three a step means the same: its changes
are computed from the rows as they were before it, and all are added. So the result
does not depend on the number of devices, but for rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from feedline.words.engine.tensorflow.text import INPUTS, OUTPUTS, Change

Host = Mapping[str, NDArray[np.float32]]


class One:
    """All rows on one device."""

    def __init__(self, program: Any, host: Host, device: str) -> None:
        self.program = program
        with tf.device(device):
            tables = _with_loads(host)
            self.tables = {name: tf.Variable(rows) for name, rows in tables.items()}
        self.names = list(host)
        self.device = device
        # Not compiled by XLA: on a CPU that made it far slower.
        self.launch = tf.function(
            self._launch, input_signature=program.signature(), autograph=False
        )

    def _launch(self, *arguments: Any) -> Any:
        with tf.device(self.device):
            state = self.program.prepare(*arguments)

            def body(number: Any, loss: Any, examples: Any) -> Any:
                found = self.program.step(state, number, 0, 1, self._look)
                for change in found.changes:
                    rows = spread(self.program, change)
                    add(self.program, self.tables, change.table, rows)
                return number + 1, loss + found.loss, examples + found.examples

            done = tf.while_loop(
                lambda number, *_: number < state.steps,
                body,
                [tf.constant(0), tf.constant(0.0), tf.constant(0.0)],
                parallel_iterations=1,
            )
            return done[1], done[2], self.program.kept(state)

    def _look(self, table: str, ids: Any) -> Any:
        return rows_of(self.tables[table], ids)

    def read(self) -> dict[str, NDArray[np.float32]]:
        return {name: self.tables[name].numpy() for name in self.names}


class Mirrored:
    """A copy of all rows on every device, or machine, of a tf.distribute strategy.

    A step is divided among the copies. Each then gets the changes of all and adds
    them to its own rows: what crosses between devices is changed rows, never a
    whole table.
    """

    def __init__(self, program: Any, host: Host, strategy: Any) -> None:
        self.program, self.strategy = program, strategy
        self.parts = strategy.num_replicas_in_sync
        self.names = list(host)
        with strategy.scope():
            tables = _with_loads(host)
            self.tables = {name: tf.Variable(rows) for name, rows in tables.items()}
            self.tally = tf.Variable(
                [0.0, 0.0],
                trainable=False,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )
        self.launch = tf.function(
            self._launch, input_signature=program.signature(), autograph=False
        )

    def _launch(self, *arguments: Any) -> Any:
        run, local = self.strategy.run, self.strategy.experimental_local_results
        states = run(self.program.prepare, arguments)
        run(self._begin)
        steps = local(states.steps)[0]

        def body(number: Any) -> Any:
            run(self._step, (states, number))
            return number + 1

        tf.while_loop(
            lambda number: number < steps, body, [tf.constant(0)], parallel_iterations=1
        )
        found = self.strategy.reduce("SUM", run(self._told), axis=None)
        kept = local(run(self.program.kept, (states,)))[0]
        return found[0], found[1], kept

    def _begin(self) -> None:
        tf.raw_ops.AssignVariableOp(resource=self.tally.handle, value=tf.zeros([2]))

    def _told(self) -> Any:
        return tf.raw_ops.ReadVariableOp(resource=self.tally.handle, dtype=tf.float32)

    def _step(self, state: Any, number: Any) -> None:
        replica = tf.distribute.get_replica_context()
        part = replica.replica_id_in_sync_group
        found = self.program.step(state, number, part, self.parts, self._look)
        tf.raw_ops.AssignAddVariableOp(
            resource=self.tally.handle, value=tf.stack([found.loss, found.examples])
        )
        for change in _exchanged(replica, found.changes, self.parts):
            rows = spread(self.program, change)
            add(self.program, self.tables, change.table, rows)

    def _look(self, table: str, ids: Any) -> Any:
        return rows_of(self.tables[table], ids)

    def read(self) -> dict[str, NDArray[np.float32]]:
        local = self.strategy.experimental_local_results
        return {name: local(self.tables[name])[0].numpy() for name in self.names}


def _exchanged(replica: Any, changes: list[Change], parts: int) -> list[Change]:
    """The changes of all devices: one exchange of ids and one of rows."""
    ids = [tf.reshape(change.ids, [-1]) for change in changes]
    sizes = [int(one.shape[0]) for one in ids]
    width = changes[0].values.shape[-1]
    rows = [tf.reshape(change.values, [-1, width]) for change in changes]
    # A row's load goes with it as one more number.
    loads = [tf.reshape(change.load, [-1, 1]) for change in changes]
    rows = [tf.concat(both, 1) for both in zip(rows, loads, strict=True)]
    all_ids = replica.all_gather(tf.concat(ids, 0), axis=0)
    all_rows = replica.all_gather(tf.concat(rows, 0), axis=0)
    all_ids = tf.reshape(all_ids, [parts, sum(sizes)])
    all_rows = tf.reshape(all_rows, [parts, sum(sizes), width + 1])
    return [
        change._replace(
            ids=some,
            values=values[..., :width],
            load=values[..., width],
        )
        for change, some, values in zip(
            changes,
            tf.split(all_ids, sizes, axis=1),
            tf.split(all_rows, sizes, axis=1),
            strict=True,
        )
    ]


class Sharded:
    """Rows divided among devices: row r lies on device r modulo their number, so
    that frequent words, which come first, are spread. For tables that one device
    cannot hold."""

    def __init__(self, program: Any, host: Host, devices: Sequence[str]) -> None:
        self.program, self.devices = program, devices
        self.tables: dict[str, list[Any]] = {}
        for name, rows in _with_loads(host).items():
            self.tables[name] = []
            for number, device in enumerate(devices):
                with tf.device(device):
                    mine = tf.Variable(rows[number :: len(devices)])
                self.tables[name].append(mine)
        self.rows = {name: len(rows) for name, rows in host.items()}
        self.launch = tf.function(
            self._launch, input_signature=program.signature(), autograph=False
        )

    def _launch(self, *arguments: Any) -> Any:
        states = []
        for device in self.devices:
            with tf.device(device):
                states.append(self.program.prepare(*arguments))
        parts = len(self.devices)

        def body(number: Any, loss: Any, examples: Any) -> Any:
            outcomes = []
            for part, device in enumerate(self.devices):
                with tf.device(device):
                    found = self.program.step(
                        states[part], number, part, parts, self._look
                    )
                outcomes.append(found)
            # No row changes before all devices have looked theirs up.
            with tf.control_dependencies([found.loss for found in outcomes]):
                for changes in zip(*(found.changes for found in outcomes), strict=True):
                    self._add(changes)
            return (
                number + 1,
                loss + tf.add_n([found.loss for found in outcomes]),
                examples + tf.add_n([found.examples for found in outcomes]),
            )

        done = tf.while_loop(
            lambda number, *_: number < states[0].steps,
            body,
            [tf.constant(0), tf.constant(0.0), tf.constant(0.0)],
            parallel_iterations=1,
        )
        return done[1], done[2], self.program.kept(states[0])

    def _look(self, table: str, ids: Any) -> Any:
        shards, flat = self.tables[table], tf.reshape(ids, [-1])
        parts = len(shards)
        owner = flat % parts
        rows = []
        for some, shard in zip(
            tf.dynamic_partition(flat // parts, owner, parts), shards, strict=True
        ):
            with tf.device(shard.device):
                rows.append(rows_of(shard, some))
        places = tf.dynamic_partition(tf.range(tf.size(flat)), owner, parts)
        found = tf.dynamic_stitch(places, rows)
        width = shards[0].shape[-1]
        return tf.reshape(found, tf.concat([tf.shape(ids), [width]], 0))

    def _add(self, changes: Sequence[Change]) -> None:
        """One table's changes, of all devices, to the devices that hold its rows."""
        parts = len(self.devices)
        pieces: list[list[Any]] = [[] for _ in self.devices]
        for change, device in zip(changes, self.devices, strict=True):
            with tf.device(device):
                rows = spread(self.program, change)
                owner = rows.ids % parts
                each = zip(
                    tf.dynamic_partition(rows.ids // parts, owner, parts),
                    tf.dynamic_partition(rows.values, owner, parts),
                    tf.dynamic_partition(rows.load, owner, parts),
                    strict=True,
                )
            for number, piece in enumerate(each):
                pieces[number].append(piece)
        for number, device in enumerate(self.devices):
            with tf.device(device):
                columns = zip(*pieces[number], strict=True)
                rows = Rows(*(tf.concat(column, 0) for column in columns))
                mine = {table: self.tables[table][number] for table in self.tables}
                add(self.program, mine, changes[0].table, rows)

    def read(self) -> dict[str, NDArray[np.float32]]:
        found = {}
        for name in self.rows:
            shards = self.tables[name]
            whole = np.empty((self.rows[name], shards[0].shape[1]), np.float32)
            for number, shard in enumerate(shards):
                whole[number :: len(shards)] = shard.numpy()
            found[name] = whole
        return found


def rows_of(table: Any, ids: Any) -> Any:
    """Rows of the copy of a table that lies on the device at hand."""
    return tf.raw_ops.ResourceGather(
        resource=table.handle, indices=ids, dtype=tf.float32
    )


class Rows(NamedTuple):
    """Rows of a table, in one list, what is added to each, and the load of each."""

    ids: Any
    values: Any
    load: Any


def spread(program: Any, change: Change) -> Rows:
    """The rows that a change names."""
    if change.bag:
        return Rows(*program.bags.spread(change.ids, change.values, change.load))
    flat = tf.reshape(change.values, [-1, change.values.shape[-1]])
    return Rows(tf.reshape(change.ids, [-1]), flat, tf.reshape(change.load, [-1]))


def add(program: Any, tables: Mapping[str, Any], name: str, rows: Rows) -> None:
    """Add to rows; a row that is named twice takes both."""
    loads = tables[f"{name}_load"]
    if program.adagrad:
        # The reference divides by the sums as they were before its own step: so do
        # these, but for rows that are named more than once.
        sums, own = tables[f"{name.removesuffix('s')}_squares"], tf.square(rows.values)
        _scatter(sums, rows.ids, own)
        scale = tf.math.rsqrt(tf.maximum(rows_of(sums, rows.ids) - own, 1e-12))
        load = rows.load * tf.reduce_mean(scale, 1)
        rows = Rows(rows.ids, rows.values * scale, load)
        values = damped(loads, rows, one_by_one=True)
    else:
        values = damped(loads, rows)
    _scatter(tables[name], rows.ids, values)


def damped(loads: Any, rows: Rows, one_by_one: bool = False) -> Any:
    """The changes, smaller where many of them fall on one row.

    A step adds up changes that the reference would make one after the other, each
    from where the one before left the row. On a bowl of curvature h, n steps of rate
    r leave exp(-nrh) of the way to its bottom, where n steps at once would go nrh
    times the way and, beyond 2, diverge. With a for nrh, (1 - exp(-a)) / a of the sum
    is what the steps come to one by one. Where a is small, as for all but the most
    frequent words, that is 1. A change that is itself a single step of the reference
    (`one_by_one`) is not damped by its own load.
    """
    _scatter(loads, rows.ids, rows.load)
    total = rows_of(loads, rows.ids)
    zero = tf.zeros_like(rows.load)
    tf.raw_ops.ResourceScatterUpdate(
        resource=loads.handle, indices=rows.ids, updates=zero
    )
    if one_by_one:
        total -= rows.load
    total = tf.maximum(total, 1e-6)
    return rows.values * (-tf.math.expm1(-total) / total)[:, tf.newaxis]


def _scatter(table: Any, ids: Any, values: Any) -> None:
    tf.raw_ops.ResourceScatterAdd(resource=table.handle, indices=ids, updates=values)


def _with_loads(host: Host) -> dict[str, NDArray[np.float32]]:
    """The tables, and the loads that a step notes for its rows."""
    loads = {
        f"{name}_load": np.zeros(len(host[name]), np.float32)
        for name in (INPUTS, OUTPUTS)
    }
    return {**host, **loads}
