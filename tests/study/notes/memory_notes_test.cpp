#include "study/notes/memory_notes.h"

#include <doctest/doctest.h>

#include "study/result/case_figures.h"
#include "tests/base/error_text.h"
#include "tests/physics/lab.h"
#include "tests/study/notes/note_named.h"

namespace shardsim::memory_notes_test {
namespace {

using notes_test::note_named;

constexpr std::int64_t kGiBytes = 1LL << 30;

// One table on all eight ranks of the toy cluster, with 16 GiB each.
struct Held {
  Scenario scenario;
  Case item;
  Plan plan;
  CaseResult result;

  explicit Held(const std::string& kernel = "fused", const std::string& dense = "") {
    item.cluster = physics::cluster_spec("toy_2x4.yaml");
    item.cluster.host.memory.reset();
    item.memory_model = physics::named("torchrec");
    item.workload = read_workload(
        parse_yaml("schema: shardsim.workload/1\nname: held\nbatch_per_gpu: 512\n" + dense +
                       "tables:\n  - {name: t, rows: 128000000, dim: 128, kind: pooled, pooling_factor: 2}\n",
                   "test"),
        "");
    plan.placements = {whole_table(0, item.workload.tables[0], Strategy::row_wise, {all_ranks(8)})};
    plan.placements[0].compute_kernel = kernel;
    result.memory_capacity = 16 * kGiBytes;
    result.memory_per_rank.assign(8, 10 * kGiBytes);
    result.memory_profile.ranks.resize(8);
  }

  std::string notes(double peak_gib) {
    result.memory_profile.ranks[3].amounts[MemoryPart::tables] =
        static_cast<std::int64_t>(peak_gib * static_cast<double>(kGiBytes));
    std::string text;
    const PreparedCase prepared(scenario, item, Cluster(item.cluster), plan);
    for (const std::string_view name : {"host_rows", "peak", "activations"})
      for (const std::string& note : note_named(name, {item, &prepared, &result})) text += note + "\n";
    return text;
  }

  Notes host_rows() const {
    const PreparedCase prepared(scenario, item, Cluster(item.cluster), plan);
    return note_named("host_rows", {item, &prepared});
  }
};

}  // namespace

TEST_CASE("a peak beyond what a GPU has, and one that leaves little, are told; a plan that fits is what run calls so") {
  Held held;
  CHECK(held.notes(12).empty());
  CHECK(fits(held.result));
  CHECK(has(held.notes(15.9), "rank 3 is left with 0.10 GiB of the 16 GiB of a GPU"));
  CHECK(fits(held.result));
  CHECK(has(held.notes(17), "rank 3 holds 17.00 GiB, 1.00 more than the 16 GiB of a GPU"));
  CHECK_FALSE(fits(held.result));
  CHECK(bytes_over(memory_need(held.result), held.result.memory_capacity) == kGiBytes);
  held.result.buffers_counted = false;  // the capacity is a limit for rows, and they keep it
  CHECK(fits(held.result));
}

TEST_CASE("what comes on top of a peak is allowed for: fragments of buffers, and the optimizer's first step") {
  Held held;
  MemoryAmounts& amounts = held.result.memory_profile.ranks[3].amounts;
  amounts[MemoryPart::activations] = 10 * kGiBytes;
  CHECK(has(held.notes(4.5), "rank 3 is left with 1.50 GiB"));
  CHECK(has(held.notes(4.5),
            "Fragments that the allocator cannot use may take 1.90 GiB more: it may run out of memory."));
  CHECK(held.notes(4).empty());
  held.item.workload.dense.parameters = Bytes{6 * kGiBytes};
  amounts[MemoryPart::activations] = kGiBytes;
  amounts[MemoryPart::dense] = 6 * kGiBytes;  // and those of tables: 20 GiB in the first step
  CHECK(has(held.notes(2), "first step 11.00: it may run out of memory."));
}

TEST_CASE("what is reserved is told beside what is left") {
  Held held;
  held.item.cluster.gpu.reserved = Bytes{2 * kGiBytes};
  CHECK(room_text(Cluster(held.item.cluster)) == "the 14 GiB of a GPU (of its 16, 2 are reserved)");
}

// 128,000,000 rows of 512 B on two nodes: 30.5 GiB each, and row-wise Adagrad's states beside them.
TEST_CASE("rows in host memory whose size the cluster does not state are told with their bytes") {
  Held held("fused_uvm");
  CHECK(has(held.notes(1), "GiB of the host memory of node 0, and the cluster does not state how much a node has"));
  held.item.cluster.host.memory = Bytes{1LL << 40};
  CHECK(has(held.notes(1), "Rows and optimizer states of table t take"));
  CHECK(has(held.notes(1), "which has 1024 GiB."));
  const Notes rows = held.host_rows();
  REQUIRE(rows.size() == 1);
  CHECK(has(rows[0], "GiB of the host memory of node 0, which has 1024 GiB."));
  CHECK(Held().host_rows().empty());
}

TEST_CASE("activations of layers that are not stated are told as unknown") {
  Held held("fused", "dense: {parameters_bytes: \"100 MB\"}\n");
  CHECK(has(held.notes(1), "How much memory their activations take is unknown"));
}

}  // namespace shardsim::memory_notes_test
