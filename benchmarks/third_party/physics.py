"""Physics: rigid bodies, molecules, quantum states, functions on the sphere and on groups."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .networks import normal_data
from .recipe import Made, recipe

PENDULUM = """
<mujoco>
  <option timestep="0.01" iterations="2" ls_iterations="4"/>
  <worldbody>
    <body pos="0 0 1">
      <joint type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.5" contype="0" conaffinity="0"/>
      <body pos="0 0 -0.5">
        <joint type="hinge" axis="0 1 0"/>
        <geom type="sphere" size="0.1" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="" gear="1"/></actuator>
</mujoco>
""".replace('<actuator><motor joint="" gear="1"/></actuator>', "")
"""A double pendulum without contacts."""

FALLING = """
<mujoco>
  <option timestep="0.01" iterations="2" ls_iterations="4"/>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body pos="0 0 0.09"><freejoint/><geom type="sphere" size="0.1"/></body>
  </worldbody>
</mujoco>
"""
"""A ball that touches the ground."""


@recipe("e3nn-jax")
def e3nn_spherical_harmonics_grad() -> Made:
    import e3nn_jax as e3nn

    def run(x):
        return e3nn.spherical_harmonics("0e + 1o + 2e + 3o", x, normalize=True).array

    return lambda x: (run(x), jax.grad(lambda x: jnp.sum(run(x) ** 3))(x)), (normal_data(0, 5, 3),)


@recipe("e3nn-jax")
def e3nn_tensor_product() -> Made:
    import e3nn_jax as e3nn

    def run(a, b):
        a, b = e3nn.IrrepsArray("2x0e + 1o", a), e3nn.IrrepsArray("1o + 1x2e", b)
        return e3nn.tensor_product(a, b).array

    return run, (normal_data(0, 4, 5), normal_data(1, 4, 8))


@recipe("e3nn-jax")
def e3nn_gate_norm() -> Made:
    import e3nn_jax as e3nn

    def run(x):
        x = e3nn.IrrepsArray("4x0e + 2x0o + 2x1o", x)
        return e3nn.gate(x).array, e3nn.norm(x).array

    return run, (normal_data(0, 3, 12),)


@recipe("e3nn-jax")
def e3nn_wigner_rotation() -> Made:
    import e3nn_jax as e3nn

    def run(a, b, c):
        return e3nn.Irrep("2e").D_from_angles(a, b, c)

    return run, (jnp.float32(0.3), jnp.float32(1.1), jnp.float32(-0.7))


@recipe("mujoco-mjx")
def mjx_pendulum_step() -> Made:
    import mujoco
    from mujoco import mjx

    model = mjx.put_model(mujoco.MjModel.from_xml_string(PENDULUM))
    data = mjx.make_data(model).replace(qpos=jnp.asarray([0.4, -0.2]))

    def step(qpos, qvel):
        out = mjx.step(model, data.replace(qpos=qpos, qvel=qvel))
        return out.qpos, out.qvel, out.xpos

    return step, (jnp.asarray([0.4, -0.2]), jnp.asarray([0.1, 0.3]))


@recipe("mujoco-mjx")
def mjx_contact_step() -> Made:
    import mujoco
    from mujoco import mjx

    model = mjx.put_model(mujoco.MjModel.from_xml_string(FALLING))
    data = mjx.make_data(model)

    def step(qpos, qvel):
        out = mjx.step(model, data.replace(qpos=qpos, qvel=qvel))
        return out.qpos, out.qvel

    return step, (jnp.asarray([0.0, 0.0, 0.09, 1.0, 0.0, 0.0, 0.0]), normal_data(0, 6, scale=0.1))


@recipe("brax")
def brax_pendulum_step() -> Made:
    from brax import envs

    env = envs.get_environment("inverted_pendulum", backend="generalized")
    state = jax.jit(env.reset)(jax.random.PRNGKey(0))

    def step(q, qd, action):
        pipeline = state.pipeline_state.replace(q=q, qd=qd)
        out = env.step(state.replace(pipeline_state=pipeline), action)
        return out.obs, out.reward, out.done

    first = state.pipeline_state
    return step, (first.q, first.qd, jnp.asarray([0.5]))


@recipe("brax")
def brax_gae_math() -> Made:
    from brax import math
    from brax.training.agents.ppo.losses import compute_gae

    def run(truncation, termination, rewards, values, bootstrap, q, v):
        gae = compute_gae(truncation, termination, rewards, values, bootstrap, 0.95, 0.99)
        return gae, jax.vmap(math.rotate)(v, q), jax.vmap(math.quat_mul)(q, q)

    zeros = jnp.zeros((6, 2))
    q = normal_data(3, 4, 4)
    q = q / jnp.linalg.norm(q, axis=-1, keepdims=True)
    ends = zeros.at[3, 1].set(1.0)
    arguments = (
        zeros,
        ends,
        normal_data(0, 6, 2),
        normal_data(1, 6, 2),
        normal_data(2, 2),
        q,
        normal_data(4, 4, 3),
    )
    return run, arguments


@recipe("jax-md")
def jax_md_lennard_jones_nve() -> Made:
    from jax_md import energy, simulate, space

    displacement, shift = space.periodic(4.0)
    potential = energy.lennard_jones_pair(displacement, sigma=0.9)
    init, apply = simulate.nve(potential, shift, 1e-3)
    at = jnp.stack(jnp.meshgrid(*[jnp.arange(3.0)] * 3), -1).reshape(-1, 3)[:12] * 1.1
    state = init(jax.random.PRNGKey(0), at, kT=0.1)
    return apply, (state,)


@recipe("jax-md")
def jax_md_stillinger_weber() -> Made:
    from jax_md import energy, space

    displacement, _ = space.free()
    potential = energy.stillinger_weber(displacement)
    at = 2.2 * jnp.asarray([[0.0, 0, 0], [1, 0, 0.1], [0, 1, 0], [0.9, 1.1, 0], [0.5, 0.5, 0.9]])
    return jax.value_and_grad(potential), (at,)


@recipe("netket", x64=True)
def netket_rbm_local_energy() -> Made:
    import netket as nk

    hilbert = nk.hilbert.Spin(0.5, 5)
    model = nk.models.RBM(alpha=1, param_dtype=complex)
    hamiltonian = nk.operator.IsingJax(hilbert, nk.graph.Chain(5), h=1.0)
    spins = hilbert.random_state(jax.random.PRNGKey(0), 6)
    params = model.init(jax.random.PRNGKey(1), spins)

    def energy(params, spins):
        others, elements = hamiltonian.get_conn_padded(spins)
        ratio = jnp.exp(model.apply(params, others) - model.apply(params, spins)[:, None])
        return jnp.sum(elements * ratio, -1)

    return energy, (params, spins)


@recipe("dynamiqs")
def dynamiqs_lindblad() -> Made:
    import dynamiqs as dq

    a = dq.destroy(4)

    def run(amplitude, t):
        h = amplitude * (a + a.dag())
        psi = dq.fock(4, 0)
        out = dq.mesolve(h, [0.3 * a], psi, t, method=dq.method.Euler(0.05), progress_meter=False)
        return out.states.to_jax()

    return run, (jnp.float32(0.7), jnp.linspace(0.0, 0.5, 3))


@recipe("s2fft", x64=True)
def s2fft_forward_inverse() -> Made:
    import s2fft

    def run(f):
        flm = s2fft.forward_jax(f, 4)
        return flm, s2fft.inverse_jax(flm, 4)

    return run, (normal_data(0, 4, 7).astype(jnp.float64),)


@recipe("jaxlie")
def jaxlie_exp_log_se3() -> Made:
    import jaxlie

    def run(v, p):
        t = jaxlie.SE3.exp(v)
        return t.log(), t.as_matrix(), t @ p, jaxlie.SO3.exp(v[3:]).inverse().as_quaternion_xyzw()

    return run, (normal_data(0, 6), normal_data(1, 3))
