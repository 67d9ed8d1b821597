#include <doctest/doctest.h>

#include "plan/torchrec/estimate/shard_estimate.h"
#include "plan/torchrec/estimate/sharding_option.h"

// TorchRec's sharding-stats guide (2026-02-18) works one table out: 80 million rows of 128 fp16 columns, sequence
// output, four features of pooling factors that sum to 6066, batch 2560, row-wise over 96 ranks. The code of TorchRec
// (commit a48cef79) cuts the rows a little differently than the guide.
namespace shardsim::torchrec::worked_example_test {
namespace {

struct Guide {
  TableSpec table;
  Topology topology;
  EstimateSettings settings;

  Guide() {
    table.name = "guide";
    table.rows = 80'000'000;
    table.dim = 128;
    table.element_bytes = 2;
    table.pooled = false;
    table.pooling_factors = {2000, 2000, 2000, 66};
    table.optimizer = Optimizer::rowwise_adagrad;
    topology.world_size = 96;
    topology.local_world_size = 8;
    set_capacity(topology, 0, 0);
    settings.batch_size = 2560;
  }

  ShardingOption option() const {
    return estimate_option(table, 0, ShardingType::row_wise, ComputeKernel::fused, topology, settings);
  }
};

}  // namespace

TEST_CASE("the guide's table as the code estimates it, to the byte") {
  const ShardingOption option = Guide().option();
  REQUIRE(option.runs.size() == 2);
  CHECK(option.runs[0].count == 95);
  CHECK(option.runs[0].rows == 833'334);
  CHECK(option.runs[1].rows == 833'270);
  CHECK(option.runs[0].input_bytes == 124'231'680);
  CHECK(option.runs[0].output_bytes == 3'975'413'760);
  CHECK(option.runs[0].storage.hbm == 4'314'645'612);
  CHECK(option.runs[1].storage.hbm == 4'314'629'100);
  CHECK(option.total.hbm == 414'205'962'240);
  CHECK(option.total.ddr == 0);
}

TEST_CASE("each step of the guide's figure") {
  const Guide guide;
  const TableStorage stored = table_storage(guide.table, ComputeKernel::fused, Device::cuda, {});
  CHECK(stored.raw.hbm == 20'480'000'000);
  const BatchLoad load = batch_load(guide.table, guide.settings);
  CHECK(inputs_per_shard(load, ShardingType::row_wise, guide.topology) == 161'760);
  const ShardStorage shard = shard_storage(guide.table, stored, ShardingType::row_wise, ComputeKernel::fused,
                                           guide.topology, guide.settings, 833'334, 128, load);
  CHECK(shard.tensor.hbm == 213'333'504);
  CHECK(shard.optimizer.hbm == 1'666'668);
  CHECK(shard.cache_aux == 0);
  CHECK(shard.resident().hbm == 215'000'172);
  CHECK(shard.buffers.hbm == 4'099'645'440);
}

TEST_CASE("the guide's own figures, where it differs from the code") {
  Guide guide;
  guide.settings.rules.rw_rows = true;
  ShardingOption option = guide.option();
  REQUIRE(option.runs.size() == 1);
  CHECK(option.runs[0].rows == 833'333);
  CHECK(option.runs[0].storage.hbm == 4'314'645'354);
  CHECK(option.total.hbm == 414'205'953'984);
  guide.settings.rules.ec_metadata_bytes = true;
  CHECK(guide.option().runs[0].storage.hbm == 4'318'004'728);
  guide.settings.rules.rw_rows = false;
  option = guide.option();
  CHECK(option.runs[0].storage.hbm == 4'318'004'990);
  CHECK(option.runs[1].storage.hbm == 4'317'988'220);
  CHECK(option.total.hbm == 414'528'462'270);
}

TEST_CASE("the guide's table in the other pipelines") {
  Guide guide;
  const auto hbm = [&](Pipeline pipeline, bool at_peak) {
    guide.settings.pipeline = pipeline;
    guide.settings.run_embedding_at_peak_memory = at_peak;
    return guide.option().runs[0].storage.hbm;
  };
  CHECK(hbm(Pipeline::train_sparse_dist, false) == 463'463'532);
  CHECK(hbm(Pipeline::train_sparse_dist, true) == 4'438'877'292);
  CHECK(hbm(Pipeline::train_prefetch_sparse_dist, false) == 587'695'212);
  CHECK(hbm(Pipeline::train_prefetch_sparse_dist, true) == 4'563'108'972);
}

TEST_CASE("milliseconds of the guide's shards with TorchRec's default rates") {
  const Perf perf = Guide().option().runs[1].perf;
  CHECK(perf.fwd_compute == 8.384041164232336);
  CHECK(perf.fwd_comms == 296.19140625);
  CHECK(perf.bwd_compute == 16.768082328464672);
  CHECK(perf.bwd_comms == 306.3244873863399);
  CHECK(perf.total() == 627.6680171290369);
}

}  // namespace shardsim::torchrec::worked_example_test
