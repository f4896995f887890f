"""`words.train`: from a corpus to `Vectors`.

    train        the function itself
    run_folder   the folder of a run: whose it is, what may go on in it
    material     what any engine trains on
    task         blocks in order, with their learning rates
    loop         threads that take blocks and can stop between two
    driver       runs a task to its end: checkpoints, metrics, progress
    checkpoint   where training stands, on disk
    auto         `--engine auto`: the faster engine, measured
    result       trained matrices to `Vectors`, and back to train on

Not `train/`: importing a package of that name would hide the function `words.train`.
"""
