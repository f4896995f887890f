"""Move CPU-only operations out of the step

Some operations have no kernel for the device: strings, table lookups, `py_function`.
Inside the step they make the device wait for two copies and for the CPU. Do them in the
input pipeline, where they run ahead of the step, or use operations that the device has.
Advice: which part may move is for you to decide.

`tf.debugging.set_log_device_placement(True)` prints where each operation runs.
"""
