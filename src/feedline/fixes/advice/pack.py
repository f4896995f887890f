"""Pack small files into a few large ones

Write the data once into a few large TFRecord files, a hundred megabytes or more each,
and train from those. Opening a file costs the same for ten bytes as for a hundred
megabytes, and several large files can be read at once. Advice: feedline does not write
your data. It needs as much disk again, and the files must be written again when the
data changes.

A record is any bytes: the file as it is, or a `tf.train.Example` where a label belongs
to it. Write as many files as you want to read at once. Compressed records
(`TFRecordOptions(compression_type="GZIP")`) are smaller and cost CPU to read.

## Example

```python
def load(path):
    return tf.io.decode_jpeg(tf.io.read_file(path))

dataset = tf.data.Dataset.list_files("images/*.jpg", shuffle=False).map(load)
```

## Use instead

```python
paths = sorted(tf.io.gfile.glob("images/*.jpg"))
for number in range(8):  # once
    with tf.io.TFRecordWriter(f"packed-{number}.tfrecord") as writer:
        for path in paths[number::8]:
            writer.write(tf.io.read_file(path).numpy())

files = tf.data.Dataset.list_files("packed-*.tfrecord", shuffle=False)
dataset = files.interleave(tf.data.TFRecordDataset, cycle_length=8)
dataset = dataset.map(tf.io.decode_jpeg)
```
"""
