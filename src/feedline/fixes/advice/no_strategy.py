"""Train on one device without a strategy

A `tf.distribute` strategy splits every batch and adds up gradients across devices. With
one device there is nothing to share, and that work remains. Build and compile the model
outside of the strategy's scope. Advice: keep the strategy if the same script also runs
on several devices.
"""
