"""Reinforcement learning: returns, losses, environments."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .networks import classes, normal_data
from .recipe import Made, recipe


@recipe("rlax")
def rlax_vtrace_grad() -> Made:
    import rlax

    def loss(values, rewards, discounts, rhos):
        out = rlax.vtrace_td_error_and_advantage(values[:-1], values[1:], rewards, discounts, rhos)
        return jnp.sum(out.errors**2) - jnp.sum(out.pg_advantage)

    arguments = (
        normal_data(0, 9),
        normal_data(1, 8),
        jnp.full(8, 0.99),
        jnp.exp(0.2 * normal_data(2, 8)),
    )
    return jax.value_and_grad(loss), arguments


@recipe("rlax")
def rlax_categorical_q_learning() -> Made:
    import rlax

    atoms = jnp.linspace(-2.0, 2.0, 11)

    def loss(q, a, r, d, next_q):
        return jnp.mean(
            jax.vmap(rlax.categorical_q_learning, (None, 0, 0, 0, 0, None, 0))(
                atoms, q, a, r, d, atoms, next_q
            )
        )

    arguments = (
        normal_data(0, 4, 3, 11),
        classes(1, 3, 4),
        normal_data(2, 4),
        jnp.full(4, 0.9),
        normal_data(3, 4, 3, 11),
    )
    return jax.value_and_grad(loss), arguments


@recipe("rlax")
def rlax_quantile_retrace() -> Made:
    import rlax

    def loss(quantiles, tau, actions, rewards, next_quantiles, returns):
        td = jax.vmap(rlax.quantile_q_learning, (0, None, 0, 0, 0, 0, 0, None))(
            quantiles, tau, actions, rewards, jnp.full(4, 0.9), next_quantiles, next_quantiles, 1.0
        )
        return jnp.mean(td) + jnp.sum(rlax.lambda_returns(rewards, rewards * 0.9, returns, 0.8))

    arguments = (
        normal_data(0, 4, 8, 3), jnp.linspace(0.05, 0.95, 8), classes(1, 3, 4),
        normal_data(2, 4), normal_data(3, 4, 8, 3), normal_data(4, 4),
    )  # fmt: skip
    return jax.value_and_grad(loss), arguments


@recipe("rlax")
def rlax_ppo_mpo_policies() -> Made:
    import rlax

    def loss(ratios, advantages, logits, actions):
        return (
            rlax.clipped_surrogate_pg_loss(ratios, advantages, 0.2)
            + rlax.entropy_loss(logits, jnp.ones(6))
            + rlax.policy_gradient_loss(logits, actions, advantages, jnp.ones(6))
        )

    arguments = (
        jnp.exp(0.3 * normal_data(0, 6)),
        normal_data(1, 6),
        normal_data(2, 6, 4),
        classes(3, 4, 6),
    )
    return jax.grad(loss, (0, 2)), arguments


@recipe("gymnax")
def gymnax_pendulum_rollout() -> Made:
    import gymnax

    env, params = gymnax.make("Pendulum-v1")
    _, state = env.reset(jax.random.PRNGKey(0), params)

    def rollout(key, state, actions):
        def step(carry, action):
            key, state = carry
            key, sub = jax.random.split(key)
            obs, state, reward, *rest = env.step(sub, state, action, params)
            return (key, state), (obs, reward, rest[0])

        return jax.lax.scan(step, (key, state), actions)[1]

    return rollout, (jax.random.PRNGKey(1), state, normal_data(0, 5, 1))


@recipe("gymnax")
def gymnax_cartpole_step() -> Made:
    import gymnax

    env, params = gymnax.make("CartPole-v1")
    _, state = env.reset(jax.random.PRNGKey(0), params)
    return lambda key, state, action: env.step(key, state, action, params)[:4], (
        jax.random.PRNGKey(1), state, jnp.int32(1),
    )  # fmt: skip


@recipe("jumanji")
def jumanji_game_2048_step() -> Made:
    from jumanji.environments import Game2048

    env = Game2048()
    state, _ = env.reset(jax.random.PRNGKey(0))
    return env.step, (state, jnp.int32(2))


@recipe("jumanji")
def jumanji_snake_step() -> Made:
    from jumanji.environments import Snake

    env = Snake(6, 6)
    state, _ = env.reset(jax.random.PRNGKey(0))
    return env.step, (state, jnp.int32(1))
