"""Prepare whole arrays instead of looping over items

A Python loop handles one item at a time on one core, before training can begin.
Operations on whole arrays take a fraction of the time; a `map` of the pipeline runs
while the model trains. Advice: the code is yours to rewrite and to compare.

## Example

```python
pairs = []
for left, right in zip(words, words[1:]):
    pairs.append((vocabulary[left], vocabulary[right]))
dataset = tf.data.Dataset.from_tensor_slices(np.array(pairs))
```

## Use instead

```python
ids = table.lookup(tf.constant(words))
pairs = tf.stack([ids[:-1], ids[1:]], axis=1)
dataset = tf.data.Dataset.from_tensor_slices(pairs)
```
"""
