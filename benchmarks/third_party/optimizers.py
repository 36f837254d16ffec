"""Optimizers and losses of optax, and searches by evolution."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .networks import classes, normal_data
from .recipe import Made, recipe


def _weights():
    return {"w": normal_data(0, 12, 8, scale=0.3), "b": normal_data(1, 8, scale=0.1)}


def _loss(params, x, y):
    return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) - y) ** 2)


def _step(tx) -> Made:
    params = _weights()
    x, y = normal_data(2, 20, 12), normal_data(3, 20, 8)

    def step(params, state, x, y):
        value, grads = jax.value_and_grad(_loss)(params, x, y)
        updates, state = tx.update(grads, state, params)
        return jax.tree.map(jnp.add, params, updates), state, value

    state = tx.init(params)
    params, state, _ = step(params, state, x, y)  # moments as they are after a step
    return step, (params, state, x, y)


@recipe("optax")
def optax_clip_adam_schedule() -> Made:
    import optax

    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 10, 100)
    return _step(optax.chain(optax.clip_by_global_norm(0.05), optax.adam(schedule)))


@recipe("optax")
def optax_lamb() -> Made:
    import optax

    return _step(optax.lamb(1e-2, weight_decay=1e-3))


@recipe("optax")
def optax_adafactor() -> Made:
    import optax

    return _step(optax.adafactor(1e-2, min_dim_size_to_factor=4))


@recipe("optax")
def optax_lion_multisteps() -> Made:
    import optax

    tx = optax.MultiSteps(optax.lion(1e-3), every_k_schedule=2)
    return _step(optax.GradientTransformation(tx.init, tx.update))


@recipe("optax")
def optax_noisy_rmsprop() -> Made:
    import optax

    noise = optax.add_noise(0.1, 0.55, 0)
    return _step(optax.chain(noise, optax.rmsprop(1e-2, centered=True, momentum=0.9)))


@recipe("optax")
def optax_lbfgs_linesearch() -> Made:
    import optax

    tx = optax.lbfgs(memory_size=3)
    params = normal_data(0, 6)
    a, b = normal_data(1, 6, 6), normal_data(2, 6)

    def value(p, a, b):
        return jnp.sum((a @ p - b) ** 2) + 0.1 * jnp.sum(p**4)

    def step(params, state, a, b):
        function = lambda p: value(p, a, b)  # noqa: E731
        loss, grads = optax.value_and_grad_from_state(function)(params, state=state)
        updates, state = tx.update(grads, state, params, value=loss, grad=grads, value_fn=function)
        return optax.apply_updates(params, updates), state

    return step, (params, tx.init(params), a, b)


@recipe("optax")
def optax_ctc_loss_grad() -> Made:
    import optax

    logits, labels = normal_data(0, 2, 12, 6), 1 + classes(1, 5, 2, 4)
    padding = jnp.asarray([[0.0] * 12, [0.0] * 9 + [1.0] * 3])
    label_padding = jnp.asarray([[0.0] * 4, [0.0, 0.0, 0.0, 1.0]])

    def loss(logits, padding, labels, label_padding):
        return jnp.mean(optax.ctc_loss(logits, padding, labels, label_padding))

    return jax.value_and_grad(loss), (logits, padding, labels, label_padding)


@recipe("optax")
def optax_losses_grad() -> Made:
    import optax

    def loss(logits, labels, a, b):
        return (
            jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels)),
            jnp.mean(optax.sigmoid_focal_loss(logits, jax.nn.one_hot(labels, 7), alpha=0.25)),
            jnp.mean(optax.huber_loss(a, b, delta=0.7)),
            jnp.mean(optax.log_cosh(a, b)),
            jnp.mean(optax.cosine_distance(a, b)),
            jnp.mean(optax.kl_divergence(jax.nn.log_softmax(a), jax.nn.softmax(b))),
            jnp.mean(optax.smooth_labels(jax.nn.one_hot(labels, 7), 0.1) * a),
            optax.ntxent(a, labels),
        )

    arguments = (normal_data(0, 9, 7), classes(1, 7, 9), normal_data(2, 9, 7), normal_data(3, 9, 7))
    return jax.jacrev(loss, (0, 2)), arguments


@recipe("optax")
def optax_projections() -> Made:
    import optax

    def run(x):
        return (
            optax.projections.projection_simplex(x),
            optax.projections.projection_l1_ball(x, 2.0),
            optax.projections.projection_l2_sphere(x),
            optax.projections.projection_hypercube(x),
        )

    return run, (normal_data(0, 15),)


@recipe("evosax")
def evosax_cma_es() -> Made:
    from evosax.algorithms import CMA_ES

    es = CMA_ES(population_size=8, solution=jnp.zeros(4))
    params = es.default_params
    key = jax.random.PRNGKey(0)
    state = es.init(key, jnp.ones(4), params)

    def generation(key, state, params):
        a, b = jax.random.split(key)
        population, state = es.ask(a, state, params)
        fitness = jnp.sum(population**2 + 3 * jnp.cos(population), axis=-1)
        return es.tell(b, population, fitness, state, params)[0]

    return generation, (jax.random.PRNGKey(1), state, params)


@recipe("evosax")
def evosax_open_es() -> Made:
    import optax
    from evosax.algorithms import Open_ES

    es = Open_ES(population_size=8, solution=jnp.zeros(6), optimizer=optax.adam(1e-2))
    params = es.default_params
    state = es.init(jax.random.PRNGKey(0), jnp.ones(6), params)

    def generation(key, state, params):
        population, state = es.ask(key, state, params)
        fitness = jnp.sum((population - 0.5) ** 2, axis=-1)
        return es.tell(key, population, fitness, state, params)[0]

    return generation, (jax.random.PRNGKey(1), state, params)
