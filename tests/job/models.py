"""Models as the guides and examples of Keras write them: nothing kept but variables."""

import keras
import tensorflow as tf
from keras import layers, ops


def small(*units):
    return keras.Sequential([layers.Dense(n, activation="relu") for n in units])


class GAN(keras.Model):
    def __init__(self, discriminator, generator, latent_dim):
        super().__init__()
        self.discriminator = discriminator
        self.generator = generator
        self.latent_dim = latent_dim
        self.history = []

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer = d_optimizer
        self.g_optimizer = g_optimizer
        self.loss_fn = loss_fn
        self.d_loss_metric = keras.metrics.Mean(name="d_loss")
        self.g_loss_metric = keras.metrics.Mean(name="g_loss")

    @property
    def metrics(self):
        return [self.d_loss_metric, self.g_loss_metric]

    def train_step(self, real_images):
        batch_size = tf.shape(real_images)[0]
        noise = tf.random.normal(shape=(batch_size, self.latent_dim))
        fake = self.generator(noise)
        combined = tf.concat([fake, real_images], axis=0)
        labels = tf.concat(
            [tf.ones((batch_size, 1)), tf.zeros((batch_size, 1))], axis=0
        )
        labels += 0.05 * tf.random.uniform(tf.shape(labels))
        with tf.GradientTape() as tape:
            predictions = self.discriminator(combined)
            d_loss = self.loss_fn(labels, predictions)
        grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
        self.d_optimizer.apply_gradients(
            zip(grads, self.discriminator.trainable_weights)
        )
        with tf.GradientTape() as tape:
            g_loss = self.loss_fn(
                tf.zeros((batch_size, 1)), self.discriminator(self.generator(noise))
            )
        grads = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_optimizer.apply_gradients(zip(grads, self.generator.trainable_weights))
        self.d_loss_metric.update_state(d_loss)
        self.g_loss_metric.update_state(g_loss)
        return {m.name: m.result() for m in self.metrics}

    def show(self, path):
        with open(path, "w") as file:
            print(self.history, file=file)


def gan():
    model = GAN(small(4, 1), small(4, 3), latent_dim=5)
    optimizer = keras.optimizers.Adam
    model.compile(optimizer(1e-3), optimizer(1e-3), keras.losses.BinaryCrossentropy())
    return model


class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        z_mean, z_log_var = inputs
        batch, dim = ops.shape(z_mean)[0], ops.shape(z_mean)[1]
        epsilon = keras.random.normal(shape=(batch, dim), seed=self.seed_generator)
        return z_mean + ops.exp(0.5 * z_log_var) * epsilon


class VAE(keras.Model):
    def __init__(self, encoder, decoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.decoder = decoder
        self.total_loss_tracker = keras.metrics.Mean(name="total_loss")
        self.trackers = [keras.metrics.Mean(name="kl"), self.total_loss_tracker]

    @property
    def metrics(self):
        return self.trackers

    def train_step(self, data):
        with tf.GradientTape() as tape:
            z_mean, z_log_var, z = self.encoder(data)
            reconstruction = self.decoder(z)
            reconstruction_loss = ops.mean(
                ops.sum(keras.losses.binary_crossentropy(data, reconstruction), axis=-1)
            )
            kl_loss = -0.5 * (1 + z_log_var - ops.square(z_mean) - ops.exp(z_log_var))
            kl_loss = ops.mean(ops.sum(kl_loss, axis=1))
            total_loss = reconstruction_loss + kl_loss
        grads = tape.gradient(total_loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.total_loss_tracker.update_state(total_loss)
        return {"loss": self.total_loss_tracker.result()}


def vae():
    inputs = keras.Input((6,))
    mean, log_var = layers.Dense(2)(inputs), layers.Dense(2)(inputs)
    encoder = keras.Model(inputs, [mean, log_var, Sampling()([mean, log_var])])
    model = VAE(encoder, small(4, 6))
    model.compile(optimizer=keras.optimizers.Adam())
    return model


class Contrastive(keras.Model):
    """In the manner of SimCLR."""

    def __init__(self):
        super().__init__()
        self.temperature = 0.1
        self.encoder = small(8, 4)
        self.head = small(4)
        self.augment = keras.Sequential([layers.GaussianNoise(0.1)])
        self.probe = layers.Dense(3)

    def compile(self, contrastive_optimizer, probe_optimizer, **kwargs):
        super().compile(**kwargs)
        self.contrastive_optimizer = contrastive_optimizer
        self.probe_optimizer = probe_optimizer
        self.probe_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.loss_tracker = keras.metrics.Mean(name="c_loss")
        self.accuracy = keras.metrics.SparseCategoricalAccuracy(name="c_acc")

    @property
    def metrics(self):
        return [self.loss_tracker, self.accuracy]

    def contrastive_loss(self, one, two):
        one, two = tf.math.l2_normalize(one, axis=1), tf.math.l2_normalize(two, axis=1)
        similarities = tf.matmul(one, two, transpose_b=True) / self.temperature
        labels = tf.range(tf.shape(one)[0])
        self.accuracy.update_state(labels, similarities)
        self.accuracy.update_state(labels, tf.transpose(similarities))
        loss = keras.losses.sparse_categorical_crossentropy(
            tf.concat([labels, labels], axis=0),
            tf.concat([similarities, tf.transpose(similarities)], axis=0),
            from_logits=True,
        )
        return tf.reduce_mean(loss)

    def train_step(self, data):
        images, labels = data
        views = [self.augment(images, training=True) for _ in range(2)]
        with tf.GradientTape() as tape:
            one, two = (self.head(self.encoder(v, training=True)) for v in views)
            loss = self.contrastive_loss(one, two)
        weights = self.encoder.trainable_weights + self.head.trainable_weights
        gradients = tape.gradient(loss, weights)
        self.contrastive_optimizer.apply_gradients(zip(gradients, weights))
        self.loss_tracker.update_state(loss)
        with tf.GradientTape() as tape:
            logits = self.probe(self.encoder(images, training=False))
            probe_loss = self.probe_loss(labels, logits)
        gradients = tape.gradient(probe_loss, self.probe.trainable_weights)
        self.probe_optimizer.apply_gradients(
            zip(gradients, self.probe.trainable_weights)
        )
        return {metric.name: metric.result() for metric in self.metrics}

    def test_step(self, data):
        print("testing")
        return {}


def contrastive():
    model = Contrastive()
    model.compile(keras.optimizers.Adam(), keras.optimizers.SGD(0.1))
    return model


class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1):
        super().__init__()
        self.att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential(
            [layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)]
        )
        self.norms = [layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]
        self.dropout1 = layers.Dropout(rate)
        self.dropout2 = layers.Dropout(rate)

    def call(self, inputs, training=False):
        attn_output = self.att(inputs, inputs)
        attn_output = self.dropout1(attn_output, training=training)
        out1 = self.norms[0](inputs + attn_output)
        ffn_output = self.ffn(out1)
        ffn_output = self.dropout2(ffn_output, training=training)
        return self.norms[1](out1 + ffn_output)


class Embedding(layers.Layer):
    def __init__(self, maxlen, vocab, dim):
        super().__init__()
        self.token_emb = layers.Embedding(vocab, dim)
        self.pos_emb = layers.Embedding(maxlen, dim)

    def call(self, x):
        positions = ops.arange(start=0, stop=ops.shape(x)[-1], step=1)
        x = self.token_emb(x)
        x += self.pos_emb(positions)
        return x

    def compute_mask(self, *args, **kwargs):
        return self.token_emb.compute_mask(*args, **kwargs)


class Smooth(keras.losses.Loss):
    def __init__(self, amount=0.1, name="smooth"):
        super().__init__(name=name)
        self.amount = amount

    def call(self, y_true, y_pred):
        y_true = tf.cast(y_true, y_pred.dtype) * (1 - self.amount)
        return tf.reduce_mean(tf.square(y_pred - y_true), axis=-1)


class Positives(keras.metrics.Metric):
    def __init__(self, name="positives", **kwargs):
        super().__init__(name=name, **kwargs)
        self.found = self.add_weight(name="found", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        values = ops.cast(ops.equal(ops.argmax(y_pred, axis=1), 1), "float32")
        if sample_weight is not None:
            values = ops.multiply(values, ops.cast(sample_weight, "float32"))
        self.found.assign_add(ops.sum(values))

    def result(self):
        return self.found

    def reset_state(self):
        self.found.assign(0.0)


class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d_model, warmup_steps=4000):
        super().__init__()
        self.d_model = tf.cast(d_model, tf.float32)
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = tf.cast(step, dtype=tf.float32)
        arg1 = tf.math.rsqrt(step)
        arg2 = step * (self.warmup_steps**-1.5)
        return tf.math.rsqrt(self.d_model) * tf.math.minimum(arg1, arg2)


class Ortho(keras.regularizers.Regularizer):
    def __call__(self, x):
        return 1e-3 * tf.reduce_sum(tf.abs(x))


def weighted(y_true, y_pred):
    return tf.reduce_mean(tf.abs(y_true - y_pred) * 2.0, axis=-1)


def near(y_true, y_pred):
    return tf.reduce_mean(tf.cast(tf.abs(y_true - y_pred) < 0.5, tf.float32))


def transformer(loss=None, metrics=None):
    inputs = keras.Input((5,), dtype="int32")
    x = Embedding(5, 20, 8)(inputs)
    x = TransformerBlock(8, 2, 8)(x)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dense(4, activation=tf.nn.gelu, kernel_regularizer=Ortho())(x)
    outputs = layers.Dense(2, activation="softmax")(x)
    model = keras.Model(inputs, outputs)
    model.compile(
        keras.optimizers.Adam(WarmUp(8)),
        loss=loss or Smooth(),
        metrics=metrics if metrics is not None else [Positives(), near],
    )
    return model


def with_functions():
    return transformer(weighted, [near])


class Distiller(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.teacher = teacher
        self.student = student

    def compile(self, optimizer, metrics, student_loss_fn, alpha=0.1, temperature=3):
        super().compile(optimizer=optimizer, metrics=metrics)
        self.student_loss_fn = student_loss_fn
        self.distillation_loss_fn = keras.losses.KLDivergence()
        self.alpha = alpha
        self.temperature = temperature

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, allow_empty=False
    ):
        teacher_pred = self.teacher(x, training=False)
        student_loss = self.student_loss_fn(y, y_pred)
        distillation_loss = self.distillation_loss_fn(
            ops.softmax(teacher_pred / self.temperature, axis=1),
            ops.softmax(y_pred / self.temperature, axis=1),
        ) * (self.temperature**2)
        return self.alpha * student_loss + (1 - self.alpha) * distillation_loss

    def call(self, x):
        return self.student(x)


def distiller():
    model = Distiller(small(4, 2), small(8, 2))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    metrics = [keras.metrics.SparseCategoricalAccuracy()]
    model.compile(keras.optimizers.Adam(), metrics, loss)
    return model


class Diffusion(keras.Model):
    def __init__(self):
        super().__init__()
        self.normalizer = layers.Normalization()
        self.network = small(4, 3)
        self.ema_network = keras.models.clone_model(self.network)
        self.ema = 0.999

    def compile(self, **kwargs):
        super().compile(**kwargs)
        self.noise_loss_tracker = keras.metrics.Mean(name="n_loss")

    @property
    def metrics(self):
        return [self.noise_loss_tracker]

    def denoise(self, noisy, training):
        network = self.network if training else self.ema_network
        return network(noisy, training=training)

    def train_step(self, images):
        images = self.normalizer(images, training=True)
        noises = tf.random.normal(tf.shape(images))
        with tf.GradientTape() as tape:
            predicted = self.denoise(images + noises, training=True)
            noise_loss = self.loss(noises, predicted)
        gradients = tape.gradient(noise_loss, self.network.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.network.trainable_weights))
        self.noise_loss_tracker.update_state(noise_loss)
        for weight, ema_weight in zip(self.network.weights, self.ema_network.weights):
            ema_weight.assign(self.ema * ema_weight + (1 - self.ema) * weight)
        return {m.name: m.result() for m in self.metrics}


def diffusion():
    model = Diffusion()
    model.compile(
        optimizer=keras.optimizers.Adam(), loss=keras.losses.mean_absolute_error
    )
    return model


class Penalty(keras.Model):
    """In the manner of a WGAN with a gradient penalty."""

    def __init__(self):
        super().__init__()
        self.discriminator, self.generator = small(4, 1), small(4, 3)
        self.d_steps, self.gp_weight = 3, 10.0
        self.d_optimizer = keras.optimizers.Adam()

    def gradient_penalty(self, batch_size, real, fake):
        alpha = tf.random.uniform([batch_size, 1], 0.0, 1.0)
        interpolated = real + alpha * (fake - real)
        with tf.GradientTape() as gp_tape:
            gp_tape.watch(interpolated)
            pred = self.discriminator(interpolated, training=True)
        grads = gp_tape.gradient(pred, [interpolated])[0]
        norm = tf.sqrt(tf.reduce_sum(tf.square(grads), axis=[1]))
        return tf.reduce_mean((norm - 1.0) ** 2)

    def train_step(self, real):
        if isinstance(real, tuple):
            real = real[0]
        batch_size = tf.shape(real)[0]
        for _ in range(self.d_steps):
            noise = tf.random.normal(shape=(batch_size, 2))
            with tf.GradientTape() as tape:
                fake = self.generator(noise, training=True)
                cost = tf.reduce_mean(self.discriminator(fake, training=True))
                gp = self.gradient_penalty(batch_size, real, fake)
                d_loss = cost + gp * self.gp_weight
            gradient = tape.gradient(d_loss, self.discriminator.trainable_variables)
            self.d_optimizer.apply_gradients(
                zip(gradient, self.discriminator.trainable_variables)
            )
        return {"d_loss": d_loss}


def penalty():
    model = Penalty()
    model.compile()
    return model


class Custom(keras.Model):
    """The guide's own `train_step`, with `compute_loss` and all metrics."""

    def train_step(self, data):
        if len(data) == 3:
            x, y, sample_weight = data
        else:
            sample_weight = None
            x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred, sample_weight=sample_weight)
        trainable_vars = self.trainable_variables
        gradients = tape.gradient(loss, trainable_vars)
        self.optimizer.apply(gradients, trainable_vars)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred, sample_weight=sample_weight)
        return {m.name: m.result() for m in self.metrics}


def custom():
    inputs = keras.Input((3,))
    model = Custom(inputs, layers.Dense(1)(inputs))
    model.compile("adam", loss="mse", metrics=["mae"])
    return model


ALL = (
    *(gan, vae, contrastive, transformer, with_functions),
    *(distiller, diffusion, penalty, custom),
)
