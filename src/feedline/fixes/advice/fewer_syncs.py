"""Read results every hundredth step

Keep losses and metrics as tensors and read them (`.numpy()`, `float()`, `print`) now
and then. Reading waits until the device has finished, so nothing can be started ahead.
Advice: the training is the same, you see fewer values.

## Example

```python
for batch in dataset:
    loss = train_step(batch)
    losses.append(loss.numpy())
```

## Use instead

```python
mean = tf.keras.metrics.Mean()
for step, batch in enumerate(dataset):
    mean.update_state(train_step(batch))
    if step % 100 == 0:
        losses.append(mean.result().numpy())
        mean.reset_state()
```
"""
