"""Pictures in files, by TensorFlow's own encoders."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SEED = 7


def _scene(height: int, width: int, label: int, random) -> np.ndarray:
    """A smooth picture whose colours depend on the class, with grain as a photo has."""
    coarse = random.integers(0, 255, (7, 9, 3)).astype(np.float32)
    coarse[..., label % 3] = 40 + 35 * (label % 6)
    rows = np.linspace(0, 6, height).astype(int)
    columns = np.linspace(0, 8, width).astype(int)
    grain = random.normal(0, 8, (height, width, 1))
    return np.clip(coarse[rows][:, columns] + grain, 0, 255).astype(np.uint8)


def _jpeg(path: Path, pixels: np.ndarray) -> None:
    import tensorflow as tf

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tf.io.encode_jpeg(pixels, quality=90).numpy())


def flowers(folder: Path) -> None:
    """Five folders of photographs of about 320 x 240."""
    random = np.random.default_rng(SEED)
    names = ("daisy", "dandelion", "roses", "sunflowers", "tulips")
    for label, name in enumerate(names):
        for number in range(180):
            size = (240, 320) if number % 3 else (280, 210)
            path = folder / "flower_photos" / name / f"{number:05}.jpg"
            _jpeg(path, _scene(*size, label, random))


def faces(folder: Path) -> None:
    """One folder of portraits, 178 x 218."""
    random = np.random.default_rng(SEED)
    for number in range(800):
        path = folder / "celeba_gan" / "img" / f"{number:06}.jpg"
        _jpeg(path, _scene(218, 178, number % 6, random))


def cats_and_dogs(folder: Path) -> None:
    random = np.random.default_rng(SEED)
    for label, name in enumerate(("Cat", "Dog")):
        for number in range(400):
            path = folder / "PetImages" / name / f"{number}.jpg"
            _jpeg(path, _scene(300, 400, label, random))


def kaggle_pets(folder: Path) -> None:
    """cat.0.jpg to cat.299.jpg and as many dogs, in one folder, 374 x 500."""
    random = np.random.default_rng(SEED)
    for label, name in enumerate(("cat", "dog")):
        for number in range(300):
            path = folder / "kaggle_original_data" / f"{name}.{number}.jpg"
            _jpeg(path, _scene(374, 500, label, random))


def twins(folder: Path) -> None:
    """Pairs that look alike, in two folders, 240 x 200."""
    random = np.random.default_rng(SEED)
    for number in range(240):
        left = _scene(200, 240, number % 6, random)
        grain = random.integers(0, 20, left.shape)
        right = np.clip(left + grain, 0, 255).astype(np.uint8)
        _jpeg(folder / "left" / f"{number:05}.jpg", left)
        _jpeg(folder / "right" / f"{number:05}.jpg", right)


def captchas(folder: Path) -> None:
    """200 x 50 grey PNG files, named by the five letters that they stand for."""
    import tensorflow as tf

    random = np.random.default_rng(SEED)
    place = folder / "captcha_images_v2"
    place.mkdir()
    letters = "2345678bcdefgmnpwxy"
    for _ in range(1040):
        word = random.choice(list(letters), 5)
        pixels = random.integers(180, 255, (50, 200, 3)).astype(np.uint8)
        for index, letter in enumerate(word):
            shape = np.random.default_rng(ord(letter)).integers(0, 2, (10, 8))
            ink = np.kron(shape, np.ones((3, 3)))[..., None]
            part = pixels[10:40, 20 + index * 32 : 44 + index * 32]
            part[:] = part * (1 - 0.8 * ink)
        path = place / ("".join(word) + ".png")
        path.write_bytes(tf.io.encode_png(pixels).numpy())


def pets_with_masks(folder: Path) -> None:
    """Photographs of about 500 x 375 and their trimaps of 1, 2 and 3."""
    import tensorflow as tf

    random = np.random.default_rng(SEED)
    masks = folder / "annotations" / "trimaps"
    masks.mkdir(parents=True)
    for number in range(420):
        _jpeg(folder / "images" / f"pet_{number}.jpg", _scene(375, 500, number, random))
        mask = np.full((375, 500, 1), 2, np.uint8)
        top, left = random.integers(20, 120, 2)
        mask[top : top + 200, left : left + 250] = 3
        mask[top + 8 : top + 192, left + 8 : left + 242] = 1
        path = masks / f"pet_{number}.png"
        path.write_bytes(tf.io.encode_png(mask).numpy())


MAKERS = {
    "flowers": flowers,
    "faces": faces,
    "cats-and-dogs": cats_and_dogs,
    "kaggle-pets": kaggle_pets,
    "twins": twins,
    "captchas": captchas,
    "pets-with-masks": pets_with_masks,
}
