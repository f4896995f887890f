"""Adam that touches only the rows a batch names, as one writes it by hand.

Used by the `_numeric` versions of the embedding jobs; not a tuned version itself.
Rows that no batch names keep their moments until one does: numeric.
"""

import keras
import tensorflow as tf


class LazyAdam(keras.optimizers.Adam):
    def update_step(self, gradient, variable, learning_rate):
        if not isinstance(gradient, tf.IndexedSlices):
            super().update_step(gradient, variable, learning_rate)
            return
        rows, place = tf.unique(gradient.indices)
        count, values = tf.size(rows), gradient.values
        gradient = tf.math.unsorted_segment_sum(values, place, count)
        # As Keras does it: a row named twice gets the sum of the squares, not the
        # square of the sum.
        squares = tf.math.unsorted_segment_sum(values * values, place, count)
        step = tf.cast(self.iterations + 1, gradient.dtype)
        rate = tf.cast(learning_rate, gradient.dtype)
        rate *= tf.sqrt(1.0 - self.beta_2**step) / (1.0 - self.beta_1**step)
        index = self._get_variable_index(variable)
        first = self._momentums[index].value
        second = self._velocities[index].value
        m = tf.gather(first, rows)
        m += (gradient - m) * (1.0 - self.beta_1)
        v = tf.gather(second, rows)
        v += (squares - v) * (1.0 - self.beta_2)
        first.scatter_update(tf.IndexedSlices(m, rows))
        second.scatter_update(tf.IndexedSlices(v, rows))
        change = rate * m / (tf.sqrt(v) + self.epsilon)
        # Keras hands over its own variable or TensorFlow's, by its version.
        table = variable if isinstance(variable, tf.Variable) else variable.value
        table.scatter_sub(tf.IndexedSlices(change, rows))
