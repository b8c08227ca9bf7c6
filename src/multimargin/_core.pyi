"""Types of the compiled module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

class SvmlightParseError(ValueError):
    """Raised with ``args == (line, column, message)``."""

def parse_svmlight(
    source: Buffer,
    *,
    n_features: int = -1,
    double_precision: bool = False,
    zero_based: bool = False,
    ignore_extra_features: bool = False,
    n_threads: int = 1,
    block_bytes: int = 1048576,
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[Any], int, NDArray[Any]]: ...

class PassReport:
    @property
    def gap(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def visits(self) -> int: ...
    @property
    def complete(self) -> bool: ...

class ScanReport:
    @property
    def primal(self) -> float: ...
    @property
    def dual(self) -> float: ...
    @property
    def rounding(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def found(self) -> int: ...
    @property
    def complete(self) -> bool: ...

class VisitRule:
    def __init__(
        self,
        *,
        everything: bool,
        leave_below: float,
        idle: float,
        quiet_gap: float,
        quiet_violation: float,
        batch: int = 1,
        coupling: float = 0.0,
    ) -> None: ...
    @property
    def batch(self) -> int: ...
    def with_gaps_times(self, share: float) -> VisitRule: ...

class Engine:
    """Not a class of the module: what its four engine classes have in common."""

    def __init__(
        self,
        data: NDArray[Any],
        indices: NDArray[Any],
        indptr: NDArray[Any],
        cols: int,
        y: NDArray[np.int32],
        box: NDArray[Any],
        n_classes: int,
        bias: float,
        formulation: str,
        isa: int,
        threads: int,
        seed: int,
    ) -> None: ...
    def set_time_limit(self, seconds: float) -> None: ...
    def start_from_centroids(self, candidates: int, budget: int) -> None: ...
    def assign(
        self, slot_begin: NDArray[np.int64], cls: NDArray[np.int32], alpha: NDArray[Any]
    ) -> None: ...
    def merge_found(self) -> None: ...
    def recompute(self) -> None: ...
    def run_pass(self, rule: VisitRule) -> PassReport: ...
    def scan(self, capacity: int, idle: float, exact: bool = False) -> ScanReport: ...
    def alpha(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]: ...
    def weights(
        self,
    ) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64], NDArray[Any]]: ...
    @property
    def active_pairs(self) -> int: ...

class EngineF32I32(Engine): ...
class EngineF32I64(Engine): ...
class EngineF64I32(Engine): ...
class EngineF64I64(Engine): ...

class RankWorkspace:
    """Not a class of the module: what its four rank workspaces have in common."""

    def __init__(
        self,
        data: NDArray[Any],
        indices: NDArray[Any],
        indptr: NDArray[Any],
        cols: int,
        y: NDArray[np.int32],
        box: NDArray[Any],
        n_classes: int,
        bias: float,
        formulation: str,
        isa: int,
        threads: int,
    ) -> None: ...
    def candidates(
        self, count: int, budget: int, begin: int, end: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
    def divide(self, bundle_of: NDArray[np.int32], bundles: int) -> None: ...
    def take(
        self,
        bundle: int,
        slot_begin: NDArray[np.int64],
        cls: NDArray[np.int32],
        alpha: NDArray[Any],
    ) -> None: ...
    def set_columns(
        self,
        bundle: int,
        begin: NDArray[np.int64],
        sample: NDArray[np.int32],
        alpha: NDArray[Any],
    ) -> None: ...
    def columns(self, bundle: int) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]: ...
    def structure(
        self, bundle: int
    ) -> tuple[
        NDArray[np.int64], NDArray[np.int32], NDArray[Any], NDArray[np.int64], NDArray[np.int32]
    ]: ...
    def put_alpha(self, bundle: int, pair: NDArray[np.int64], value: NDArray[Any]) -> None: ...
    def unpack_alpha(self, bundle: int) -> None: ...
    def add_sums(self, bundle: int, sums: NDArray[np.float64]) -> None: ...
    def scale(self, bundle: int, factor: NDArray[np.float64]) -> None: ...
    def lay_out(self, bundle: int) -> None: ...
    def make_bundle_state(self, bundle: int, sums: NDArray[np.float64]) -> float: ...
    def own_scores(self, bundle: int, own: NDArray[Any]) -> None: ...
    def look(
        self,
        bundle: int,
        own: NDArray[Any],
        most: NDArray[Any],
        least: NDArray[Any],
        violation: NDArray[Any],
    ) -> None: ...
    def judge(
        self,
        most: NDArray[Any],
        least: NDArray[Any],
        violation: NDArray[Any],
        sums: NDArray[np.float64],
    ) -> tuple[NDArray[Any], NDArray[Any], float]: ...
    def scan(
        self,
        bundle: int,
        own: NDArray[Any],
        least: NDArray[Any],
        loss: NDArray[Any],
        norm: NDArray[np.float64],
        capacity: int,
        idle: float,
        exact: bool,
    ) -> tuple[
        NDArray[np.float64], NDArray[np.float64], float, NDArray[np.int64], NDArray[Any], bool
    ]: ...
    def merge(self, bundle: int, least: NDArray[Any], threshold: NDArray[Any]) -> None: ...
    def weights(
        self, bundle: int
    ) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64], NDArray[Any]]: ...
    def pack(self, bundle: int) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[Any]]: ...
    def unpack(
        self,
        bundle: int,
        sizes: NDArray[np.int64],
        mask: NDArray[np.uint64],
        values: NDArray[Any],
    ) -> None: ...
    def keep_alpha_only(self, bundle: int) -> None: ...
    def drop(self, bundle: int) -> None: ...
    def build(
        self,
        a: int,
        b: int,
        of_a: list[NDArray[Any]],
        of_b: list[NDArray[Any]],
        within: bool,
    ) -> None: ...
    def drop_meetings(self) -> None: ...
    def run_meetings(
        self, meetings: list[tuple[int, int]], rule: VisitRule, seed: int
    ) -> list[PassReport]: ...
    def collect(self, a: int, b: int, which: int) -> tuple[NDArray[np.int64], NDArray[Any]]: ...
    def meeting_state(
        self, a: int, b: int
    ) -> tuple[NDArray[Any], NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]: ...
    def restore_meeting(
        self,
        a: int,
        b: int,
        alpha: NDArray[Any],
        resting: NDArray[np.uint8],
        pauses: NDArray[np.uint8],
        waits: NDArray[np.uint8],
    ) -> None: ...
    @staticmethod
    def thresholds(
        found: list[tuple[NDArray[np.int64], NDArray[Any]]], samples: int, capacity: int
    ) -> NDArray[Any]: ...
    @property
    def empty_value(self) -> float: ...
    @property
    def budget_is_shared(self) -> bool: ...

class RankWorkspaceF32I32(RankWorkspace): ...
class RankWorkspaceF32I64(RankWorkspace): ...
class RankWorkspaceF64I32(RankWorkspace): ...
class RankWorkspaceF64I64(RankWorkspace): ...

class MachineReport:
    @property
    def primal(self) -> float: ...
    @property
    def dual(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def passes(self) -> int: ...
    @property
    def reached(self) -> bool: ...
    @property
    def precision(self) -> bool: ...

class OneVsRest:
    """Not a class of the module: what its four one-vs-rest classes have in common."""

    lanes: int
    def __init__(
        self,
        data: NDArray[Any],
        indices: NDArray[Any],
        indptr: NDArray[Any],
        cols: int,
        y: NDArray[np.int32],
        box: NDArray[Any],
        machines: int,
        first_class: int,
        bias: float,
        loss: str,
        isa: int,
        threads: int,
        seed: int,
    ) -> None: ...
    def set_time_limit(self, seconds: float) -> None: ...
    def solve(
        self,
        begin: int,
        end: int,
        tol: float,
        by_gap: bool,
        max_passes: int,
        alpha: NDArray[Any] | None,
        column: int,
        shrinking: bool = True,
    ) -> bool: ...
    def reports(self) -> list[MachineReport]: ...
    def weights(
        self, begin: int, end: int
    ) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64], NDArray[Any]]: ...
    def put_weights(
        self,
        begin: int,
        value: NDArray[Any],
        index: NDArray[np.int32],
        row_begin: NDArray[np.int64],
        constant: NDArray[Any],
        primal: NDArray[np.float64],
    ) -> None: ...
    @property
    def bytes(self) -> int: ...

class OneVsRestF32I32(OneVsRest): ...
class OneVsRestF32I64(OneVsRest): ...
class OneVsRestF64I32(OneVsRest): ...
class OneVsRestF64I64(OneVsRest): ...

class FullReport:
    @property
    def half_norm(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def alpha(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def margin(self) -> float: ...
    @property
    def free(self) -> int: ...

class FaceReport:
    @property
    def iterations(self) -> int: ...
    @property
    def step(self) -> float: ...
    @property
    def gain(self) -> float: ...

class LeeLinWahba:
    """Not a class of the module: what its four Lee-Lin-Wahba classes have in common."""

    def __init__(
        self,
        data: NDArray[Any],
        indices: NDArray[Any],
        indptr: NDArray[Any],
        cols: int,
        y: NDArray[np.int32],
        box: NDArray[Any],
        n_classes: int,
        bias: float,
        isa: int,
        threads: int,
        seed: int,
        cuts: list[int] = ...,
    ) -> None: ...
    def set_time_limit(self, seconds: float) -> None: ...
    def set_least_shared(self, lines: float) -> None: ...
    def set_alpha(self, alpha: NDArray[Any]) -> None: ...
    def alpha(self, out: NDArray[Any]) -> None: ...
    def weights(self, out: NDArray[Any], constant: NDArray[Any]) -> None: ...
    def assign(self, alpha: NDArray[Any]) -> None: ...
    def recompute(self) -> None: ...
    def look(self) -> FullReport: ...
    def pass_rows(self, leave_below: float, idle: float) -> PassReport: ...
    def polish(self, iterations: int, reduction: float) -> FaceReport: ...
    def alpha_sums(self, samples: NDArray[np.int32], out: NDArray[np.float64]) -> None: ...
    def recompute_from(self, sums: NDArray[np.float64]) -> None: ...
    def weight_sums(self, out: NDArray[np.float64]) -> None: ...
    def centre(self, sums: NDArray[np.float64]) -> None: ...
    def look_bundles(self, weight_sums: NDArray[np.float64]) -> list[FullReport]: ...
    def shuffled_samples(self, epoch: int) -> NDArray[np.int32]: ...
    def mean(self) -> NDArray[np.float64]: ...
    def move_mean(self, samples: NDArray[np.int32], sums: NDArray[np.float64]) -> None: ...
    def hold_mean(self, mean: NDArray[np.float64], samples: NDArray[np.int32]) -> None: ...
    def pass_lines(
        self, samples: NDArray[np.int32], everything: bool, idle: float
    ) -> list[PassReport]: ...
    def save(
        self, bundle: int, alpha: NDArray[Any], w: NDArray[Any], drops: NDArray[np.uint16]
    ) -> None: ...
    def load(
        self, bundle: int, alpha: NDArray[Any], w: NDArray[Any], drops: NDArray[np.uint16]
    ) -> None: ...
    def loaded(self, sums: NDArray[np.float64], mean: NDArray[np.float64]) -> None: ...
    @property
    def held(self) -> int: ...
    @property
    def bytes(self) -> int: ...

class LeeLinWahbaF32I32(LeeLinWahba): ...
class LeeLinWahbaF32I64(LeeLinWahba): ...
class LeeLinWahbaF64I32(LeeLinWahba): ...
class LeeLinWahbaF64I64(LeeLinWahba): ...

def solve_row(
    isa: int, margin: NDArray[Any], alpha: NDArray[Any], own: int, box: float, norm2: float
) -> tuple[NDArray[Any], NDArray[Any]]: ...
def solve_block(
    formulation: str,
    isa: int,
    margin: NDArray[Any],
    alpha: NDArray[Any],
    box: float,
    curvature_own: float,
    curvature: NDArray[Any],
    outside: float = 0.0,
    exchange: bool = False,
) -> tuple[NDArray[Any], float, float]: ...
def best_isa() -> int: ...
def isa_available(isa: int) -> bool: ...
def isa_name(isa: int) -> str: ...
def top_sparse(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    coef: NDArray[Any],
    coef_indices: NDArray[np.int32],
    coef_indptr: NDArray[np.int32],
    intercept: NDArray[Any],
    cols: int,
    isa: int,
    threads: int,
    cls_out: NDArray[np.int32],
    score_out: NDArray[Any],
) -> None: ...
def top_dense(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    coef: NDArray[Any],
    intercept: NDArray[Any],
    isa: int,
    threads: int,
    cls_out: NDArray[np.int32],
    score_out: NDArray[Any],
) -> None: ...
def top_by_feature(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    coef: NDArray[Any],
    coef_classes: NDArray[np.int32],
    coef_indptr: NDArray[np.int32],
    slot: NDArray[np.int32],
    matrix: NDArray[Any],
    intercept: NDArray[Any],
    isa: int,
    threads: int,
    cls_out: NDArray[np.int32],
    score_out: NDArray[Any],
) -> None: ...
def scores_by_feature(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    coef: NDArray[Any],
    coef_classes: NDArray[np.int32],
    coef_indptr: NDArray[np.int32],
    slot: NDArray[np.int32],
    matrix: NDArray[Any],
    intercept: NDArray[Any],
    isa: int,
    threads: int,
    out: NDArray[Any],
) -> None: ...
def scores_sparse(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    coef: NDArray[Any],
    coef_indices: NDArray[np.int32],
    coef_indptr: NDArray[np.int32],
    intercept: NDArray[Any],
    cols: int,
    isa: int,
    threads: int,
    out: NDArray[Any],
) -> None: ...
def scores_dense(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    coef: NDArray[Any],
    intercept: NDArray[Any],
    isa: int,
    threads: int,
    out: NDArray[Any],
) -> None: ...
