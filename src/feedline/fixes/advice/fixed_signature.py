"""Give the traced function a fixed signature

A `tf.function` is traced again for every new shape and every new Python number. Say in
`input_signature` which types and shapes it takes, with None where a length varies, and
pass numbers as tensors. Advice: Python code that branches on a number would see a
tensor instead.

## Example

```python
@tf.function
def train_step(batch, step):
    return update(batch, step)

for step, batch in enumerate(dataset):
    train_step(batch, step)
```

## Use instead

```python
@tf.function(
    input_signature=[
        tf.TensorSpec([None, None], tf.int64),
        tf.TensorSpec([], tf.int64),
    ]
)
def train_step(batch, step):
    return update(batch, step)

for step, batch in enumerate(dataset):
    train_step(batch, tf.constant(step, tf.int64))
```
"""
