"""Prepare the data on more machines

TensorFlow's tf.data service runs a pipeline on other machines and sends the finished
batches to the one that trains. It helps when all cores here are busy and the step still
waits. The cause's evidence says how many cores are needed. Advice: you must start the
machines, and the order of elements changes. First make the work smaller: a cache, or
files packed in advance, is cheaper than machines.

One process is the dispatcher; each CPU machine runs one worker. The workers must be
able to read the same files by the same paths, and they need the same TensorFlow. With
`distributed_epoch` every element comes once in an epoch, unless a worker fails.

## Example

```python
dataset = files.map(decode, num_parallel_calls=tf.data.AUTOTUNE).batch(256)
dataset = dataset.prefetch(tf.data.AUTOTUNE)
```

## Use instead

```python
service = tf.data.experimental.service

# on one machine
dispatcher = service.DispatchServer(service.DispatcherConfig(port=5000))
dispatcher.join()

# on each CPU machine
worker = service.WorkerServer(
    service.WorkerConfig(
        dispatcher_address="dispatcher-host:5000",
        worker_address="this-host:5001",
        port=5001,
    )
)
worker.join()

# in the training script
dataset = files.map(decode, num_parallel_calls=tf.data.AUTOTUNE).batch(256)
dataset = dataset.apply(
    service.distribute("distributed_epoch", "grpc://dispatcher-host:5000")
)
dataset = dataset.prefetch(tf.data.AUTOTUNE)
```
"""
