"""Fixes of the training step, and of work that moves into it: one file each, found by
their presence."""
