"""Train against a sample of the classes

Compare the right class with a few dozen drawn at random instead of with all of them.
The loss is a noisy estimate of the full one, and the work per step is a thousandth.
Advice: it trains differently. Evaluate with the full softmax; the two losses cannot be
compared.

Drawing assumes that classes are sorted by how often they occur, the most frequent
first, as the ids of a vocabulary usually are.

## Example

```python
logits = tf.matmul(hidden, weights, transpose_b=True) + biases  # 100,000 classes
loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
```

## Use instead

```python
loss = tf.nn.sampled_softmax_loss(
    weights=weights,  # 100,000 x dimension
    biases=biases,
    labels=labels[:, tf.newaxis],
    inputs=hidden,
    num_sampled=64,
    num_classes=100_000,
)
```
"""
