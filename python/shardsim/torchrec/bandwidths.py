"""The rates of a cluster in the interface that TorchRec's estimates ask: simulated, or as the cluster states them."""

from __future__ import annotations

from typing import Any

from shardsim import _core, arguments
from shardsim.scenario import Scenario
from shardsim.torchrec.model import word, wrong

ALL_REDUCE_BYTES = 256 * 2**20  # of replicated tables; which are replicated, a plan decides
_MOST_BYTES = 2**50


class CommsBandwidth:
    """TorchRec's GeneralizedCommsBandwidth of a scenario's cluster.

    Topology(..., generalized_comms_bandwidths=shardsim.torchrec.CommsBandwidth(scenario))

    Its rates are those by which TorchRec's formulas give the time that the collective takes in the simulation: alone,
    all tables in one call, while the other GPUs of the hosts do the same in groups of their own.

    exchange_bytes: of vectors that a rank gets for its batch; those of the scenario's workload where not given.
    all_reduce_bytes: of the tables that are replicated.
    simulated: False takes the link rates that the cluster states, by the rule of TorchRec's BasicCommsBandwidths.
    """

    name = "shardsim"

    def __init__(self, scenario: Scenario, case: str = "model", *, exchange_bytes: int | None = None,
                 all_reduce_bytes: int = ALL_REDUCE_BYTES, simulated: bool = True) -> None:
        with scenario.told_by_path():
            self._machine = _core.Machine(scenario.request(), arguments.case(case))
        given = arguments.maybe_whole(exchange_bytes, "exchange_bytes", 1, _MOST_BYTES)
        self._exchange_bytes = self._machine.exchange_bytes() if given is None else given
        self._all_reduce_bytes = arguments.whole(all_reduce_bytes, "all_reduce_bytes", 1, _MOST_BYTES)
        self._simulated = bool(simulated)
        self._topology = self._machine.topology()
        self._known: dict[tuple[int, int, str], float] = {}

    @property
    def intra_host_bw(self) -> float:
        """Bytes per millisecond of a GPU inside its host, as the cluster states them."""
        return float(self._topology["intra_host_bw"])

    @property
    def inter_host_bw(self) -> float:
        """Bytes per millisecond of a GPU between hosts, as the cluster states them."""
        return float(self._topology["inter_host_bw"])

    def get_bw(self, local_world_size: int, world_size: int, collective_type: Any) -> float:
        """Bytes per millisecond of a collective among so many ranks, so many of them in each host.

        Errors: InputError for ranks that do not divide by the hosts, or that the cluster does not have.
        """
        local = arguments.whole(local_world_size, "local_world_size", 1, 1_000_000)
        world = arguments.whole(world_size, "world_size", 1, 10_000_000)
        key = (local, world, word(collective_type))
        if key not in self._known:
            self._known[key] = self._simulated_bw(*key) if self._simulated else self._stated_bw(*key)
        return self._known[key]

    def _stated_bw(self, local: int, world: int, kind: str) -> float:
        if kind == "all_reduce":
            return self.inter_host_bw * local  # TorchRec: a NIC for each GPU
        return self.intra_host_bw if world <= local else self.inter_host_bw

    def _simulated_bw(self, local: int, world: int, kind: str) -> float:
        size = self._bytes_of(kind, world)
        took = self._machine.collective_ms(kind, local, world, size)
        return size * _passes(kind, local, world) / took if took > 0 else float("inf")

    def _bytes_of(self, kind: str, world: int) -> int:
        """Bytes of one call: partial sums are there for the samples of all ranks, vectors for those of one."""
        if kind == "all_reduce":
            return self._all_reduce_bytes
        return self._exchange_bytes * (world if kind in ("reduce_scatter", "all_gather") else 1)

    def __deepcopy__(self, memo: dict[int, Any]) -> CommsBandwidth:
        """Itself: TorchRec's reservations and partitioners copy a Topology with all that it holds."""
        return self

    def _state(self) -> tuple[Any, ...]:
        return (tuple(sorted(self._topology.items())), self._exchange_bytes, self._all_reduce_bytes, self._simulated)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CommsBandwidth) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash(self._state())

    def __str__(self) -> str:
        how = f"simulated at {self._exchange_bytes:,} bytes a rank" if self._simulated else "as the cluster states them"
        return f"shardsim.torchrec.CommsBandwidth: {how}"


def _passes(kind: str, local: int, world: int) -> float:
    """How often TorchRec's estimate of data_parallel counts the bytes of a table before it divides by this rate."""
    if kind != "all_reduce":
        return 1.0
    hosts = min(world / local, 2.0)
    return (2 * hosts - 1) / hosts * (2 if world > 2 * local else 1)


def machine_of(scenario: Scenario, case: str) -> dict[str, Any]:
    """The cluster of a case in the words of TorchRec's Topology: ranks, capacities in bytes, bytes per millisecond."""
    with scenario.told_by_path():
        return _core.Machine(scenario.request(), case).topology()


def check_hosts(machine: dict[str, Any], world_size: int, local_world_size: int) -> None:
    """Refuses a request for other ranks than the machine has."""
    for name, asked in (("world_size", world_size), ("local_world_size", local_world_size)):
        if machine[name] != asked:
            raise wrong(f"{asked} ranks as {name}, and the scenario's cluster has {machine[name]}",
                        f"Ask for its {name}, or give a cluster of such hosts", f"request.{name}")
