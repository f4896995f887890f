"""Use a few sizes that fit the hardware

A layer whose size is a multiple of 8 uses a GPU's tensor cores fully: round the size up
and ignore what was added. Batches padded to a few lengths let one traced graph serve
many batches: put elements of similar length together. Advice: the added values must be
masked wherever they would count, and grouping by length changes the order of elements.

With the lengths below, an element of more than 256 tokens is an error: cut it first.

## Example

```python
output = tf.keras.layers.Dense(50_257)
dataset = dataset.padded_batch(32)  # any length at all
```

## Use instead

```python
output = tf.keras.layers.Dense(50_264)  # a multiple of 8; the last 7 are not used
dataset = dataset.bucket_by_sequence_length(
    lambda tokens: tf.shape(tokens)[0],
    bucket_boundaries=[65, 129, 257],  # padded to 64, 128 or 256
    bucket_batch_sizes=[32, 32, 32, 32],
    pad_to_bucket_boundary=True,
)
```
"""
