"""Use a smaller shuffle buffer

A shuffle gives its first element when its buffer is full, in every epoch. A smaller
buffer is full sooner and shuffles less well. Advice: the order of elements changes, and
data sorted by class needs a buffer larger than the runs of one class.

Better where it can be done: shuffle file names or ids, which are small, and decode
after that. Then the buffer can hold all of them.

## Example

```python
dataset = paths.map(load_and_decode).shuffle(10_000).batch(32)
```

## Use instead

```python
dataset = paths.map(load_and_decode).shuffle(500).batch(32)
```
"""
