"""Solvers: differential equations, optimization, linear systems, transport."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .networks import normal_data
from .recipe import Made, recipe


def _predators(_, y, args):
    a, b, c, d = args
    return jnp.stack([a * y[0] - b * y[0] * y[1], -c * y[1] + d * y[0] * y[1]])


@recipe("diffrax")
def diffrax_tsit5_adaptive() -> Made:
    import diffrax

    def solve(y0, args):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(_predators),
            diffrax.Tsit5(),
            0.0,
            2.0,
            0.1,
            y0,
            args,
            saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 2.0, 5)),
            stepsize_controller=diffrax.PIDController(1e-3, 1e-4),
            max_steps=64,
        ).ys

    return solve, (jnp.asarray([10.0, 5.0]), jnp.asarray([0.8, 0.1, 0.5, 0.05]))


@recipe("diffrax", x64=True)
def diffrax_kvaerno3_stiff() -> Made:
    import diffrax

    def robertson(_, y, args):
        a, b, c = args
        f0 = -a * y[0] + c * y[1] * y[2]
        f2 = b * y[1] ** 2
        return jnp.stack([f0, -f0 - f2, f2])

    def solve(y0, args):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(robertson),
            diffrax.Kvaerno3(),
            0.0,
            1.0,
            1e-3,
            y0,
            args,
            stepsize_controller=diffrax.PIDController(1e-4, 1e-7),
            max_steps=64,
        ).ys

    return solve, (jnp.asarray([1.0, 0.0, 0.0]), jnp.asarray([0.04, 3e7, 1e4]))


@recipe("diffrax")
def diffrax_sde_heun() -> Made:
    import diffrax

    def solve(y0, key):
        path = diffrax.VirtualBrownianTree(0.0, 1.0, 0.05, (2,), key)
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda _, y, _args: -0.5 * y),
            diffrax.ControlTerm(lambda _, y, _args: 0.2 * jnp.diag(y), path),
        )
        return diffrax.diffeqsolve(terms, diffrax.Heun(), 0.0, 1.0, 0.1, y0, max_steps=16).ys

    return solve, (jnp.asarray([1.0, 2.0]), jax.random.PRNGKey(0))


@recipe("diffrax", "equinox")
def diffrax_neural_ode_grad() -> Made:
    import diffrax
    import equinox as eqx

    net = eqx.nn.MLP(2, 2, 8, 1, activation=jax.nn.softplus, key=jax.random.PRNGKey(0))
    params, static = eqx.partition(net, eqx.is_array)

    def loss(params, y0, target):
        net = eqx.combine(params, static)
        ys = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda _, y, _args: net(y)),
            diffrax.Heun(),
            0.0,
            1.0,
            0.25,
            y0,
            max_steps=8,
        ).ys
        return jnp.sum((ys[0] - target) ** 2)

    return jax.grad(loss), (params, jnp.asarray([0.5, -0.3]), jnp.asarray([1.0, 0.2]))


@recipe("optimistix", x64=True)
def optimistix_levenberg_marquardt() -> Made:
    import optimistix as optx

    def solve(y0, t, data):
        def residual(y, _):
            return y[0] * jnp.exp(-y[1] * t) + y[2] - data

        solver = optx.LevenbergMarquardt(rtol=1e-6, atol=1e-6)
        return optx.least_squares(residual, solver, y0, max_steps=32, throw=False).value

    t = jnp.linspace(0.0, 3.0, 12)
    data = 2.0 * jnp.exp(-1.3 * t) + 0.5 + 0.01 * normal_data(0, 12)
    return solve, (jnp.asarray([1.0, 1.0, 0.0]), t, data)


@recipe("optimistix")
def optimistix_bfgs() -> Made:
    import optimistix as optx

    def solve(y0):
        def rosenbrock(y, _):
            return jnp.sum(100.0 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2)

        return optx.minimise(rosenbrock, optx.BFGS(1e-3, 1e-3), y0, max_steps=8, throw=False).value

    return solve, (jnp.asarray([-0.5, 0.8]),)


@recipe("optimistix", x64=True)
def optimistix_newton_implicit_grad() -> Made:
    import optimistix as optx

    def root(a):
        def function(y, a):
            return y + 0.3 * jnp.tanh(a @ y) - 1.0

        solver = optx.Newton(1e-8, 1e-8)
        return jnp.sum(optx.root_find(function, solver, jnp.zeros(3), a, max_steps=16).value)

    return jax.grad(root), (normal_data(0, 3, 3).astype(jnp.float64),)


@recipe("lineax", x64=True)
def lineax_cg() -> Made:
    import lineax as lx

    def solve(a, b):
        operator = lx.MatrixLinearOperator(a @ a.T + 6 * jnp.eye(6), lx.positive_semidefinite_tag)
        return lx.linear_solve(operator, b, lx.CG(1e-8, 1e-8), throw=False).value

    return solve, (normal_data(0, 6, 6).astype(jnp.float64), normal_data(1, 6).astype(jnp.float64))


@recipe("lineax", x64=True)
def lineax_gmres() -> Made:
    import lineax as lx

    def solve(a, b):
        operator = lx.MatrixLinearOperator(a + 4 * jnp.eye(5))
        return lx.linear_solve(operator, b, lx.GMRES(1e-7, 1e-7), throw=False).value

    return solve, (normal_data(0, 5, 5).astype(jnp.float64), normal_data(1, 5).astype(jnp.float64))


@recipe("lineax")
def lineax_qr_svd_tridiagonal() -> Made:
    import lineax as lx

    def solve(a, b, d, low, up):
        least = lx.linear_solve(lx.MatrixLinearOperator(a), b, lx.QR()).value
        other = lx.linear_solve(lx.MatrixLinearOperator(a), b, lx.SVD()).value
        three = lx.linear_solve(lx.TridiagonalLinearOperator(d, low, up), b, lx.Tridiagonal()).value
        return least, other, three

    return solve, (
        normal_data(0, 7, 4),
        normal_data(1, 7),
        5 + normal_data(2, 7),
        normal_data(3, 6),
        normal_data(4, 6),
    )


@recipe("jaxopt")
def jaxopt_projected_gradient() -> Made:
    import jaxopt

    def solve(w, x, y):
        solver = jaxopt.ProjectedGradient(
            lambda w, x, y: jnp.mean((x @ w - y) ** 2),
            jaxopt.projection.projection_simplex,
            maxiter=6,
        )
        return solver.run(w, x=x, y=y, hyperparams_proj=1.0).params

    return solve, (jnp.full(5, 0.2), normal_data(0, 12, 5), normal_data(1, 12))


@recipe("jaxopt")
def jaxopt_lasso_proximal() -> Made:
    import jaxopt

    def solve(w, x, y):
        solver = jaxopt.ProximalGradient(
            jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, maxiter=8
        )
        return solver.run(w, 0.1, (x, y)).params

    return solve, (jnp.zeros(5), normal_data(0, 12, 5), normal_data(1, 12))


@recipe("jaxopt", x64=True)
def jaxopt_osqp() -> Made:
    import jaxopt

    def solve(q, c, a, b, g, h):
        solver = jaxopt.OSQP(maxiter=50, check_primal_dual_infeasability=False)
        return solver.run(None, (q, c), (a, b), (g, h)).params.primal

    f = jnp.float64
    arguments = ([[2.0, 0.5], [0.5, 1.0]], [1.0, 1.0], [[1.0, 1.0]], [1.0], [[-1.0, 0.0]], [0.0])
    return solve, tuple(jnp.asarray(argument, f) for argument in arguments)


@recipe("ott-jax")
def ott_sinkhorn_grad() -> Made:
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    def cost(x, y):
        problem = linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.5))
        return sinkhorn.Sinkhorn(max_iterations=30, inner_iterations=5)(problem).reg_ot_cost

    return jax.value_and_grad(cost), (normal_data(0, 7, 2), normal_data(1, 6, 2) + 0.5)


@recipe("ott-jax")
def ott_soft_sort() -> Made:
    from ott.tools import soft_sort

    def run(x):
        return soft_sort.sort(x, epsilon=0.1), soft_sort.ranks(x, epsilon=0.1)

    return run, (normal_data(0, 6),)


@recipe("interpax", x64=True)
def interpax_cubic_2d() -> Made:
    import interpax

    def run(xq, yq, x, y, f):
        return (
            interpax.interp2d(xq, yq, x, y, f, method="cubic"),
            interpax.interp1d(xq, x, f[:, 0], method="monotonic"),
            interpax.interp1d(xq, x, f[:, 1], method="akima"),
        )

    x, y = jnp.linspace(0.0, 1.0, 7), jnp.linspace(-1.0, 1.0, 6)
    f = jnp.sin(3 * x)[:, None] * jnp.cos(2 * y)
    return run, (jnp.linspace(0.05, 0.93, 9), jnp.linspace(-0.8, 0.9, 9), x, y, f)


@recipe("quax", "equinox")
def quax_lora() -> Made:
    import equinox as eqx
    import quax
    from quax.examples.lora import LoraArray

    lora = LoraArray(normal_data(0, 6, 5), rank=2, key=jax.random.PRNGKey(0))
    params, static = eqx.partition(lora, eqx.is_array)

    def loss(params, x):
        lora = eqx.combine(params, static)
        return jnp.sum(quax.quaxify(jnp.dot)(lora, x) ** 2)

    return jax.value_and_grad(loss), (params, normal_data(3, 5))
