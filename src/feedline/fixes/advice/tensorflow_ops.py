"""Write the Python function with TensorFlow operations

`tf.py_function`, `tf.numpy_function` and `from_generator` run Python, one thread at a
time. The same work in `tf.io`, `tf.image`, `tf.strings` or plain tensor arithmetic runs
on all cores without the interpreter. Advice: rounding and corner cases may differ, so
compare the two on your data.

## Example

```python
def load(path):
    return tf.py_function(load_with_pillow, [path], tf.uint8)

dataset = paths.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
```

## Use instead

```python
def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))

dataset = paths.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(32)
```
"""
