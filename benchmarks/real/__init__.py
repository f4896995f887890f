"""The parts of `benchmarks/gallery.py`: real public training scripts as a measure."""
