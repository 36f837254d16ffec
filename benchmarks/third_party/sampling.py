"""Probability: densities, samplers, flows, filters, processes."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .networks import normal_data
from .recipe import Made, recipe


def _regression(x, y=None):
    import numpyro
    import numpyro.distributions as dist

    scale = numpyro.sample("scale", dist.HalfCauchy(1.0))
    w = numpyro.sample("w", dist.Normal(0, scale).expand([3]).to_event(1))
    b = numpyro.sample("b", dist.StudentT(3.0))
    numpyro.sample("y", dist.Bernoulli(logits=x @ w + b), obs=y)


def _data():
    return normal_data(0, 15, 3), (normal_data(1, 15) > 0).astype(jnp.int32)


@recipe("numpyro")
def numpyro_potential_grad() -> Made:
    from numpyro.infer.util import potential_energy

    x, y = _data()

    def energy(params, x, y):
        return potential_energy(_regression, (x, y), {}, params)

    params = {"scale": jnp.float32(0.3), "w": normal_data(2, 3), "b": jnp.float32(-0.2)}
    return jax.value_and_grad(energy), (params, x, y)


@recipe("numpyro")
def numpyro_hmc_step() -> Made:
    import numpyro.infer

    x, y = _data()
    kernel = numpyro.infer.HMC(
        _regression, trajectory_length=0.3, step_size=0.1, adapt_mass_matrix=False
    )
    state = kernel.init(jax.random.PRNGKey(0), 5, None, (x, y), {})
    return lambda state, x, y: kernel.sample(state, (x, y), {}), (state, x, y)


@recipe("numpyro")
def numpyro_svi_step() -> Made:
    import numpyro
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    x, y = _data()
    svi = SVI(_regression, AutoNormal(_regression), numpyro.optim.Adam(1e-2), Trace_ELBO(2))
    state = svi.init(jax.random.PRNGKey(0), x, y)
    return lambda state, x, y: svi.update(state, x, y), (state, x, y)


@recipe("numpyro")
def numpyro_samplers() -> Made:
    import numpyro.distributions as dist

    def run(key, a):
        keys = jax.random.split(key, 5)
        return (
            dist.Gamma(jnp.exp(a), 2.0).sample(keys[0]),
            dist.Beta(2.0, jnp.exp(a)).sample(keys[1]),
            dist.Poisson(3.0).sample(keys[2], (4,)),
            dist.VonMises(a, 2.0).sample(keys[3]),
            dist.Multinomial(6, jax.nn.softmax(a)).sample(keys[4]),
        )

    return run, (jax.random.PRNGKey(3), normal_data(0, 4))


@recipe("tfp-nightly")
def tfp_mixture_bijector_grad() -> Made:
    from tensorflow_probability.substrates import jax as tfp

    tfd, tfb = tfp.distributions, tfp.bijectors

    def density(x, logits, loc, raw):
        mixture = tfd.MixtureSameFamily(
            tfd.Categorical(logits=logits), tfd.Normal(loc, tfb.Softplus()(raw))
        )
        flow = tfd.TransformedDistribution(mixture, tfb.Chain([tfb.Exp(), tfb.Scale(0.5)]))
        return jnp.sum(flow.log_prob(x))

    x = jnp.exp(0.3 * normal_data(0, 9))
    return jax.value_and_grad(density, (0, 1, 2, 3)), (
        x,
        normal_data(1, 3),
        normal_data(2, 3),
        normal_data(3, 3),
    )


@recipe("tfp-nightly", x64=True)
def tfp_gaussian_process_grad() -> Made:
    from tensorflow_probability.substrates import jax as tfp

    def density(amplitude, length, x, y):
        kernel = tfp.math.psd_kernels.MaternFiveHalves(amplitude, length)
        return tfp.distributions.GaussianProcess(
            kernel, x, observation_noise_variance=0.1
        ).log_prob(y)

    x = jnp.linspace(0.0, 2.0, 7)[:, None]
    return jax.value_and_grad(density, (0, 1)), (
        jnp.float64(1.2),
        jnp.float64(0.4),
        x,
        jnp.sin(x[:, 0]),
    )


@recipe("tfp-nightly")
def tfp_special_functions() -> Made:
    from tensorflow_probability.substrates import jax as tfp

    def run(a, b, x):
        return (
            tfp.math.owens_t(a, x),
            tfp.math.lambertw(a),
            tfp.math.log_gamma_difference(a, b),
            tfp.math.erfcinv(x),
            tfp.math.log_cosh(b),
        )

    a, b = jnp.asarray([0.5, 2.0, 3.5]), jnp.asarray([1.5, 9.0, 4.0])
    return run, (a, b, jnp.asarray([0.2, 0.5, 0.9]))


@recipe("tfp-nightly")
def tfp_bessel() -> Made:
    from tensorflow_probability.substrates import jax as tfp

    return tfp.math.bessel_kve, (jnp.asarray([0.5, 2.0, 3.5]), jnp.asarray([1.5, 9.0, 4.0]))


@recipe("tfp-nightly")
def tfp_incomplete_beta() -> Made:
    from tensorflow_probability.substrates import jax as tfp

    a, b = jnp.asarray([0.5, 2.0, 3.5]), jnp.asarray([1.5, 9.0, 4.0])
    return tfp.math.betainc, (a, b, jnp.asarray([0.2, 0.5, 0.9]))


@recipe("tfp-nightly")
def tfp_hmc_step() -> Made:
    from tensorflow_probability.substrates import jax as tfp

    def step(x, key):
        target = lambda x: -0.5 * jnp.sum(x**2) - 0.1 * jnp.sum(x**4)  # noqa: E731
        kernel = tfp.mcmc.HamiltonianMonteCarlo(target, 0.2, 3)
        return kernel.one_step(x, kernel.bootstrap_results(x), seed=key)[0]

    return step, (normal_data(0, 4), jax.random.PRNGKey(5))


@recipe("distrax")
def distrax_spline_flow() -> Made:
    import distrax

    def density(x, params):
        spline = distrax.RationalQuadraticSpline(params, -3.0, 3.0)
        flow = distrax.Transformed(
            distrax.MultivariateNormalDiag(jnp.zeros(4)), distrax.Block(spline, 1)
        )
        return flow.log_prob(x)

    return jax.value_and_grad(density), (normal_data(0, 4), normal_data(1, 4, 16))


@recipe("distrax")
def distrax_categorical_kl() -> Made:
    import distrax

    def run(a, b, key):
        p, q = distrax.Categorical(logits=a), distrax.Categorical(logits=b)
        gumbel = distrax.Gumbel(0.0, 1.0)
        sample, log_prob = p.sample_and_log_prob(seed=key, sample_shape=(5,))
        return p.kl_divergence(q), p.entropy(), sample, log_prob, gumbel.sample(seed=key)

    return run, (normal_data(0, 3, 5), normal_data(1, 3, 5), jax.random.PRNGKey(0))


@recipe("distrax")
def distrax_hmm_viterbi() -> Made:
    import distrax

    def run(initial, transition, means, observed):
        hmm = distrax.HMM(
            distrax.Categorical(logits=initial),
            distrax.Categorical(logits=transition),
            distrax.Normal(means, 1.0),
        )
        return hmm.forward(observed), hmm.viterbi(observed)

    return run, (
        normal_data(0, 3),
        normal_data(1, 3, 3),
        jnp.asarray([-1.0, 0.0, 2.0]),
        normal_data(2, 8),
    )


@recipe("blackjax")
def blackjax_nuts_step() -> Made:
    import blackjax

    def density(x):
        return -0.5 * jnp.sum(x**2 * jnp.asarray([1.0, 4.0, 0.3]))

    kernel = blackjax.nuts(density, 0.4, jnp.ones(3), max_num_doublings=3)
    state = kernel.init(normal_data(0, 3))
    return lambda key, state: kernel.step(key, state)[0], (jax.random.PRNGKey(0), state)


@recipe("blackjax")
def blackjax_mala_smc() -> Made:
    import blackjax
    import blackjax.smc.resampling as resampling

    def density(x):
        return -jnp.sum(jnp.cosh(x))

    kernel = blackjax.mala(density, 0.1)

    def run(key, x, weights):
        a, b = jax.random.split(key)
        chosen = resampling.systematic(a, jax.nn.softmax(weights), 6)
        states = jax.vmap(kernel.init)(x[chosen])
        return jax.vmap(kernel.step)(jax.random.split(b, 6), states)[0]

    return run, (jax.random.PRNGKey(1), normal_data(0, 6, 3), normal_data(1, 6))


@recipe("tinygp", x64=True)
def tinygp_likelihood_grad() -> Made:
    import tinygp

    def density(params, x, y):
        kernel = jnp.exp(params[0]) * tinygp.kernels.Matern32(jnp.exp(params[1]))
        return tinygp.GaussianProcess(kernel, x, diag=0.1).log_probability(y)

    x = jnp.linspace(0.0, 3.0, 8)
    return jax.value_and_grad(density), (jnp.asarray([0.1, -0.3]), x, jnp.sin(2 * x))


@recipe("tinygp", x64=True)
def tinygp_quasisep() -> Made:
    import tinygp

    def density(params, x, y):
        kernel = tinygp.kernels.quasisep.Matern32(scale=params[0], sigma=params[1])
        return tinygp.GaussianProcess(kernel, x, diag=0.1).log_probability(y)

    x = jnp.linspace(0.0, 3.0, 9)
    return jax.value_and_grad(density), (jnp.asarray([0.7, 1.1]), x, jnp.sin(2 * x))


@recipe("flowjax", "equinox")
def flowjax_masked_autoregressive() -> Made:
    import equinox as eqx
    from flowjax.distributions import StandardNormal
    from flowjax.flows import masked_autoregressive_flow

    flow = masked_autoregressive_flow(
        jax.random.PRNGKey(0), base_dist=StandardNormal((3,)), flow_layers=2, nn_width=8
    )
    params, static = eqx.partition(flow, eqx.is_inexact_array)

    def loss(params, x):
        return -jnp.mean(eqx.combine(params, static).log_prob(x))

    return jax.value_and_grad(loss), (params, normal_data(0, 6, 3))


@recipe("dynamax")
def dynamax_kalman_smoother() -> Made:
    from dynamax.linear_gaussian_ssm import LinearGaussianSSM

    model = LinearGaussianSSM(2, 2)
    params, _ = model.initialize(jax.random.PRNGKey(0))
    return lambda p, y: model.smoother(p, y).smoothed_means, (params, normal_data(0, 6, 2))
