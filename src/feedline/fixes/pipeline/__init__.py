"""Fixes of the input pipeline: one file each, found by their presence."""
