"""Plans of shardsim's planners as proposals of TorchRec's planner, and their ranks as its placement."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardsim import arguments
from shardsim.errors import InfeasibleError
from shardsim.scenario import Scenario
from shardsim.tasks import Evaluator
from shardsim.torchrec.model import load_factor, names_of, scenario_of, tables_of, word, wrong
from shardsim.torchrec.plans import entries_of, rank_of, torchrec_types

Key = tuple[str, str]  # path of the module, name of the table
Cut = tuple[tuple[int, ...], tuple[int, ...]]  # offset and size of a shard
_DEFAULT_FACTOR = 0.2  # of a cache, where nobody states another (TorchRec's UVM_CACHING_RATIO)


@dataclass
class _Entry:
    """How a plan of ours shards a table."""

    kind: str
    kernel: str
    ranks: list[int]
    cuts: list[Cut] = field(default_factory=list)  # in the order of the ranks; of data_parallel none
    load_factor: float | None = None


@dataclass(frozen=True)
class Proposed:
    """A plan that was proposed, and what TorchRec's planner answered."""

    planner: str
    fits: bool  # a partitioner has found room
    rating: float | None  # of the performance model: milliseconds where that is a PerfModel


def _entry_of(given: Mapping[str, Any]) -> _Entry:
    shards = given.get("shards") or []
    cuts = [(tuple(int(each) for each in shard["shard_offsets"]), tuple(int(each) for each in shard["shard_sizes"]))
            for shard in shards]
    ranks = [rank_of(shard["placement"]) for shard in shards]
    factor = (given.get("cache_params") or {}).get("load_factor")
    return _Entry(given["sharding_type"], given.get("compute_kernel", "fused" if shards else "dense"), ranks, cuts,
                  None if factor is None else float(factor))


def _cuts_of(option: Any) -> list[Cut]:
    return [(tuple(shard.offset), tuple(shard.size)) for shard in option.shards]


def _signature(option: Any) -> tuple[Any, ...]:
    """Two options of a table with one signature differ in ranks and estimates alone."""
    kind = word(option.sharding_type)
    cuts = () if kind == "data_parallel" else tuple(sorted(_cuts_of(option)))
    return (option.path, option.name, kind, word(option.compute_kernel), cuts)


class Proposer:
    """TorchRec's Proposer: proposes the plans of shardsim's planners, `search` if none is named.

    proposer = shardsim.torchrec.Proposer(scenario, model)
    EmbeddingShardingPlanner(..., proposer=[proposer, GreedyProposer()],
                             partitioner=shardsim.torchrec.Partitioner(proposer, GreedyPerfPartitioner()))

    A proposal says how each table is sharded; where shards lie, TorchRec leaves to its partitioner. The Partitioner of
    this package puts them where the plan has them. A planner that finds no plan in memory proposes nothing.

    planners: names, or dicts with options such as {"name": "search", "evaluations": 20_000}.
    classes: an object with CacheParams; that of the installed TorchRec where it is not given.
    """

    def __init__(self, scenario: Scenario, model: Any, case: str = "model",
                 planners: Sequence[str | Mapping[str, Any]] = ("search",), *, classes: Any = None) -> None:
        tables = tables_of(model)
        self._names = dict(zip([(table.path, table.name) for table in tables], names_of(tables)))
        self._scenario, self._case, self._classes = scenario_of(scenario), case, classes
        self._planners = [_planner_map(each) for each in ([planners] if isinstance(planners, (str, Mapping)) else planners)]
        self._plans: list[tuple[str, dict[Key, _Entry]]] | None = None
        self._space: dict[Key, list[Any]] = {}
        self._enumerator: Any = None
        self._next = 0
        self._placed: dict[frozenset[tuple[Any, ...]], dict[Key, _Entry]] = {}
        self.proposed: list[Proposed] = []

    def load(self, search_space: Iterable[Any], enumerator: Any = None) -> None:
        """As TorchRec's planner calls it, before the first proposal."""
        self._space = {}
        for option in search_space:
            self._space.setdefault((option.path, option.name), []).append(option)
        self._enumerator = enumerator
        self._next = 0
        self._placed = {}
        self.proposed = []

    def propose(self) -> list[Any] | None:
        """The next plan as one option for each table; None when there is none left.

        Errors: InputError where the search space lacks a table, or the way in which the plan shards it.
        """
        plans = self._made_plans()
        if self._next >= len(plans):
            return None
        _, entries = plans[self._next]
        proposal = self._options_of(entries)
        self._next += 1
        self._placed[frozenset(map(_signature, proposal))] = entries
        return proposal

    def feedback(self, partitionable: bool, plan: Any = None, perf_rating: float | None = None,
                 storage_constraint: Any = None) -> None:
        """As TorchRec's planner calls it, after each proposal: `proposed` keeps what it says."""
        planner = self._made_plans()[len(self.proposed)][0]
        self.proposed.append(Proposed(planner, bool(partitionable), None if perf_rating is None else float(perf_rating)))

    def place(self, proposal: Iterable[Any]) -> dict[Key, list[int]] | None:
        """The ranks of each option's shards, in their order, where a plan of ours is just this proposal."""
        options = list(proposal)
        entries = self._placed.get(frozenset(map(_signature, options)))
        if entries is None:
            return None
        return {(option.path, option.name): _ranks_in_order(option, entries[option.path, option.name]) for option in options}

    def _made_plans(self) -> list[tuple[str, dict[Key, _Entry]]]:
        if self._plans is None:
            self._plans = []
            for planner in self._planners:
                try:
                    self._plans.append((planner["name"], self._plan_by(planner)))
                except InfeasibleError:
                    continue
        return self._plans

    def _plan_by(self, planner: Mapping[str, Any]) -> dict[Key, _Entry]:
        of = self._scenario.with_({"planner": planner})
        entries = entries_of(Evaluator(of, self._case).plan.text, self._names)
        return {key: _entry_of(entries[name]) for key, name in self._names.items()}

    def _options_of(self, entries: Mapping[Key, _Entry]) -> list[Any]:
        absent = [key for key in self._names if key not in self._space]
        if absent:
            raise wrong(f"the search space has no table {absent[0][1]!r} in a module {absent[0][0]!r}",
                        "Give the Proposer the model that the planner plans for", "search_space")
        chosen = [self._option_of(key, entries[key]) for key in self._space if key in entries]
        altered = [option for option, is_new in chosen if is_new]
        if altered:
            self._estimate(altered)
        return [option for option, _ in chosen]

    def _option_of(self, key: Key, entry: _Entry) -> tuple[Any, bool]:
        """The option of the search space that is this entry, or one made of it with other shards or another cache."""
        like = [option for option in self._space[key]
                if word(option.sharding_type) == entry.kind and word(option.compute_kernel) == entry.kernel]
        if not like:
            raise wrong(f"the search space does not shard table {key[1]!r} {entry.kind} with the kernel {entry.kernel}",
                        "Give the planner and the scenario the same constraints, or let the sharder offer it",
                        "search_space")
        same_cache = entry.load_factor is None or entry.load_factor == (load_factor(like[0]) or _DEFAULT_FACTOR)
        if same_cache and (entry.kind == "data_parallel" or sorted(_cuts_of(like[0])) == sorted(entry.cuts)):
            return like[0], False
        return self._altered(like[0], entry, same_cache), True

    def _altered(self, option: Any, entry: _Entry, same_cache: bool) -> Any:
        made = copy.copy(option)
        cuts = entry.cuts or _cuts_of(option)
        made.shards = [_shard_like(option.shards[0], offset, size) for offset, size in cuts]
        if not same_cache:
            made.cache_params = self._cache_like(option, entry.load_factor)
        return made

    def _cache_like(self, option: Any, factor: float | None) -> Any:
        if getattr(option, "cache_params", None) is not None:
            return dataclasses.replace(option.cache_params, load_factor=factor)
        use = self._classes if self._classes is not None else torchrec_types()
        return use.CacheParams(load_factor=factor)

    def _estimate(self, options: list[Any]) -> None:
        if self._enumerator is None:
            raise wrong(f"table {options[0].name!r} is cut into other shards than in the search space, and nobody can "
                        "estimate them", "Give the proposer's load() the enumerator, as TorchRec's planner does",
                        "enumerator")
        self._enumerator.populate_estimates(options)


def _planner_map(planner: Any) -> dict[str, Any]:
    if isinstance(planner, str):
        return {"name": planner}
    made = dict(arguments.mapping(planner, "planners", '["search"], or [{"name": "search", "evaluations": 20_000}]'))
    arguments.text(made.get("name"), "planners: name")
    return made


def _shard_like(shard: Any, offset: Iterable[int], size: Iterable[int]) -> Any:
    made = copy.copy(shard)
    made.offset, made.size = list(offset), list(size)
    made.rank = made.storage = made.perf = None
    return made


def _ranks_in_order(option: Any, entry: _Entry) -> list[int]:
    """Empty shards are alike: they take what is left in the order of the plan."""
    if entry.kind == "data_parallel":
        return list(range(len(option.shards)))
    left: dict[Cut, list[int]] = {}
    for cut, rank in zip(entry.cuts, entry.ranks):
        left.setdefault(cut, []).append(rank)
    return [left[cut].pop(0) for cut in _cuts_of(option)]


class Partitioner:
    """TorchRec's Partitioner: puts the proposals of a Proposer on the ranks that their plans name.

    otherwise: a partitioner of TorchRec's, for the proposals of others and for what has no room there by TorchRec's
        estimates of memory. Without one such a proposal is refused, as a PlannerError.
    classes: an object with PlannerError and PlannerErrorType; those of the installed TorchRec where it is not given.
    """

    def __init__(self, proposer: Proposer, otherwise: Any = None, *, classes: Any = None) -> None:
        self._proposer, self._otherwise, self._classes = proposer, otherwise, classes

    def partition(self, proposal: list[Any], storage_constraint: Any) -> list[Any]:
        """As TorchRec's planner calls it: the proposal, with a rank in each shard."""
        ranks = self._proposer.place(proposal)
        if ranks is not None:
            lacking = _without_room(proposal, ranks, storage_constraint)
            if lacking is None:
                for option in proposal:
                    for shard, rank in zip(option.shards, ranks[option.path, option.name]):
                        shard.rank = rank
                return proposal
        if self._otherwise is not None:
            placed: list[Any] = self._otherwise.partition(proposal=proposal, storage_constraint=storage_constraint)
            return placed
        raise self._refusal("no plan of shardsim is this proposal" if ranks is None else
                            f"rank {lacking} has no room for its shards by TorchRec's estimates")

    def _refusal(self, why: str) -> Exception:
        use = self._classes if self._classes is not None else planner_errors()
        error: Exception = use.PlannerError(error_type=use.PlannerErrorType.PARTITION,
                                            message=f"{why}. Give shardsim.torchrec.Partitioner another partitioner as "
                                                    "`otherwise`.")
        return error


def _without_room(proposal: Iterable[Any], ranks: Mapping[Key, Sequence[int]], topology: Any) -> int | None:
    """The first rank that is too full; none where all shards have room."""
    taken: dict[int, Any] = {}
    for option in proposal:
        for shard, rank in zip(option.shards, ranks[option.path, option.name]):
            taken[rank] = shard.storage if rank not in taken else taken[rank] + shard.storage
    devices = topology.devices
    if max(taken) >= len(devices):
        raise wrong(f"a plan has a shard on rank {max(taken)}, and the Topology has {len(devices)} ranks",
                    "Give the scenario and the Topology the same ranks", "storage_constraint")
    return next((rank for rank in sorted(taken) if not taken[rank].fits_in(devices[rank].storage)), None)


def planner_errors() -> Any:
    """The module of TorchRec that has PlannerError and PlannerErrorType."""
    try:
        from torchrec.distributed.planner import types
    except ImportError as missing:
        raise wrong(f"TorchRec is not here ({missing})", "Install it, or give its classes as `classes`") from missing
    return types
