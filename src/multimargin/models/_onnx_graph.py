"""An ONNX graph that is written down step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multimargin.io._version import __version__


class Graph:
    """Nodes, constants, inputs and outputs; results are known by their names."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise ImportError(
                'ONNX files need the package onnx: pip install "multimargin[onnx]"'
            ) from error
        self._onnx = onnx
        self._constants: dict[str, Any] = {}
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, dtype: Any, shape: tuple[Any, ...]) -> str:
        """Add an input; strings in the shape are sizes that are known later."""
        self._inputs.append(self._described(name, dtype, shape))
        return name

    def output(self, name: str, result: str, dtype: Any, shape: tuple[Any, ...]) -> None:
        """Give a result to the outside, under a name."""
        self._node("Identity", (result,), (name,))
        self._outputs.append(self._described(name, dtype, shape))

    def constant(self, name: str, value: NDArray[Any] | np.generic) -> str:
        """Add a constant, once."""
        if name not in self._constants:
            array = np.asarray(value)
            if array.dtype == object:
                texts = [text.encode() for text in array.ravel().tolist()]
                kind = self._onnx.TensorProto.STRING
                made = self._onnx.helper.make_tensor(name, kind, array.shape, texts)
            else:
                made = self._onnx.numpy_helper.from_array(np.asarray(array, order="C"), name)
            self._constants[name] = made
        return name

    def number(self, name: str, value: int) -> str:
        """An integer."""
        return self.constant(f"{name}_{value}", np.array(value, dtype=np.int64))

    def numbers(self, name: str, values: list[int]) -> str:
        """A vector of integers."""
        text = "_".join(map(str, values))
        return self.constant(f"{name}s_{text}", np.array(values, dtype=np.int64))

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; returns its result."""
        if operator == "Cast":
            attributes["to"] = self._type(attributes["to"])
        name = f"{operator.lower()}_{len(self._nodes)}"
        self._node(operator, inputs, (name,), **attributes)
        return name

    def add_two(self, operator: str, *inputs: str, **attributes: Any) -> tuple[str, str]:
        """Add a node with two results."""
        first, second = (f"{operator.lower()}_{len(self._nodes)}_{k}" for k in (0, 1))
        self._node(operator, inputs, (first, second), **attributes)
        return first, second

    def _node(self, operator: str, inputs: Any, results: Any, **attributes: Any) -> None:
        self._nodes.append(self._onnx.helper.make_node(operator, inputs, results, **attributes))

    # ------------------------------------------------------------ small steps

    def row(self, matrix: str, k: int) -> str:
        """A row of a matrix as a vector."""
        return self.add("Gather", matrix, self.number("row", k), axis=0)

    def dimension(self, tensor: str, axis: int) -> str:
        """A size, as a number."""
        return self.add("Gather", self.add("Shape", tensor), self.number("axis", axis))

    def vector(self, number: str) -> str:
        """A number as a vector of one."""
        return self.add("Reshape", number, self.numbers("single", [1]))

    def count(self, number: str) -> str:
        """The numbers from 0 up to below this one."""
        return self.add("Range", self.number("nothing", 0), number, self.number("one", 1))

    # ------------------------------------------------------------ the file

    def serialized(self, *, opset: int, metadata: dict[str, str]) -> bytes:
        """The bytes of the file."""
        helper = self._onnx.helper
        parts = (self._nodes, "multimargin", self._inputs, self._outputs)
        graph = helper.make_graph(*parts, initializer=list(self._constants.values()))
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", opset)],
            producer_name="multimargin",
            producer_version=__version__,
        )
        made.ir_version = 8  # as old as the operators, so that older runtimes read it too
        helper.set_model_props(made, metadata)
        content: bytes = made.SerializeToString()
        return content

    def _described(self, name: str, dtype: Any, shape: tuple[Any, ...]) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._type(dtype), shape)

    def _type(self, dtype: Any) -> int:
        if dtype is object:
            return int(self._onnx.TensorProto.STRING)
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
