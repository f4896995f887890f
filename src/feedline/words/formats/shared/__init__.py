"""What formats share.

source    a file to read, plain or compressed, that nobody need trust
target    a file to write: whole or not at all, never replaced unasked
bundle    a folder whose files vouch for each other
text      rows of words and numbers as text
numbers   such rows read, compiled
digits    such rows written, compiled
kernels   the loops of the binary formats, compiled
"""
