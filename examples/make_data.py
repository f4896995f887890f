"""Pictures for the examples that read files. Not an example itself.

They are made once, under the system's temporary directory, and used again. A
picture is a few random colours flowing into each other, with some grain, so that
it is about as much work to decode as a photograph.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

ROOT = Path(tempfile.gettempdir()) / "feedline-examples"
KINDS = 10


def jpeg_files(count: int, side: int) -> Path:
    """A folder of JPEG files, each named by its kind and number."""

    def write(folder: Path) -> None:
        for number, (jpeg, kind) in enumerate(_jpegs(count, side)):
            (folder / f"{kind}-{number:05}.jpg").write_bytes(jpeg)

    return _once(f"jpeg-{count}-{side}", write)


def jpeg_records(count: int, side: int, shards: int = 4) -> list[str]:
    """TFRecord files of JPEG pictures: `image` (bytes) and `label`."""
    return _records(f"records-{count}-{side}-{shards}", _jpegs(count, side), shards)


def pixel_records(count: int, side: int, shards: int = 4) -> list[str]:
    """TFRecord files of raw pixels: `image` (bytes) and `label`."""
    pixels = ((image.tobytes(), kind) for image, kind in _pictures(count, side))
    return _records(f"pixels-{count}-{side}-{shards}", pixels, shards)


def _pictures(count: int, side: int) -> Iterator[tuple[np.ndarray, int]]:
    rng = np.random.default_rng(0)
    for _ in range(count):
        colours = rng.integers(0, 256, size=(12, 12, 3))
        image = tf.image.resize(colours, (side, side), method="bicubic")
        grain = rng.integers(-25, 26, size=(side, side, 3), dtype=np.int8)
        image = tf.saturate_cast(image + grain, tf.uint8)
        yield image.numpy(), int(rng.integers(KINDS))


def _jpegs(count: int, side: int) -> Iterator[tuple[bytes, int]]:
    for image, kind in _pictures(count, side):
        yield tf.io.encode_jpeg(image, quality=90).numpy(), kind


def _records(
    name: str, examples: Iterator[tuple[bytes, int]], shards: int
) -> list[str]:
    def write(folder: Path) -> None:
        names = [folder / f"{number:02}.tfrecord" for number in range(shards)]
        writers = [tf.io.TFRecordWriter(str(path)) for path in names]
        for number, (image, label) in enumerate(examples):
            feature = {
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writers[number % shards].write(example.SerializeToString())
        for writer in writers:
            writer.close()

    return sorted(str(path) for path in _once(name, write).glob("*.tfrecord"))


def _once(name: str, write: Callable[[Path], None]) -> Path:
    """The folder `name`, filled by `write` if it is not there yet."""
    folder = ROOT / name
    if not folder.exists():
        ROOT.mkdir(exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=ROOT))
        write(fresh)
        try:
            os.rename(fresh, folder)
        except OSError:  # another run was faster
            shutil.rmtree(fresh)
    return folder
