"""The same examples as arrays.

Cause: none
Not: python-in-pipeline
"""

import numpy as np
from emulated import accelerated_model

numbers = np.arange(128_000)
rows = (numbers[:, np.newaxis] * np.arange(1, 513) % 97 / 97.0).astype(np.float32)
model = accelerated_model(ms=0.03)
model.fit(rows, numbers % 10, batch_size=128, epochs=4, verbose=0)
