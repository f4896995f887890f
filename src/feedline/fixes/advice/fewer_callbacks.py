"""Let callbacks act once in a while

Do in `on_epoch_end`, or on every hundredth batch, what a callback does on every batch.
`fit` starts the next step only when all callbacks are done. Advice: the training is the
same, the log has fewer lines.

Keras' own TensorBoard callback writes every batch with `update_freq="batch"`; a number
there means so often.

## Example

```python
class Log(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        writer.write(f"{batch} {logs['loss']}")
```

## Use instead

```python
class Log(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch % 100 == 0:
            writer.write(f"{batch} {logs['loss']}")
```
"""
