"""What `fit_in_another_module.py` imports: a model and its training."""

import keras


def build(classes):
    model = keras.Sequential(
        [
            keras.Input((257,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(classes, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def train(model, dataset, epochs, **options):
    callbacks = options.pop("callbacks", [])
    return model.fit(dataset, epochs=epochs, callbacks=callbacks, verbose=0, **options)
