"""Validate less often, or on less data

By default `fit` validates after every epoch and waits for it. `validation_freq=5` does
so after every fifth; `validation_steps=50` looks at the first 50 batches only; a
smaller random set, drawn once, says nearly the same. The weights stay bit for bit the
same, unless a callback acts on what was validated (`EarlyStopping`,
`ReduceLROnPlateau`, `ModelCheckpoint`): it then acts on less. Advice: the history has
fewer values, or noisier ones. Validate on everything once, at the end.

## Example

```python
model.fit(train, epochs=50, validation_data=valid)
```

## Use instead

```python
model.fit(train, epochs=50, validation_data=valid, validation_freq=5)
model.evaluate(valid)
```
"""
