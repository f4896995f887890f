"""Changes that a person must make: one file each, found by their presence. feedline
explains them and never applies them."""
