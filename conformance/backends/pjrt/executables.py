"""Programs that XLA has compiled, each with how its arguments reach devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance.backends.base import Unsupported, single_process_inputs
from conformance.backends.pjrt.clients import jax_module
from conformance.backends.xla_messages import classify
from reference.ir.program import Program, TensorType, ValueType
from reference.ir.types import Array


def require_tensor_type(value_type: ValueType) -> TensorType:
    """Return the type of an argument or a result of main.

    Raises:
        Unsupported: if it is no tensor.
    """
    if not isinstance(value_type, TensorType):
        raise Unsupported(f"arguments and results of main must be tensors, not {value_type}")
    return value_type


def require_static_tensor_type(value_type: ValueType) -> TensorType:
    """Return the type of an argument of main.

    Raises:
        Unsupported: if it is no tensor of static shape.
    """
    if not require_tensor_type(value_type).is_static:
        raise Unsupported(f"arguments of main must be tensors of static shape, not {value_type}")
    return require_tensor_type(value_type)


class PjrtExecutable:
    """A module that XLA has compiled, with the types and devices of its arguments."""

    def __init__(self, loaded: Any, devices: list[Any], text: str, program: Program) -> None:
        """Wrap an executable that is loaded for one device per process; `program` supplies the
        types.
        """
        import jaxlib._jax as private

        jax = jax_module()
        self._loaded = loaded
        self._put = private.batched_device_put
        self._places = [(jax.sharding.SingleDeviceSharding(d), [d]) for d in devices]
        self._joined_array = None
        if len(devices) > 1:  # to jax every process has a copy; that they differ it need not know
            mesh = jax.sharding.Mesh(np.array(devices), ("process",))
            sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
            join = jax.make_array_from_single_device_arrays
            self._joined_array = lambda abstract, parts: join(abstract.shape, sharding, parts)
        self._text, self._program = text, program
        self._types = [
            require_static_tensor_type(argument.type) for argument in program.main.arguments
        ]
        self._abstract = [
            jax.core.ShapedArray(of.static_shape, of.element.storage) for of in self._types
        ]

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run main (see `conformance.backends.base.Executable`).

        Raises:
            BackendError: XLA's answer, when it is an error.
            ValueError: when the arguments do not have the types of the parameters of main.
        """
        if len(inputs) != len(self._places):
            raise ValueError(f"{len(self._places)} processes, arguments for {len(inputs)}")
        for arguments in inputs:
            self._check(arguments)
        # jax.device_put does the same at ten times the cost (70 us an array)
        put, together = self._put, self._joined_array
        try:
            buffers = [
                [put(abstract, sharding, [array], device, True) for abstract, array in
                 zip(self._abstract, arguments, strict=True)]
                for arguments, (sharding, device) in zip(inputs, self._places, strict=True)
            ]  # fmt: skip
            whole = buffers[0]
            if together is not None:
                whole = [
                    together(of, list(p)) for of, *p in zip(self._abstract, *buffers, strict=True)
                ]
            out = self._loaded.execute_sharded(whole).disassemble_into_single_device_arrays()
            return [[np.asarray(shards[n]) for shards in out] for n in range(len(inputs))]
        except (RuntimeError, TypeError, ValueError) as error:
            raise classify(str(error), self._text, self._program) from error

    def optimised_module(self) -> bytes:
        """Return the module (see `conformance.backends.base.HasOptimisedModule`)."""
        try:
            return bytes(self._loaded.hlo_modules()[0].as_serialized_hlo_module_proto())
        except (RuntimeError, IndexError):  # of a plugin
            return b""

    def _check(self, inputs: Sequence[Array]) -> None:
        if len(inputs) != len(self._types):
            raise ValueError(f"main takes {len(self._types)} arguments, {len(inputs)} given")
        for index, (array, of) in enumerate(zip(inputs, self._types, strict=True)):
            if array.shape != of.shape or array.dtype != of.element.storage:
                given = f"{array.dtype} of shape {array.shape}"
                raise ValueError(f"argument {index} of main is {of}, given {given}")


class SharedExecutable:
    """A module of one process that XLA has partitioned among devices."""

    def __init__(self, loaded: Any, devices: list[Any], text: str, program: Program) -> None:
        """Wrap an executable that is loaded for these devices; it knows the sharding of its
        values.
        """
        self._loaded, self._devices, self._text, self._program = loaded, devices, text, program
        self._types = [
            require_static_tensor_type(argument.type) for argument in program.main.arguments
        ]
        self._results = [require_tensor_type(of) for of in program.main.result_types]

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Run main (see `conformance.backends.base.Executable`) on arrays as a whole.

        Raises:
            BackendError: XLA's answer, when it is an error.
        """
        jax, arguments = jax_module(), single_process_inputs(inputs)
        try:
            shardings = self._shardings(self._loaded.get_parameter_shardings(), self._types)
            given = [
                jax.make_array_from_callback(array.shape, sharding, array.__getitem__)
                for array, sharding in zip(arguments, shardings, strict=True)
            ]
            out = self._loaded.execute_sharded(given).disassemble_into_single_device_arrays()
            placed = self._shardings(self._loaded.get_output_shardings(), self._results)
        except (RuntimeError, TypeError, ValueError) as error:
            raise classify(str(error), self._text, self._program) from error
        return [
            [
                _joined_array(parts, sharding, of)
                for parts, sharding, of in zip(out, placed, self._results, strict=True)
            ]
        ]

    def _shardings(self, given: Any, types: Sequence[TensorType]) -> list[Any]:
        """Return jax's shardings of values; a value without a sharding is replicated on each
        device.
        """
        from jax._src.sharding_impls import GSPMDSharding

        if given is None:
            return [GSPMDSharding.get_replicated(tuple(self._devices)) for _ in types]
        return [GSPMDSharding(tuple(self._devices), one) for one in given]


def _joined_array(parts: Sequence[Any], sharding: Any, of: TensorType) -> Array:
    """Return the array whose parts are on devices; of replicas, the last device's copy."""
    whole = np.empty(of.static_shape, of.storage)
    places = sharding.devices_indices_map(of.static_shape)
    for part in parts:
        whole[places[part.device]] = np.asarray(part)
    return whole
