"""The reference engine against hand-worked cases and numerical gradients."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from feedline.words.engine import reference, tables
from feedline.words.engine.config import Config
from feedline.words.engine.kinds import Rates
from feedline.words.engine.weights import Weights, fresh, fresh_glove

RATE = Rates(0.5, 0.0, 0.0)


def made(words=4, **options):
    config = Config.of(**{"dim": 3, "sample": 0.0, "threads": 1, **options})
    names = tuple("abcdefghij"[:words])
    look_up = tables.make(config, names, np.arange(words, 0, -1))
    weights = fresh(config, look_up.input_rows, look_up.output_rows)
    rng = np.random.default_rng(1)
    weights.inputs[:-1, :3] = rng.normal(size=(look_up.input_rows, 3))
    weights.outputs[:-1, :3] = rng.normal(size=(look_up.output_rows, 3))
    return look_up, weights


def pool(look_up, seed):
    return reference.Pool(look_up, reference.Lot(seed))


def test_one_prediction_by_hand():
    weights = Weights(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0], [1.0, 0.0]]), 2)
    change, loss = reference.predict(
        weights, np.array([[1.0, 0.0]]), [(0, 1.0), (1, -1.0)], 0.1
    )
    # Row 0: dot 0, p 1/2, error +0.05. Row 1: dot 1, p of noise 1 - sigmoid(1).
    noise = 1 / (1 + np.exp(1.0))
    assert loss == pytest.approx(-np.log(0.5) - np.log(noise))
    error = -0.1 * (1 - noise)
    assert change[0] == pytest.approx([error * 1.0, 0.05 * 2.0])
    assert weights.outputs[0] == pytest.approx([0.05, 2.0])
    assert weights.outputs[1] == pytest.approx([1.0 + error, 0.0])


@pytest.mark.parametrize("loss", ["ns", "hs"])
def test_the_step_is_down_the_gradient(loss):
    look_up, weights = made(loss=loss)
    target = reference.target_of(look_up, 2, pool(look_up, 5))
    inputs = weights.inputs[[0, 1]].astype(np.float64)

    def loss_at(moved):
        copied = Weights(weights.inputs, weights.outputs.astype(np.float64), 3)
        return reference.predict(copied, moved, target, 0.0)[1]

    gradient = np.zeros_like(inputs)
    for place in np.ndindex(2, 3):
        up, down = inputs.copy(), inputs.copy()
        up[place] += 1e-5
        down[place] -= 1e-5
        gradient[place] = (loss_at(up) - loss_at(down)) / 2e-5
    copied = Weights(weights.inputs, weights.outputs.astype(np.float64), 3)
    # A rate so small that a word drawn twice has not moved in between.
    change, _ = reference.predict(copied, inputs, target, 1e-9)
    assert change / 1e-9 == pytest.approx(-gradient, abs=1e-6)


def test_a_huffman_tree_gives_frequent_words_short_paths():
    offsets, nodes, codes = tables.huffman(np.array([40, 30, 20, 5, 5]))
    assert np.diff(offsets).tolist() == [1, 2, 3, 4, 4]
    paths = {
        tuple(zip(nodes[a:b].tolist(), codes[a:b].tolist(), strict=True))
        for a, b in itertools.pairwise(offsets)
    }
    assert len(paths) == 5
    # All start at the root, the last node that was made.
    assert {path[0][0] for path in paths} == {3}


def test_hierarchical_probabilities_add_up_to_one():
    look_up, weights = made(words=7, loss="hs")
    total = 0.0
    for word in range(7):
        target = reference.target_of(look_up, word, pool(look_up, 1))
        copied = Weights(weights.inputs, weights.outputs.copy(), 3)
        _, loss = reference.predict(copied, weights.inputs[[0]], target, 0.0)
        total += np.exp(-loss)
    assert total == pytest.approx(1.0)


def test_noise_is_drawn_by_its_weights_and_never_is_the_target():
    look_up, _ = made(words=6)
    drawn = pool(look_up, 9)
    found = np.bincount(np.ravel([drawn.draw(5, 5) for _ in range(8000)]), minlength=6)
    assert found[5] == 0
    wanted = np.arange(6, 1, -1.0) ** 0.75
    # A place that holds the target passes to the next, so others keep their shares.
    assert found[:5] / found.sum() == pytest.approx(wanted / wanted.sum(), abs=0.02)


def test_the_pool_is_renewed():
    look_up, _ = made(words=10)
    drawn = pool(look_up, 9)
    before = list(drawn.words)
    drawn.draw(5, 0)
    assert drawn.cursor == 2
    assert drawn.words[2:] == before[2:]


def test_a_target_that_is_all_there_is_does_not_hang():
    look_up, _ = made(words=2)
    one_sided = tables.alias(np.array([1.0, 1e-300]))
    stuck = tables.Tables(**{**vars(look_up), "noise": one_sided})
    assert pool(stuck, 3).draw(3, 0) == [0, 0, 0]


def test_frequent_words_are_thinned_out_as_word2vec_does():
    counts = np.array([900_000, 90_000, 10_000])
    kept = tables.keep(counts, 1e-2) / 2**32
    share = counts / counts.sum()
    wanted = np.minimum(1, (np.sqrt(share / 1e-2) + 1) * 1e-2 / share)
    assert kept == pytest.approx(wanted, abs=1e-9)
    assert (tables.keep(counts, 0.0) == tables.ALWAYS).all()


def test_sentences_end_where_they_end():
    look_up, _ = made()
    tokens = np.array([0, 1, -1, 2, -1, 3, 3], np.int32)
    found = list(reference.sentences(look_up, tokens, reference.Lot(1)))
    assert found == [(0, [0, 1]), (3, [2]), (5, [3, 3])]


def test_a_block_depends_on_its_seed_alone():
    tokens = np.array([0, 1, 2, 3, -1] * 5, np.int32)
    ends = []
    for seed in (1, 1, 2):
        look_up, weights = made()
        reference.block(look_up, weights, tokens, seed, RATE)
        ends.append(weights.inputs)
    assert np.array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])


def test_block_seeds_differ():
    seeds = {
        tables.block_seed(s, e, b)
        for s in range(5)
        for e in range(5)
        for b in range(50)
    }
    assert len(seeds) == 5 * 5 * 50


def test_glove_fits_the_logarithms():
    config = Config.of(model="glove", dim=4, x_max=1.0, threads=1, eta=0.2)
    weights = fresh_glove(config, 5)
    pairs = np.array([(i, j) for i in range(5) for j in range(i, 5)], np.int32)
    logs = np.random.default_rng(3).normal(1.0, 0.5, len(pairs)).astype(np.float32)
    losses = [reference.glove(config, weights, pairs, logs).loss for _ in range(300)]
    assert losses[-1] < losses[0] / 50
