#include "study/import/trace_files.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/base/error_text.h"
#include "tests/program/made_trace.h"

namespace shardsim::trace_files_test {
namespace {

using testing::MadeTrace;

TraceImport import_of(const MadeTrace& trace, TraceQuestion asked = {}) {
  asked.traces = {trace.read()};
  return trace_import(asked, ImportSetting{});
}

bool says(const TraceImport& import, const std::string& text) {
  return std::ranges::any_of(import.setting.notes, [&](const std::string& note) { return has(note, text); });
}

ImportedModel one_table(std::uint64_t rows, double pooling_factor) {
  ImportedModel model{"tables.csv", {ImportedTable{}}, {}, std::nullopt};
  Table& table = model.tables.front().table;
  table.name = "a";
  table.rows = rows;
  table.dim = 64;
  table.kind = TableKind::pooled;
  table.features = {Feature{"a"}};
  table.features.front().pooling_factor = pooling_factor;
  return model;
}

TEST_CASE("of a trace without embeddings it is said that a table stands for them that takes no time") {
  const TraceImport import = import_of({.lookups = false});
  CHECK(says(import, "No kernel of the trace is known as one of a lookup or an update"));
  CHECK(has(import.setting.dense, "lookup: {time: \"0 ns\""));
}

TEST_CASE("tables of a world look up at least what one of its ranks does") {
  // Its rank looks up 16,384 rows of 100,000 x 64 in a step of 1,024 samples per GPU.
  const MadeTrace trace{.world = 8};
  const auto notes = [&](const ImportedModel& tables) {
    TraceQuestion asked;
    asked.tables = &tables;
    asked.tables_file = "tables.csv";
    return import_of(trace, asked);
  };
  CHECK(says(notes(one_table(800'000, 1)), "all 8 ranks together look up 8.19e+03 rows"));
  CHECK_FALSE(says(notes(one_table(800'000, 16)), "ranks together look up"));
  CHECK_FALSE(says(notes(one_table(800'000, 16)), "far less than one of 8 ranks would have"));
  CHECK(says(notes(one_table(80'000'000, 16)), "far less than one of 8 ranks would have"));
}

TEST_CASE("traces of two models are told by what their tables hold, and make no line") {
  MadeTrace other;
  other.lookup_dims = "[[0],[12800000],[0],[0,0],[1],[1],[9],[],[],[9],[],[16384],[8193]]";
  TraceQuestion asked;
  asked.batches = {1024, 2048};
  asked.traces = {MadeTrace{}.read(), MadeTrace{}.read()};
  CHECK_NOTHROW(trace_import(asked, ImportSetting{}));
  asked.traces = {MadeTrace{}.read(), other.read()};
  CHECK(has(error_of([&] { trace_import(asked, ImportSetting{}); }),
            "tables that hold 1.28e+07 numbers, and those of rank0.json in 6.4e+06: these are traces of two models"));
}

TEST_CASE("a batch that a trace does not say is told as taken for it, and nothing is scaled from it") {
  const MadeTrace trace{.shapes = false};
  CHECK(says(import_of(trace), "taken as one of 4,096 samples per GPU, which is a guess"));
  TraceQuestion asked;
  asked.batch = 8192;
  CHECK(says(import_of(trace, asked), "taken as one of 8,192 samples per GPU (--batch). Say another"));
  asked.scale = DenseScale::kernels;
  CHECK(has(error_of([&] { import_of(trace, asked); }), "--scale-dense kernels has nothing to start from"));
  asked.batches = {1024};
  CHECK_FALSE(says(import_of(trace, asked), "does not say its batch"));
}

TEST_CASE("the GPU of a trace names the cluster, or is asked for") {
  const TraceImport import = import_of({.device = "NVIDIA A100-PCIE-40GB", .memory = 42'505'273'344});
  CHECK(import.setting.cluster == "pcie_a100_8x");
  CHECK(says(import, "whose memory is another one"));
  const std::string scenario = model_files(import.model, import.setting).scenario;
  CHECK(has(scenario, "A100-PCIE-40GB"));
  CHECK(has(scenario, "40 GiB"));
  const auto refused = [](const char* device) { return error_of([&] { import_of({.device = device}); }); };
  CHECK(has(refused("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), "parts of a GPU (MIG)"));
  CHECK(has(refused("NVIDIA H100 NVL"), "no shipped cluster has the GPU \"NVIDIA H100 NVL\""));
}

}  // namespace
}  // namespace shardsim::trace_files_test
