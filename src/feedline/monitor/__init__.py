"""Watches a job while it trains: `feedline.Monitor`.

    probe     takes a batch in the open now and then: how long did the step wait?
    meter     steps and waits -> readings, one for every few seconds
    drift     has a series changed, since when, by how much; does it grow
    alarms    readings -> what is worth a warning
    blame     the likely cause, from TensorFlow's model of the running pipeline
    display, scalars   where a person sees it: the terminal, TensorBoard
    callback  `Monitor`, which ties them to Keras and to loops of one's own

Only `probe`, `blame`, `scalars` and `callback` touch TensorFlow. Not for experiments:
nothing here changes a job to find out more. `feedline why` does.
"""
