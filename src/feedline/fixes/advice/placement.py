"""Move CPU-only operations out of the step

Some operations have no kernel for the device: strings, table lookups, `py_function`.
Inside the step they make the device wait for two copies and for the CPU. Do them in the
input pipeline, where they run ahead of the step, or use operations that the device has.
Advice: which part may move is for you to decide.

`tf.debugging.set_log_device_placement(True)` prints where each operation runs.

## Example

```python
@tf.function
def train_step(words, labels):
    ids = table.lookup(words)  # strings: only on the CPU
    return train_on(ids, labels)
```

## Use instead

```python
def look_up(words, labels):
    return table.lookup(words), labels

dataset = dataset.map(look_up, num_parallel_calls=tf.data.AUTOTUNE)

@tf.function
def train_step(ids, labels):
    return train_on(ids, labels)
```
"""
