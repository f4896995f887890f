"""Proof that a fix keeps the data (`same`), the weights (`weights`), and that it
is faster (`faster`). Nothing is claimed beyond what was compared."""
