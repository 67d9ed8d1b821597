"""The parts that TorchRec's planner takes: what rates a proposal, and what tells of the plan that it chose."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

from shardsim import _core
from shardsim.errors import InfeasibleError
from shardsim.scenario import Scenario
from shardsim.tasks import Evaluator
from shardsim.torchrec.model import module_path, names_of, tables_of, word, wrong
from shardsim.torchrec.plans import cache_map, from_sharding_plan


def option_entry(option: Any, placement: Callable[[int], str]) -> dict[str, Any]:
    ranks = [int(shard.rank) for shard in option.shards]
    entry: dict[str, Any] = {"sharding_type": word(option.sharding_type),
                             "compute_kernel": word(option.compute_kernel), "ranks": ranks, **cache_map(option)}
    if entry["sharding_type"] != "data_parallel":
        entry["shards"] = [
            {"shard_offsets": list(shard.offset), "shard_sizes": list(shard.size), "placement": placement(rank)}
            for shard, rank in zip(option.shards, ranks)
        ]
    return entry


class PerfModel:
    """TorchRec's PerfModel: rates a placed proposal by the milliseconds of its simulated iteration.

    EmbeddingShardingPlanner(..., performance_model=shardsim.torchrec.PerfModel(scenario, model))

    Its planner keeps the proposal with the lowest rating; one that does not fit in memory here is rated infinite.
    """

    def __init__(self, scenario: Scenario, model: Any, case: str = "model") -> None:
        tables = tables_of(model)
        self._names = {(table.path, table.name): name for name, table in zip(names_of(tables), tables)}
        self._pooled = {(table.path, table.name): table.pooled for table in tables}
        with scenario.told_by_path():
            self._rater = _core.Rater(scenario.request(), case)
            self._ranks_per_node = self._rater.ranks_per_node()

    def _placement(self, rank: int) -> str:
        return f"rank:{rank}/cuda:{rank % self._ranks_per_node}"

    def plan_of(self, options: Iterable[Any]) -> dict[str, Any]:
        """The plan that these ShardingOptions, with a rank in each shard, stand for."""
        modules: dict[str, dict[str, Any]] = {}
        for option in options:
            key = (option.path, option.name)
            if key not in self._names:
                raise wrong(f"the model has no table {option.name!r} in a module {option.path!r}",
                             "Give the model that the planner plans for", "proposal")
            modules.setdefault(module_path(option.path, self._pooled[key]), {})[self._names[key]] = option_entry(
                option, self._placement)
        return {"plan": modules}

    def rate(self, plan: list[Any]) -> float:
        """Milliseconds of the iteration; infinite where the plan does not fit in memory."""
        try:
            return self._rater.iteration_ms(json.dumps(self.plan_of(plan)))
        except InfeasibleError:
            return float("inf")


class Stats:
    """TorchRec's Stats: prints what shardsim says of the plan that TorchRec's planner has chosen, beside its estimate.

    EmbeddingShardingPlanner(..., stats=[EmbeddingStats(), shardsim.torchrec.Stats(scenario, model)])

    It never makes a planner fail: what goes wrong here is printed in place of the times.
    """

    def __init__(self, scenario: Scenario, model: Any, case: str = "model",
                 out: Callable[[str], object] | None = None) -> None:
        self._scenario, self._model, self._case = scenario, model, case
        self._out = out if out is not None else lambda text: print(text, file=sys.stderr)

    def log(self, sharding_plan: Any, topology: Any = None, batch_size: int = 0, storage_reservation: Any = None,
            num_proposals: int = 0, num_plans: int = 0, run_time: float = 0, best_plan: Any = None,
            constraints: Any = None, sharders: Any = None, enumerator: Any = None, debug: bool = False,
            debug_stats: Any = None) -> None:
        """As TorchRec's planner calls it, once at its end."""
        try:
            self._out(self._text(sharding_plan, best_plan))
        except Exception as error:  # a job never ends because of a table about it
            self._out(f"shardsim: no simulation of this plan: {error}")

    def _text(self, sharding_plan: Any, best_plan: Any) -> str:
        evaluator = Evaluator(self._scenario, self._case, from_sharding_plan(sharding_plan, self._model))
        ours = evaluator.simulate()
        lines = [f"shardsim: {ours.iteration_ms:.3f} ms an iteration, {ours.samples_per_s:,.0f} samples/s"]
        if ours.interval is not None:
            lines.append(f"shardsim: {100 * ours.interval.coverage:.0f} % lie between {ours.interval.low_ms:.3f} and "
                         f"{ours.interval.high_ms:.3f} ms")
        estimate = _critical_path_ms(best_plan)
        if estimate is not None:
            lines.append(f"TorchRec:  {estimate:.3f} ms on its slowest rank, embeddings alone")
        lines.append(f"shardsim: {ours.limited_by} limits it, {ours.limit_share_pct:.0f} % of the time; memory "
                     f"{ours.peak_bytes / 2**30:.2f} of {ours.memory_capacity_bytes / 2**30:.2f} GiB")
        return "\n".join(lines)


def _critical_path_ms(best_plan: Any) -> float | None:
    """The largest sum of TorchRec's own estimates over the shards of a rank."""
    ranks: dict[int, float] = {}
    for option in best_plan or []:
        for shard in option.shards:
            total = getattr(getattr(shard, "perf", None), "total", None)
            if total is None or shard.rank is None:
                return None
            ranks[shard.rank] = ranks.get(shard.rank, 0.0) + float(total)
    return max(ranks.values(), default=None)
