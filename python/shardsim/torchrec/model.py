"""The tables of a live model, and what they are called in a workload and in plans."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardsim import arguments
from shardsim.errors import InputError
from shardsim.scenario import Scenario


@dataclass(frozen=True)
class ModelTable:
    path: str  # of its module
    pooled: bool
    weighted: bool
    config: Any

    @property
    def name(self) -> str:
        return str(self.config.name)


def wrong(what: str, remedy: str, source: str = "") -> InputError:
    start = f"{source}: " if source else ""
    return InputError(f"{start}{what}. {remedy}.", source)


def _is_collection(module: Any) -> bool:
    return hasattr(module, "embedding_bag_configs") or hasattr(module, "embedding_configs")


def tables_of(model: Any) -> list[ModelTable]:
    """The tables of every EmbeddingBagCollection and EmbeddingCollection of a model, with their modules' paths."""
    if not hasattr(model, "named_modules"):
        raise wrong(f"{arguments.kind_of(model)} has no named_modules()", "Give the model before it is sharded", "model")
    found: list[ModelTable] = []
    at: dict[str, Any] = {}
    for path, module in model.named_modules():
        if at.setdefault(path, module) is not module and _is_collection(module) and _is_collection(at[path]):
            raise wrong(f"two modules have the path {path!r}, and a plan could not tell them apart",
                        "Give the modules paths of their own", "model")
        if hasattr(module, "embedding_bag_configs"):
            weighted = bool(module.is_weighted()) if hasattr(module, "is_weighted") else False
            found += [ModelTable(path, True, weighted, config) for config in module.embedding_bag_configs()]
        elif hasattr(module, "embedding_configs"):
            found += [ModelTable(path, False, False, config) for config in module.embedding_configs()]
    if not found and any(map(_is_collection, at.values())):
        raise wrong("the collections of the model hold no table", "Give the model with its tables", "model")
    if not found:
        raise wrong("the model holds no EmbeddingBagCollection and no EmbeddingCollection",
                    "Give the model before it is sharded", "model")
    seen: set[tuple[str, str]] = set()
    for table in found:
        if (table.path, table.name) in seen:
            raise wrong(f"two tables are {table.name!r} of the module {table.path!r}, and a plan could not tell them apart",
                         "Give the tables names of their own", "model")
        seen.add((table.path, table.name))
    return found


def word(value: Any) -> str:
    """The word for a value of an enumeration of TorchRec, or for its text: "fp16", "sum"."""
    return str(getattr(value, "value", value)).lower()


def module_path(path: str, pooled: bool) -> str:
    """The path of a module in plans of this workload, which has none for the model itself."""
    return path or ("ebc" if pooled else "ec")


def names_of(tables: Sequence[ModelTable]) -> list[str]:
    """The name of each table in the workload: its own, or PATH.NAME where several modules have one of that name."""
    count: dict[str, int] = {}
    for table in tables:
        count[table.name] = count.get(table.name, 0) + 1
    return [table.name if count[table.name] == 1 else f"{table.path}.{table.name}" for table in tables]


def load_factor(of: Any, where: str = "cache_params") -> float | None:
    """The load factor of constraints, or of the sharding of a table. Errors: InputError at `where` for what is no number."""
    factor = getattr(getattr(of, "cache_params", None), "load_factor", None)
    return None if factor is None else number(factor, f"{where}: load_factor", "Give a share above 0, and 1 at most")


STORE_SIZES = ("max_l1_cache_size", "l2_cache_size")  # of KeyValueParams, in units of 2^20 and 2^30 bytes


def store_sizes(of: Any, where: str = "key_value_params") -> dict[str, int | float]:
    """The sizes of the caches of a table in a key-value store, as its KeyValueParams have them.

    Errors: InputError at `where` for what is no number.
    """
    params = getattr(of, "key_value_params", None)
    sizes = {key: number(value, f"{where}: {key}", "Give the size as TorchRec has it")
             for key in STORE_SIZES if (value := getattr(params, key, None)) is not None}
    return {key: int(value) if value == int(value) else value for key, value in sizes.items()}


def number(value: Any, what: str, remedy: str) -> float:
    """A finite one, also of numpy."""
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise wrong(f"{value!r} is no finite number", remedy, what)


def scenario_of(given: Any) -> Scenario:
    return given if isinstance(given, Scenario) else Scenario(given)


def says(value: Any) -> bool:
    """False for the values by which a dataclass says nothing."""
    return value is not None and value is not False and not (isinstance(value, (Mapping, Sequence)) and not value)
