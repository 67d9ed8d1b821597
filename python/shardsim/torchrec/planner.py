"""The parts that TorchRec's planner takes: what rates a proposal, and what tells of the plan that it chose."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

from shardsim import _core, arguments
from shardsim.errors import InfeasibleError
from shardsim.scenario import Scenario
from shardsim.tasks import Evaluator
from shardsim.torchrec.model import module_path, names_of, scenario_of, tables_of, word, wrong
from shardsim.torchrec.plans import cache_map, plan_of_shardings, store_map


@functools.lru_cache(maxsize=64)
def _quoted(value: Any) -> str:
    return json.dumps(word(value))


@functools.lru_cache(maxsize=65_536)
def _shard_text(row: int, column: int, rows: int, columns: int, rank: int, ranks_per_node: int) -> str:
    return (f'{{"shard_offsets": [{row:d}, {column:d}], "shard_sizes": [{rows:d}, {columns:d}], '
            f'"placement": "rank:{rank}/cuda:{rank % ranks_per_node}"}}')


def _entry_text(option: Any, ranks_per_node: int) -> str:
    """The entry of a ShardingOption in a plan. Written here and not by json: a planner asks for 10,000 plans."""
    kind = _quoted(option.sharding_type)
    caches = {}
    if getattr(option, "cache_params", None) is not None:
        caches.update(cache_map(option))
    if getattr(option, "key_value_params", None) is not None:
        caches.update(store_map(option))
    parts = [f'"sharding_type": {kind}, "compute_kernel": {_quoted(option.compute_kernel)}',
             f'"ranks": {[int(shard.rank) for shard in option.shards]}']
    if caches:
        parts.append(json.dumps(caches)[1:-1])
    if kind != '"data_parallel"':
        shards = [_shard_text(*shard.offset, *shard.size, int(shard.rank), ranks_per_node) for shard in option.shards]
        parts.append('"shards": [' + ", ".join(shards) + "]")
    return "{" + ", ".join(parts) + "}"


class PerfModel:
    """TorchRec's PerfModel: rates a placed proposal by the milliseconds of its simulated iteration.

    EmbeddingShardingPlanner(..., performance_model=shardsim.torchrec.PerfModel(scenario, model))

    Its planner keeps the proposal with the lowest rating; one that does not fit in memory here is rated infinite.
    """

    def __init__(self, scenario: Scenario, model: Any, case: str = "model") -> None:
        tables = tables_of(model)
        self._tables = {(table.path, table.name): (module_path(table.path, table.pooled), name)
                        for name, table in zip(names_of(tables), tables)}
        of = scenario_of(scenario)
        with of.told_by_path():
            self._rater = _core.Rater(of.request(), arguments.case(case))
            self._ranks_per_node = self._rater.ranks_per_node()

    def _entries(self, options: Iterable[Any]) -> list[tuple[str, str, str]]:
        made = []
        for option in options:
            known = self._tables.get((option.path, option.name))
            if known is None:
                raise wrong(f"the model has no table {option.name!r} in a module {option.path!r}",
                            "Give the model that the planner plans for", "proposal")
            try:
                made.append((*known, _entry_text(option, self._ranks_per_node)))
            except TypeError:
                raise wrong(f"a shard of table {option.name!r} has no rank", "Rate a proposal that a partitioner has placed",
                            "proposal") from None
        return made

    def plan_of(self, options: Iterable[Any]) -> dict[str, Any]:
        """The plan that these ShardingOptions, with a rank in each shard, stand for."""
        modules: dict[str, dict[str, Any]] = {}
        for module, table, entry in self._entries(options):
            modules.setdefault(module, {})[table] = json.loads(entry)
        return {"plan": modules}

    def rate(self, plan: list[Any]) -> float:
        """Milliseconds of the iteration; infinite where the plan does not fit in memory."""
        try:
            return self._rater.iteration_ms(self._entries(plan))
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
        evaluator = Evaluator(self._scenario, self._case, plan_of_shardings(sharding_plan, self._model)[0])
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
