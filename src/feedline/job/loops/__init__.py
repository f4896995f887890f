"""A live training loop that answers requests for steps.

    loop.py           the requests, and what a loop of any kind promises
    base.py           what all loops share: feeds, what the watch saw, the clock
    call.py           feedline can call the step itself: the train function of a
                      `fit`, or a `tf.function` that is handed an iterator
    python.py         the user's Python loop asks us for each batch
    function.py       the whole loop runs inside one `tf.function`
    feeds.py          where a step's batches come from: the job, the host, the device
    devices.py        what lies on which device
    snapshot.py       every variable and random state, saved and put back
    step_state.py     what a traced step changes, and whether all of it can be put back
    launches.py       several steps in one launch
    drop_iterator.py  iterators that are dropped without waiting for AUTOTUNE's thread
    facts.py          a loop as plain data: `Job`

Loops are made and told what happens by `script/watch.py`. They measure nothing but the
time that a request took. TensorFlow is loaded by the files that need it, not by this.
"""
