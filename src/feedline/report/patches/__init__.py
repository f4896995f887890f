"""The parts of `report/patch.py`: from the plan's edits to a diff of the source.

    document.py    a file under edit: its bytes, its tree, changes that are checked
    tree.py        the calls in it, found by libcst, with their exact positions
    focus.py       what of a long file need not be parsed
    lines.py       lines and indents of a text in bytes
    find.py        the call that made a stage
    arguments.py   a keyword set in a call
    chains.py      a call put into a chain of calls, or moved in it
    predicates.py  may a filter stand before a map, judged by the source
    names.py       how this file calls `tf.data.AUTOTUNE`
    models.py      the `compile` that belongs to a `fit`, and what follows it
    functions.py   a function of the user's decorated
    comments.py    what an edit says where it cannot be made
    edits.py       one function per fix
    unified.py     before and after as a diff that `git apply` takes

Everything is text in, text out; no TensorFlow.
"""
