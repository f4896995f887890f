"""Sounds as 16-bit wave files of one second."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

SEED = 7
RATE = 16_000


def _wave(path: Path, values: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((values * 32_000).astype("<i2").tobytes())


def _tone(label: int, random: np.random.Generator) -> np.ndarray:
    time = np.arange(RATE) / RATE
    tone = np.sin(2 * np.pi * (200 + 130 * label + random.normal(0, 9)) * time)
    return 0.5 * tone * np.hanning(RATE) + random.normal(0, 0.03, RATE).clip(-0.4, 0.4)


def commands(folder: Path) -> None:
    """Eight spoken commands, 250 of each."""
    random = np.random.default_rng(SEED)
    names = ("down", "go", "left", "no", "right", "stop", "up", "yes")
    for label, name in enumerate(names):
        for number in range(250):
            path = folder / "mini_speech_commands" / name / f"{number:04}.wav"
            _wave(path, _tone(label, random))


def speeches(folder: Path) -> None:
    """Five speakers, 200 seconds each, and six seconds of two noises."""
    random = np.random.default_rng(SEED)
    root = folder / "16000_pcm_speeches"
    for label in range(5):
        for number in range(200):
            _wave(
                root / "audio" / f"speaker_{label}" / f"{number}.wav",
                _tone(label, random),
            )
    for name in ("other", "_background_noise_"):
        noise = random.normal(0, 0.1, 6 * RATE).clip(-0.9, 0.9)
        _wave(root / "noise" / name / "noise.wav", noise)


MAKERS = {"commands": commands, "speeches": speeches}
