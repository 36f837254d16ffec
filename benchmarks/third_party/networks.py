"""Networks: training steps and forward passes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .recipe import Made, recipe


def normal_data(seed: int, *shape: int, scale: float = 1.0) -> jax.Array:
    """Return random numbers of a normal distribution, times `scale`."""
    return jnp.asarray(scale * np.random.default_rng(seed).standard_normal(shape), jnp.float32)


def classes(seed: int, count: int, *shape: int) -> jax.Array:
    """Return labels or tokens of this number of classes."""
    return jnp.asarray(np.random.default_rng(seed).integers(0, count, shape), jnp.int32)


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    chosen = jax.nn.one_hot(labels, logits.shape[-1])
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * chosen, axis=-1))


@recipe("flax", "optax")
def flax_mlp_dropout_step() -> Made:
    import flax.linen as nn
    import optax

    class Mlp(nn.Module):
        @nn.compact
        def __call__(self, x, train=True):
            for width in (64, 32):
                x = nn.relu(nn.Dense(width)(x))
                x = nn.Dropout(0.3, deterministic=not train)(x)
            return nn.Dense(10)(x)

    model, tx = Mlp(), optax.adam(1e-3)
    x, y = normal_data(0, 16, 48), classes(1, 10, 16)
    params = model.init({"params": jax.random.PRNGKey(0), "dropout": jax.random.PRNGKey(1)}, x)

    def step(params, state, x, y, key, number):
        rngs = {"dropout": jax.random.fold_in(key, number)}
        loss, grads = jax.value_and_grad(lambda p: cross_entropy(model.apply(p, x, rngs=rngs), y))(
            params
        )
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    return step, (params, tx.init(params), x, y, jax.random.PRNGKey(2), jnp.int32(7))


@recipe("flax", "optax")
def flax_cnn_batchnorm_step() -> Made:
    import flax.linen as nn
    import optax

    class Cnn(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Conv(8, (3, 3))(x)
            x = nn.relu(nn.BatchNorm(use_running_average=False)(x))
            x = nn.max_pool(x, (2, 2), (2, 2))
            x = nn.relu(nn.Conv(16, (3, 3), strides=(2, 2))(x))
            return nn.Dense(10)(nn.avg_pool(x, (4, 4)).reshape(x.shape[0], -1))

    model, tx = Cnn(), optax.sgd(0.1, momentum=0.9, nesterov=True)
    x, y = normal_data(0, 4, 16, 16, 3), classes(1, 10, 4)
    variables = model.init(jax.random.PRNGKey(0), x)

    def step(params, stats, state, x, y):
        def loss(p):
            logits, new = model.apply({"params": p, "batch_stats": stats}, x, mutable="batch_stats")
            return cross_entropy(logits, y), new["batch_stats"]

        (value, new), grads = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), new, state, value

    params = variables["params"]
    return step, (params, variables["batch_stats"], tx.init(params), x, y)


@recipe("flax", "optax")
def flax_transformer_step() -> Made:
    import flax.linen as nn
    import optax

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x, mask):
            attention = nn.MultiHeadDotProductAttention(4, dropout_rate=0.1, deterministic=False)
            x = x + attention(nn.LayerNorm()(x), mask=mask)
            h = nn.gelu(nn.Dense(64)(nn.LayerNorm()(x)))
            return x + nn.Dropout(0.1, deterministic=False)(nn.Dense(32)(h))

    class Transformer(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(50, 32)(tokens) + self.param("at", nn.initializers.normal(), (12, 32))
            for _ in range(2):
                x = Block()(x, nn.make_causal_mask(tokens))
            return nn.Dense(50)(nn.LayerNorm()(x))

    model, tx = Transformer(), optax.adamw(1e-3)
    tokens = classes(0, 50, 2, 12)
    params = model.init({"params": jax.random.PRNGKey(0), "dropout": jax.random.PRNGKey(1)}, tokens)

    def step(params, state, tokens, key):
        def loss(p):
            logits = model.apply(p, tokens, rngs={"dropout": key})
            return cross_entropy(logits[:, :-1], tokens[:, 1:])

        value, grads = jax.value_and_grad(loss)(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    return step, (params, tx.init(params), tokens, jax.random.PRNGKey(2))


@recipe("flax")
def flax_attention_masked() -> Made:
    import flax.linen as nn

    model = nn.MultiHeadDotProductAttention(2, qkv_features=16)
    x = normal_data(0, 2, 10, 16)
    lengths = jnp.asarray([10, 6], jnp.int32)
    params = model.init(jax.random.PRNGKey(0), x)

    def attend(params, x, lengths):
        valid = jnp.arange(10) < lengths[:, None]
        return model.apply(params, x, mask=nn.make_attention_mask(valid, valid))

    return attend, (params, x, lengths)


@recipe("flax", "optax")
def flax_vae_step() -> Made:
    import flax.linen as nn
    import optax

    class Vae(nn.Module):
        @nn.compact
        def __call__(self, x, key):
            h = nn.relu(nn.Dense(32)(x))
            mean, logvar = nn.Dense(8)(h), nn.Dense(8)(h)
            z = mean + jnp.exp(0.5 * logvar) * jax.random.normal(key, mean.shape)
            return nn.Dense(36)(nn.relu(nn.Dense(32)(z))), mean, logvar

    model, tx = Vae(), optax.adam(1e-3)
    x = jax.nn.sigmoid(normal_data(0, 8, 36))
    params = model.init(jax.random.PRNGKey(0), x, jax.random.PRNGKey(1))

    def step(params, state, x, key):
        def loss(p):
            logits, mean, logvar = model.apply(p, x, key)
            bce = jnp.sum(optax.sigmoid_binary_cross_entropy(logits, x), axis=-1)
            kl = -0.5 * jnp.sum(1 + logvar - mean**2 - jnp.exp(logvar), axis=-1)
            return jnp.mean(bce + kl)

        value, grads = jax.value_and_grad(loss)(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    return step, (params, tx.init(params), x, jax.random.PRNGKey(3))


@recipe("flax")
def flax_lstm_scan_grad() -> Made:
    import flax.linen as nn

    model = nn.RNN(nn.OptimizedLSTMCell(16))
    x, y = normal_data(0, 3, 9, 8), normal_data(1, 3, 9, 16)
    params = model.init(jax.random.PRNGKey(0), x)
    return jax.value_and_grad(lambda p, x, y: jnp.mean((model.apply(p, x) - y) ** 2)), (
        params,
        x,
        y,
    )


@recipe("flax")
def flax_nnx_groupnorm_bf16() -> Made:
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.conv = nnx.Conv(4, 8, (3, 3), dtype=jnp.bfloat16, rngs=rngs)
            self.norm = nnx.GroupNorm(8, num_groups=4, dtype=jnp.bfloat16, rngs=rngs)
            self.out = nnx.Linear(8, 5, dtype=jnp.bfloat16, rngs=rngs)

        def __call__(self, x):
            return self.out(nnx.silu(self.norm(self.conv(x))).mean((1, 2)))

    graph, state = nnx.split(Net(nnx.Rngs(0)))
    state = nnx.to_pure_dict(state)

    def run(state, x):
        return nnx.merge(graph, state)(x)

    return run, (state, normal_data(0, 2, 8, 8, 4).astype(jnp.bfloat16))


@recipe("flax")
def flax_spectral_norm() -> Made:
    import flax.linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.SpectralNorm(nn.Dense(24))(x, update_stats=True)
            return nn.WeightNorm(nn.Dense(8))(nn.leaky_relu(x))

    model, x = Net(), normal_data(0, 6, 12)
    variables = model.init(jax.random.PRNGKey(0), x)
    return lambda v, x: model.apply(v, x, mutable=["batch_stats"]), (variables, x)


@recipe("dm-haiku", "optax")
def haiku_mlp_dropout_grad() -> Made:
    import haiku as hk

    def forward(x, y):
        x = hk.nets.MLP([48, 24], activate_final=True)(x, dropout_rate=0.4, rng=hk.next_rng_key())
        return cross_entropy(hk.Linear(6)(x), y)

    model = hk.transform(forward)
    x, y = normal_data(0, 10, 20), classes(1, 6, 10)
    params = model.init(jax.random.PRNGKey(0), x, y)
    return jax.value_and_grad(model.apply), (params, jax.random.PRNGKey(1), x, y)


@recipe("dm-haiku")
def haiku_gru_unroll() -> Made:
    import haiku as hk

    def forward(x):
        core = hk.GRU(16)
        return hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))

    model, x = hk.without_apply_rng(hk.transform(forward)), normal_data(0, 7, 3, 10)
    return model.apply, (model.init(jax.random.PRNGKey(0), x), x)


@recipe("dm-haiku")
def haiku_conv_batchnorm() -> Made:
    import haiku as hk

    def forward(x, training):
        x = hk.Conv2D(8, 3, stride=2)(x)
        x = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(x, training))
        x = hk.DepthwiseConv2D(2, 3)(x)
        return hk.Linear(5)(hk.Flatten()(hk.MaxPool((2, 2, 1), (2, 2, 1), "SAME")(x)))

    model = hk.without_apply_rng(hk.transform_with_state(lambda x: forward(x, True)))
    x = normal_data(0, 3, 12, 12, 3)
    params, state = model.init(jax.random.PRNGKey(0), x)
    return model.apply, (params, state, x)


@recipe("dm-haiku")
def haiku_vector_quantizer() -> Made:
    import haiku as hk

    def forward(x):
        return hk.nets.VectorQuantizerEMA(8, 16, 0.25, 0.99)(x, is_training=True)

    model = hk.without_apply_rng(hk.transform_with_state(forward))
    x = normal_data(0, 12, 8)
    params, state = model.init(jax.random.PRNGKey(0), x)
    return model.apply, (params, state, x)


@recipe("dm-haiku")
def haiku_attention_layernorm() -> Made:
    import haiku as hk

    def forward(x, mask):
        x = hk.LayerNorm(-1, True, True)(x)
        y = hk.MultiHeadAttention(2, 8, w_init=hk.initializers.VarianceScaling(1.0))(x, x, x, mask)
        return hk.dropout(hk.next_rng_key(), 0.2, x + hk.Linear(12)(y))

    model, x = hk.transform(forward), normal_data(0, 2, 8, 12)
    mask = jnp.tril(jnp.ones((2, 1, 8, 8), bool))
    return model.apply, (model.init(jax.random.PRNGKey(0), x, mask), jax.random.PRNGKey(1), x, mask)


@recipe("equinox")
def equinox_mlp_grad() -> Made:
    import equinox as eqx

    model = eqx.nn.MLP(8, 3, 32, 2, activation=jax.nn.softplus, key=jax.random.PRNGKey(0))
    params, static = eqx.partition(model, eqx.is_array)

    def loss(params, x, y):
        return jnp.mean((jax.vmap(eqx.combine(params, static))(x) - y) ** 2)

    return jax.value_and_grad(loss), (params, normal_data(0, 16, 8), normal_data(1, 16, 3))


@recipe("equinox")
def equinox_conv_groupnorm_pool() -> Made:
    import equinox as eqx

    a, b = jax.random.split(jax.random.PRNGKey(0))
    first, second = eqx.nn.Conv2d(3, 8, 3, key=a), eqx.nn.ConvTranspose2d(8, 4, 3, 2, key=b)
    model = (first, eqx.nn.GroupNorm(2, 8), second, eqx.nn.PReLU())
    params, static = eqx.partition(model, eqx.is_array)

    def run(params, x):
        first, norm, second, act = eqx.combine(params, static)
        return eqx.nn.AdaptiveAvgPool2d(4)(act(second(norm(first(x)))))

    return run, (params, normal_data(0, 3, 10, 10))


@recipe("equinox")
def equinox_gru_scan_grad() -> Made:
    import equinox as eqx

    cell = eqx.nn.GRUCell(6, 12, key=jax.random.PRNGKey(0))
    params, static = eqx.partition(cell, eqx.is_array)

    def loss(params, xs):
        cell = eqx.combine(params, static)
        return jnp.sum(jax.lax.scan(lambda h, x: (cell(x, h), None), jnp.zeros(12), xs)[0] ** 2)

    return jax.grad(loss), (params, normal_data(0, 11, 6))


@recipe("equinox")
def equinox_rope_attention() -> Made:
    import equinox as eqx

    model = eqx.nn.MultiheadAttention(4, 16, key=jax.random.PRNGKey(0))
    rope = eqx.nn.RotaryPositionalEmbedding(4)
    params, static = eqx.partition((model, rope, eqx.nn.RMSNorm(16)), eqx.is_array)

    def run(params, x):
        model, rope, norm = eqx.combine(params, static)
        x = jax.vmap(norm)(x)

        def rotate(q, k, v):
            return jax.vmap(rope, 1, 1)(q), jax.vmap(rope, 1, 1)(k), v

        return model(x, x, x, process_heads=rotate, mask=jnp.tril(jnp.ones((9, 9), bool)))

    return run, (params, normal_data(0, 9, 16))


@recipe("keras")
def keras_cnn_forward() -> Made:
    import os

    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((14, 14, 1)),
            keras.layers.SeparableConv2D(8, 3, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    trainable = [v.value for v in model.trainable_variables]
    other = [v.value for v in model.non_trainable_variables]

    def run(trainable, other, x):
        return model.stateless_call(trainable, other, x, training=True)

    return run, (trainable, other, normal_data(0, 4, 14, 14, 1))


@recipe("keras")
def keras_bidirectional_lstm() -> Made:
    import os

    os.environ["KERAS_BACKEND"] = "jax"
    import keras

    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((8,), dtype="int32"),
            keras.layers.Embedding(20, 12),
            keras.layers.Bidirectional(keras.layers.LSTM(8)),
            keras.layers.Dense(4),
        ]
    )
    trainable = [v.value for v in model.trainable_variables]
    other = [v.value for v in model.non_trainable_variables]

    def loss(trainable, other, x, y):
        logits, _ = model.stateless_call(trainable, other, x)
        return cross_entropy(logits, y)

    return jax.value_and_grad(loss), (trainable, other, classes(0, 20, 3, 8), classes(1, 4, 3))


@recipe("penzai")
def penzai_feed_forward() -> Made:
    from penzai import pz

    model = pz.nn.Sequential(
        [
            pz.nn.Linear.from_config("a", jax.random.PRNGKey(0), {"x": 8}, {"h": 16}),
            pz.nn.Elementwise(jax.nn.gelu),
            pz.nn.Linear.from_config("b", jax.random.PRNGKey(1), {"h": 16}, {"x": 8}),
            pz.nn.Softmax("x"),
        ]
    )
    model, variables = pz.unbind_params(model, freeze=True)
    values = [v.value.unwrap(*v.value.named_shape) for v in variables]
    names = [tuple(v.value.named_shape) for v in variables]

    def run(values, x):
        import dataclasses

        bound = [
            dataclasses.replace(v, value=pz.nx.wrap(a).tag(*n))
            for v, a, n in zip(variables, values, names, strict=True)
        ]
        return pz.bind_variables(model, bound)(pz.nx.wrap(x).tag("b", "x")).unwrap("b", "x")

    return run, (values, normal_data(0, 5, 8))


@recipe("jraph")
def jraph_graph_network() -> Made:
    import jraph

    w = {"e": normal_data(0, 13, 5, scale=0.3), "n": normal_data(1, 14, 4, scale=0.3)}
    edges, nodes = normal_data(2, 9, 4), normal_data(3, 6, 4)
    senders, receivers = classes(4, 6, 9), classes(5, 6, 9)

    def run(w, nodes, edges, senders, receivers):
        graph = jraph.GraphsTuple(
            nodes, edges, senders, receivers, jnp.ones((1, 1)), jnp.array([6]), jnp.array([9])
        )
        net = jraph.GraphNetwork(
            lambda e, s, r, g: jax.nn.relu(jnp.concatenate([e, s, r, g], -1) @ w["e"]),
            lambda n, s, r, _g: jnp.tanh(jnp.concatenate([n, s, r], -1) @ w["n"]),
            None,
        )
        out = net(graph)
        return out.nodes, out.edges

    return run, (w, nodes, edges, senders, receivers)


@recipe("jraph")
def jraph_graph_attention() -> Made:
    import jraph

    w, a = normal_data(0, 5, 8), normal_data(1, 16)
    senders, receivers = classes(4, 7, 15), classes(5, 7, 15)

    def run(w, a, nodes, senders, receivers):
        graph = jraph.GraphsTuple(
            nodes, None, senders, receivers, None, jnp.array([7]), jnp.array([15])
        )
        gat = jraph.GAT(
            lambda n: n @ w,
            lambda s, r, _e: jax.nn.leaky_relu(jnp.concatenate([s, r], -1) @ a[:, None]),
            jax.nn.elu,
        )
        return gat(graph).nodes

    return run, (w, a, normal_data(2, 7, 5), senders, receivers)
