"""Let callbacks act once in a while

Do in `on_epoch_end`, or on every hundredth batch, what a callback does on every batch.
`fit` starts the next step only when all callbacks are done. Advice: the training is the
same, the log has fewer lines.

Keras' own TensorBoard callback writes every batch with `update_freq="batch"`; a number
there is the number of batches between writes.
"""
