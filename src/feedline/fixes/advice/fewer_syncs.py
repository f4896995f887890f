"""Read results every hundredth step

Keep losses and metrics as tensors and read them (`.numpy()`, `float()`, `print`) now
and then. Reading waits until the device has finished, so nothing can be started ahead.
Advice: the training is the same, you see fewer values.
"""
