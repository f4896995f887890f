"""Keep prepared data on disk for the next run

If the script computes the same data in every run before it trains, save the result and
load it the next time. `Dataset.save` and `Dataset.load` keep any dataset; NumPy arrays
can be opened without being read (`np.load(path, mmap_mode="r")`). Advice: the saved
data must be made again when its source or the code changes; put both into the file's
name.

## Example

```python
dataset = tf.data.Dataset.from_tensor_slices(prepare(sentences))
```

## Use instead

```python
if not tf.io.gfile.exists("prepared-v1"):
    tf.data.Dataset.from_tensor_slices(prepare(sentences)).save("prepared-v1")
dataset = tf.data.Dataset.load("prepared-v1")
```
"""
