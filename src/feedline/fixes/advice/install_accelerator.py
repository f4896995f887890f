"""Install what TensorFlow needs to use the accelerator

TensorFlow lists only the CPU though the machine has a GPU. Check, in this order: the
driver (`nvidia-smi` must list the device), `CUDA_VISIBLE_DEVICES` (unset, or naming the
device), and the build (`pip install "tensorflow[and-cuda]"` brings the CUDA libraries
that belong to it). Advice: measure again afterwards; a very small model may be faster
on the CPU.

In a container the GPU must be passed in as well: `docker run --gpus all`.

## Example

```python
print(tf.config.list_physical_devices("GPU"))  # []
```

## Use instead

```python
print(tf.sysconfig.get_build_info().get("cuda_version"))  # None: a build without CUDA
print(tf.config.list_physical_devices("GPU"))  # after installing: one for each GPU
```
"""
