"""Stand-ins of the classes of TorchRec and PyTorch that shardsim.torchrec touches, for tests where neither is installed.

They have the attributes, and the calls, of torchrec/modules/embedding_configs.py, modules/embedding_modules.py,
distributed/types.py and distributed/planner/types.py (pytorch/torchrec), and no behaviour of their own.
"""

import enum
from dataclasses import dataclass, field
from typing import Any, Optional


class DataType(enum.Enum):
    FP32 = "FP32"
    FP16 = "FP16"


class PoolingType(enum.Enum):
    SUM = "SUM"
    MEAN = "MEAN"


@dataclass
class EmbeddingBagConfig:
    num_embeddings: int
    embedding_dim: int
    name: str
    feature_names: list
    data_type: DataType = DataType.FP32
    pooling: PoolingType = PoolingType.SUM


@dataclass
class EmbeddingConfig:
    num_embeddings: int
    embedding_dim: int
    name: str
    feature_names: list
    data_type: DataType = DataType.FP32


class Module:
    """A torch.nn.Module as far as its tree of modules."""

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, child in vars(self).items():
            if isinstance(child, Module):
                yield from child.named_modules(f"{prefix}.{name}" if prefix else name)


class EmbeddingBagCollection(Module):
    def __init__(self, tables, is_weighted=False):
        self._configs, self._weighted = tables, is_weighted

    def embedding_bag_configs(self):
        return self._configs

    def is_weighted(self):
        return self._weighted


class EmbeddingCollection(Module):
    def __init__(self, tables):
        self._configs = tables

    def embedding_configs(self):
        return self._configs


@dataclass
class CacheParams:
    algorithm: Optional[Any] = None
    load_factor: Optional[float] = None
    reserved_memory: Optional[float] = None
    precision: Optional[Any] = None
    prefetch_pipeline: Optional[bool] = None
    stats: Optional[Any] = None


@dataclass
class KeyValueParams:
    ssd_storage_directory: Optional[str] = None
    use_passed_in_path: bool = True
    l2_cache_size: Optional[int] = None
    max_l1_cache_size: Optional[int] = None


@dataclass
class ParameterConstraints:
    sharding_types: Optional[list] = None
    compute_kernels: Optional[list] = None
    min_partition: Optional[int] = None
    pooling_factors: list = field(default_factory=lambda: [1.0])
    num_poolings: Optional[list] = None
    batch_sizes: Optional[list] = None
    is_weighted: bool = False
    cache_params: Optional[CacheParams] = None
    enforce_hbm: Optional[bool] = None
    stochastic_rounding: Optional[bool] = None
    bounds_check_mode: Optional[Any] = None
    feature_names: Optional[list] = None
    output_dtype: Optional[DataType] = None
    device_group: Optional[str] = None
    key_value_params: Optional[Any] = None
    use_virtual_table: bool = False


@dataclass
class ShardMetadata:
    shard_offsets: list
    shard_sizes: list
    placement: Any = None


@dataclass
class EnumerableShardingSpec:
    shards: list


@dataclass
class ParameterSharding:
    sharding_type: str
    compute_kernel: str
    ranks: Optional[list] = None
    sharding_spec: Optional[EnumerableShardingSpec] = None
    cache_params: Optional[CacheParams] = None
    key_value_params: Optional[Any] = None


class EmbeddingModuleShardingPlan(dict):
    pass


@dataclass
class ShardingPlan:
    plan: dict


@dataclass
class Perf:
    total: float


@dataclass
class Shard:
    size: list
    offset: list
    rank: Optional[int] = None
    perf: Optional[Perf] = None
    storage: Optional[Any] = None


@dataclass
class ShardingOption:
    name: str
    path: str
    sharding_type: str
    compute_kernel: str
    shards: list
    cache_params: Optional[CacheParams] = None
