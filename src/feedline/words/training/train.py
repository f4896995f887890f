"""`words.train`: text in, vectors out.

    corpus -> vocabulary and shards -> tables and matrices -> blocks -> Vectors

With `out` everything that a run needs to go on is in that directory, which in the
end is one of `Vectors`:

    out/
      tokens/           the encoded text (shards.py)
      cooccurrences/    GloVe's counts (cooccurrence.py)
      training/         the checkpoint; afterwards the output rows
      metrics.jsonl     speed and loss as they were
      epoch-1/ ...      vectors after each epoch, if asked for
      vectors.json, vectors.safetensors, vocabulary.txt
"""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable  # noqa: F401  (for type hints)
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from feedline.errors import TrainingError
from feedline.words.engine import Setup, check_setup
from feedline.words.engine import engine as load_engine
from feedline.words.engine import tables as make_tables
from feedline.words.engine.config import Config
from feedline.words.engine.options import ModelOptions
from feedline.words.engine.runner import Peers
from feedline.words.option import part, takes
from feedline.words.text import cooccurrence
from feedline.words.text.corpus import Corpus, prepare, reopen
from feedline.words.text.options import TextOptions
from feedline.words.text.shards import Shards, read_manifest
from feedline.words.text.spans import cut
from feedline.words.text.vocabulary import Vocabulary
from feedline.words.training import auto, checkpoint, result, run_folder
from feedline.words.training.driver import Driver, Progress
from feedline.words.training.material import Material, task_of
from feedline.words.training.options import AUTO, Options
from feedline.words.training.task import GloveTask, TextTask
from feedline.words.vectors.vectors import Vectors


@takes(Options)
def train(options: Options) -> Vectors:
    """Train word vectors.

    >>> vectors = words.train("corpus.txt", dim=100)
    >>> words.train("corpus.txt", out="vectors", model="cbow", min_n=3, max_n=6)

    `corpus` is a file, a glob, a directory, several of these, or lists of words.
    `out` is a directory for the vectors, checkpoints and metrics; without it,
    nothing is kept on disk. `resume` continues from the checkpoint in `out`, if there
    is one. `start` continues from earlier vectors on more text, adding its new
    words. `tokenize` splits a line into words. `progress` is called a few times a
    second with a `Progress`.

    The other options are those of `feedline words train --help`, with the same
    defaults; `checkpoint_every` is its `--checkpoint`.
    """
    config = Config.of(**asdict(part(options, ModelOptions)))
    setup = part(options, Setup)
    engine, progress = options.engine, options.progress
    if engine == AUTO:
        auto.check(setup)
    else:
        check_setup(engine, setup)
        load_engine(engine)
    how = part(options, TextOptions)
    with ExitStack() as stack:
        folder = None if options.out is None else Path(options.out).absolute()
        if not _writes(engine, setup):
            folder = None
        found = None
        if folder is not None:
            found = run_folder.claim(
                folder, stack, resume=options.resume, force=options.force
            )
            if found is not None and found.finished:
                return Vectors.load(folder)
        text = Corpus.of(
            options.corpus,
            lower=how.lower,
            pattern=how.pattern,
            tokenize=options.tokenize,
        )
        store = _store(options.cache, folder, stack)
        begin = _start_from(options.start, config)
        words, shards = _text(
            text, store, how, _vocabulary(options.vocabulary), begin, found, progress
        )
        if len(words) < 2:
            raise TrainingError(
                f"the vocabulary has one word, {words.words[0]!r}: vectors tell words "
                "apart, so give text with at least two, or a smaller min_count "
                f"({how.min_count})."
            )
        material = _material(config, words, shards, store, progress)
        speeds: dict[str, float] = {}
        if engine == AUTO and found is not None:
            engine = str(found.record.get("engine"))
        elif engine == AUTO:
            engine, speeds = auto.faster(material, setup, progress)
        record = _record(config, engine, how, shards, options.start)
        if found is not None:
            run_folder.check_same(config, record, found.record)
        task = task_of(engine, material, setup)
        if begin is not None and found is None and isinstance(task, TextTask):
            given = options.start
            source = None if isinstance(given, Vectors) else Path(str(given))
            result.take_over(task, words, begin, source)
        driver = Driver(
            task,
            config.threads,
            words.raw_tokens,
            folder,
            record,
            options.checkpoint_every,
            progress,
        )
        if found is not None:
            driver.restore(found)
        _meet(task.runner.peers, driver, record)
        about = {**config.as_dict(), "engine": engine, "text": record["options"]}
        if options.engine != engine:
            about["asked"] = options.engine
        if not task.runner.peers.chief:
            about["chief"] = False
        if speeds:
            about["engine_speeds"] = speeds
        if setup != Setup():
            about["setup"] = {
                "devices": setup.devices,
                "precision": setup.precision,
            }
        if options.save_epochs and folder is not None:
            driver.after_epoch = _epoch_saver(task, words, about, folder)
        if progress is not None:
            progress(Progress("compile", 0, None))
        load_engine(engine).warm_up(config)
        driver.run()
        return _finish(task, words, about, driver, folder, progress)


def _store(
    cache: str | os.PathLike[str] | None, folder: Path | None, stack: ExitStack
) -> Path:
    """Where the encoded text is kept."""
    if cache is not None:
        return Path(cache).absolute()
    if folder is not None:
        return folder
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="feedline-")))


def _vocabulary(
    given: Vocabulary | str | os.PathLike[str] | None,
) -> Vocabulary | None:
    if given is None or isinstance(given, Vocabulary):
        return given
    return Vocabulary.load(Path(given))


def _start_from(
    start: Vectors | str | os.PathLike[str] | None, config: Config
) -> Vectors | None:
    if start is None:
        return None
    vectors = start if isinstance(start, Vectors) else Vectors.load(start)
    result.check_start(vectors, config)
    return vectors


def _text(
    corpus: Corpus,
    store: Path,
    options: TextOptions,
    given: Vocabulary | None,
    begin: Vectors | None,
    found: checkpoint.Checkpoint | None,
    progress: Callable[[Progress], None] | None,
) -> tuple[Vocabulary, Shards]:
    """The vocabulary and the encoded text."""

    def tell(stage: str, done: int, total: int | None) -> None:
        if progress is not None:
            progress(Progress(stage, done, total))

    if found is not None and (store / "tokens").exists():
        run_folder.check_corpus(corpus, store)
        # What was encoded stays, even where the text cannot be read a second time.
        return reopen(store)
    how: dict[str, Any] = {
        "min_count": options.min_count,
        "max_vocab": options.max_vocab,
        "phrases": options.phrases,
    }
    if begin is not None and given is None:
        if corpus.fingerprint() is None and _once(corpus):
            raise TrainingError(
                "to continue training, the text is read twice, first for its new "
                "words, and this one can be read only once: give a file, or a "
                "vocabulary."
            )
        with tempfile.TemporaryDirectory(prefix="feedline-") as first:
            new, shards = prepare(corpus, Path(first), progress=tell, **how)
            del shards
        given = result.merged(begin, new)
    return prepare(corpus, store, vocabulary=given, progress=tell, **how)


def _once(corpus: Corpus) -> bool:
    if corpus.sentences is not None:
        return iter(corpus.sentences) is corpus.sentences
    return not all(file.regular for file in corpus.files)


def _record(
    config: Config,
    engine: str,
    options: TextOptions,
    shards: Shards,
    start: Vectors | str | os.PathLike[str] | None,
) -> dict[str, Any]:
    """What a run that goes on must have the same."""
    begin = None
    if start is not None:
        begin = "vectors" if isinstance(start, Vectors) else str(start)
    return {
        "config": config.as_dict(),
        "engine": engine,
        "options": asdict(options),
        "start": begin,
        "text": _source(shards),
    }


def _source(shards: Shards) -> dict[str, Any]:
    """What tells this text from another."""
    manifest = read_manifest(shards.path)
    return {
        "tokens": manifest.tokens,
        "vocabulary": manifest.vocabulary_crc32,
        "files": [file.crc32 for file in manifest.files],
    }


def _material(
    config: Config,
    words: Vocabulary,
    shards: Shards,
    store: Path,
    progress: Callable[[Progress], None] | None,
) -> Material:
    if config.model != "glove":
        tables = make_tables.make(config, words.words, words.counts)
        return Material(config, len(words), shards.arrays, tables)

    def tell(stage: str, done: int, total: int | None) -> None:
        if progress is not None:
            progress(Progress(stage, done, total))

    counts = cooccurrence.count(
        shards.arrays,
        cut(shards.arrays),
        len(words),
        config.window,
        store,
        threads=config.threads,
        seed=config.seed,
        source=_source(shards),
        progress=tell,
    )
    return Material(config, len(words), shards.arrays, counts=counts)


def _writes(engine: str, setup: Setup) -> bool:
    """Whether this process writes files: of a cluster's workers, the chief alone."""
    if engine != "tensorflow":
        return True
    from feedline.words.engine.tensorflow import cluster

    joined = cluster.read(setup.cluster, setup.worker)
    return joined is None or joined.chief


def _meet(peers: Peers, driver: Driver, record: dict[str, Any]) -> None:
    """All machines begin where the chief does, with the same text and options."""
    config = {**record["config"], "threads": None}
    same = {**record, "config": config, "start": record["start"] is not None}
    mine = zlib.crc32(json.dumps(same, sort_keys=True).encode())
    theirs, driver.epoch, driver.place = peers.first([mine, driver.epoch, driver.place])
    if mine != theirs:
        raise TrainingError(
            "this worker's text or options differ from the chief's: give every "
            "worker of the cluster the same corpus and the same options."
        )


def _epoch_saver(
    task: TextTask | GloveTask, words: Vocabulary, about: dict[str, Any], folder: Path
) -> Callable[[int], None]:
    def save(epoch: int) -> None:
        vectors = result.finish(task, words, {**about, "epoch": epoch}, copy=True)
        vectors.save(folder / f"epoch-{epoch}", force=True)

    return save


def _finish(
    task: TextTask | GloveTask,
    words: Vocabulary,
    about: dict[str, Any],
    driver: Driver,
    folder: Path | None,
    progress: Callable[[Progress], None] | None,
) -> Vectors:
    """The vectors, saved if there is a place for them."""
    about = {
        **about,
        "raw_tokens": words.raw_tokens,
        "losses": driver.losses,
        "train_seconds": round(driver.seconds, 3),
        "words_per_second": round(driver.words_done / max(driver.trained, 1e-9)),
    }
    task.runner.pull()
    if not np.isfinite(task.weights.inputs[: min(1024, len(words))]).all():
        raise TrainingError(
            f"training diverged: the vectors became NaN. Give a smaller "
            f"learning rate than {task.rate(0, 0):g}."
        )
    if folder is None:
        return result.finish(task, words, about)
    if progress is not None:
        progress(Progress("save", 0, None))
    result.save_outputs(folder, task)
    if isinstance(task, TextTask):
        _release(task)
    vectors = result.finish(task, words, about)
    vectors.save(folder, force=True)
    run_folder.tidy(folder)
    return vectors


def _release(task: TextTask) -> None:
    """Let go of the output rows before the inputs are saved: saving makes a copy."""
    object.__setattr__(task.weights, "outputs", np.empty((0, 0), np.float32))
