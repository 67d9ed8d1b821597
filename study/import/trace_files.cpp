#include "study/import/trace_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "study/import/gpu_cluster.h"
#include "study/import/sorted_traces.h"
#include "study/scenario/traced_dense.h"

namespace shardsim {
namespace {

constexpr std::uint64_t kUnknownRows = 1'000'000;
constexpr std::int64_t kUnknownDim = 64;

// A part of a GPU has neither its memory nor its rates.
[[noreturn]] void refuse_device(const TracedModel& traced) {
  constexpr const char* kRemedy = "Name a cluster with --cluster: a shipped one, or a file with this GPU";
  if (traced.device.empty()) throw input_error({traced.path}, "the trace does not say which GPU it is of", kRemedy);
  const bool part = traced.device.find(" MIG ") != std::string::npos;
  throw input_error({traced.path},
                    fmt::format("{} {}",
                                part ? "no shipped cluster has parts of a GPU (MIG), as the trace has it:"
                                     : "no shipped cluster has the GPU",
                                excerpt(traced.device)),
                    kRemedy);
}

void name_cluster(const TracedModel& traced, ImportSetting& setting) {
  if (!setting.cluster_assumed) return;
  const std::optional<GpuCluster> found = gpu_cluster(traced.device, traced.device_memory);
  if (!found) refuse_device(traced);
  setting.cluster = found->cluster;
  setting.cluster_assumed = false;
  setting.gpu_keys = found->keys;
  setting.notes.push_back(
      fmt::format("The GPU is {}, so the cluster is {} (--cluster).", printable(traced.device), setting.cluster));
  if (!found->said.empty()) setting.notes.push_back(found->said);
}

ImportedTable unknown_table() {
  ImportedTable imported;
  Table& table = imported.table;
  table.name = "unknown";
  table.rows = kUnknownRows;
  table.dim = kUnknownDim;
  table.kind = TableKind::pooled;
  table.average_length = 1;
  table.features = {Feature{"unknown"}};
  return imported;
}

void refuse_other_batch(const std::vector<TracedBatch>& batches, const TraceQuestion& asked, std::int64_t batch) {
  const TracedBatch& only = batches.front();
  if (batches.size() > 1 || only.batch == 0 || only.batch == batch || asked.scale != DenseScale::none) return;
  throw input_error({only.traced->path},
                    fmt::format("the trace is of a batch of {} samples per GPU, and the scenario is to have {}",
                                with_thousands(only.batch), with_thousands(batch)),
                    "Leave --batch out, add a trace of another batch, or say with --scale-dense how the dense part "
                    "follows from the batch");
}

// A trace without shapes does not say how many samples its step had: those that are asked for, as nobody says anything
// else. From these nothing can be scaled to themselves.
void take_as_traced(TracedBatch& of, const TraceQuestion& asked, std::int64_t batch, ImportSetting& setting) {
  if (asked.scale == DenseScale::kernels)
    throw input_error({of.traced->path},
                      "the trace does not say its batch, so --scale-dense kernels has nothing to start from",
                      "Say the samples per GPU of the trace with --traced-batch, too");
  of.batch = batch;
  setting.notes.push_back(fmt::format(
      "The trace does not say its batch: its step is taken as one of {} samples per GPU{}. Say another with "
      "--traced-batch.",
      with_thousands(batch), asked.batch ? " (--batch)" : ", which is a guess"));
}

bool has_tables(const TraceQuestion& asked) {
  return asked.tables != nullptr || asked.tables_of_trace != TraceQuestion::Shapes::none;
}

// True where all ranks of the trace are simulated, and with them what they exchange.
bool is_world(const TraceQuestion& asked, const TracedModel& traced) {
  return has_tables(asked) && traced.world_size > 1 && asked.tables_of_trace != TraceQuestion::Shapes::rank;
}

double values_of(const ImportedModel& model) {
  double values = 0;
  for (const ImportedTable& each : model.tables)
    values += static_cast<double>(each.table.rows) * static_cast<double>(each.table.dim);
  return values;
}

double lookups_a_sample(const ImportedModel& model) {
  double lookups = 0;
  for (const ImportedTable& each : model.tables) {
    if (each.table.kind == TableKind::sequence) lookups += each.table.average_length;
    for (const Feature& feature : each.table.features)
      if (each.table.kind == TableKind::pooled) lookups += feature.pooling_factor * feature.num_poolings;
  }
  return lookups;
}

// The shapes say how many numbers the tables of this rank hold. Of a rank that stands alone the list has to have as
// many, and of one of several at least those; a factor of two allows for tables that several operators share.
void check_fit(const TracedModel& traced, const TraceQuestion& asked, ImportSetting& setting) {
  constexpr double kFactor = 2, kNoted = 0.05;
  double traced_lookups = 0;
  for (const TracedTables& each : traced.shapes.tables) traced_lookups += static_cast<double>(each.lookups);
  const double values = traced_values(traced);
  if (values <= 0) return;
  const double given = values_of(*asked.tables);
  const bool alone = traced.world_size == 1;
  const auto ranks = static_cast<double>(traced.world_size);
  if (given * kFactor < values || (alone && given > kFactor * values))
    throw input_error({asked.tables_file},
                      fmt::format("its tables hold {:.3g} numbers, and those that rank {} of the trace looks up {:.3g}",
                                  given, traced.rank, values),
                      "Give the tables of the model that was traced");
  if (alone && std::abs(given / values - 1) > kNoted)
    setting.notes.push_back(
        fmt::format("The tables hold {:.3g} numbers, and the trace looks up some with {:.3g}.", given, values));
  if (!alone && given > kFactor * ranks * values)
    setting.notes.push_back(
        fmt::format("The tables hold {:.3g} numbers, and those that rank {} of the trace looks up {:.3g}, which is far "
                    "less than one of {} ranks would have of them: check that they are the tables of this model.",
                    given, traced.rank, values, traced.world_size));
  // One rank looks rows up for the samples of all ranks.
  const double asked_lookups = lookups_a_sample(*asked.tables) * static_cast<double>(traced.shapes.batch) * ranks;
  if (!alone && traced.shapes.batch > 0 && asked_lookups < (1 - kNoted) * traced_lookups)
    setting.notes.push_back(
        fmt::format("By their pooling factors and lengths all {} ranks together look up {:.3g} rows in a step, and "
                    "rank {} of the trace alone {:.3g}: correct them, for they decide lookups and updates.",
                    traced.world_size, asked_lookups, traced.rank, traced_lookups));
  if (alone && traced.shapes.batch > 0 && std::abs(asked_lookups / traced_lookups - 1) > kNoted)
    setting.notes.push_back(
        fmt::format("By their pooling factors and lengths a step looks up {:.3g} rows, and the traced one {:.3g}: "
                    "correct them, for they decide lookups and updates.",
                    asked_lookups, traced_lookups));
}

// Returns of a sum over `count` the part of the one with this number, so that the parts add up.
std::int64_t share_of(std::int64_t sum, std::int64_t count, std::int64_t number) {
  return sum / count + (number < sum % count ? 1 : 0);
}

// One table for each that an operator looks up, as if they were alike, and as many for each other rank of the world.
void add_tables(const TracedTables& of, std::int64_t batch, std::int64_t ranks, std::size_t call,
                ImportedModel& model) {
  constexpr std::int64_t kColumns = 4;  // that tables are multiples of
  const bool fours = of.columns % kColumns == 0;
  for (std::int64_t i = 0; i < of.tables * ranks; ++i) {
    const std::int64_t number = i % of.tables;
    ImportedTable imported;
    Table& table = imported.table;
    table.name = fmt::format("call{}_table{}", call, i);
    table.rows = static_cast<std::uint64_t>(std::max<std::int64_t>(1, share_of(of.rows, of.tables, number)));
    table.dim =
        fours ? kColumns * share_of(of.columns / kColumns, of.tables, number) : share_of(of.columns, of.tables, number);
    table.dim = std::max<std::int64_t>(1, table.dim);
    table.dtype = of.half ? Dtype::fp16 : Dtype::fp32;
    table.kind = of.sequence ? TableKind::sequence : TableKind::pooled;
    const double samples = static_cast<double>(of.sequence ? batch : of.bags * of.tables);
    const double length = static_cast<double>(of.lookups) / std::max(1.0, samples);
    Feature feature{table.name};
    feature.pooling_factor = of.sequence ? 1 : length;
    feature.weighted = of.weighted;
    table.average_length = of.sequence ? length : 1;
    table.features = {feature};
    imported.assumed = {"access"};
    model.tables.push_back(std::move(imported));
  }
}

ImportedModel tables_of_trace(const TracedModel& traced, std::int64_t batch, std::int64_t ranks,
                              ImportSetting& setting) {
  constexpr const char* kRemedy = "Profile with record_shapes=True, or give the tables with --tables";
  if (traced.shapes.tables.empty())
    throw input_error({traced.path}, "the trace has no shapes of lookups, so it does not say which tables there are",
                      kRemedy);
  ImportedModel model;
  model.source = traced.path;
  std::int64_t tables = 0, rows = 0;
  for (std::size_t call = 0; call < traced.shapes.tables.size(); ++call) {
    const TracedTables& of = traced.shapes.tables[call];
    if (of.rows < 1 || of.columns < 1)
      throw input_error({traced.path}, "the shapes of its lookups do not say how many rows and columns there are",
                        kRemedy);
    add_tables(of, batch, ranks, call, model);
    tables += of.tables;
    rows += of.rows;
  }
  setting.notes.push_back(fmt::format(
      "The tables are those of the shapes in the trace: {} calls look up {} with {} rows together. Tables of one "
      "call are as if they were alike{}.",
      traced.shapes.tables.size(), counted(static_cast<std::size_t>(tables), "table"), with_thousands(rows),
      ranks > 1 ? fmt::format(", and each of {} ranks as if it held as many", ranks) : ""));
  if (traced.shapes.not_understood > 0)
    setting.notes.push_back(fmt::format("The shapes of {} are not understood, and their tables are missing.",
                                        counted(traced.shapes.not_understood, "lookup")));
  check_tables(model);
  return model;
}

void say_what_was_read(const TracedModel& traced, const TraceQuestion& asked, ImportSetting& setting) {
  setting.notes.push_back(fmt::format("The step is the median of {} ({:.3f} to {:.3f} ms); {} left out as warm-up.",
                                      counted(traced.steps, "step"), traced.shortest.ms(), traced.longest.ms(),
                                      counted(traced.left_out, "step")));
  for (const std::string& note : traced.notes) setting.notes.push_back(note);
  std::string names;
  for (const auto& [name, time] : traced.largest)
    names += fmt::format("{}{} {:.3f} ms", names.empty() ? "" : "; ", excerpt(name), time.ms());
  if (!names.empty())
    setting.notes.push_back("Kernels that are no embedding's count as dense, most of all " + names + ".");
  const bool simulated = has_tables(asked);
  const auto kernels = [&](TracedStep::Phase phase) {
    const auto found = traced.step.parts.find(phase);
    return found == traced.step.parts.end() ? 0 : found->second.compute.ms();
  };
  if (simulated) {
    setting.notes.push_back(
        fmt::format("The dense part and the host are as measured; lookups and updates{} are simulated. Measured were "
                    "{:.3f} ms of lookups and {:.3f} ms of updates.",
                    is_world(asked, traced) ? fmt::format(" (and exchanges of {} ranks)", traced.world_size) : "",
                    kernels(TracedStep::Phase::lookup), kernels(TracedStep::Phase::update)));
    return;
  }
  setting.notes.emplace_back(
      "The dense part, the host, lookups, updates and exchanges are as measured: other GPUs, tables or plans do not "
      "change them.");
  if (traced.lookup_kernels + traced.update_kernels == 0) {
    setting.notes.emplace_back(
        "No kernel of the trace is known as one of a lookup or an update: if the step has any, they count as "
        "dense. One table stands for tables that nobody named, and takes no time.");
    return;
  }
  setting.notes.push_back(fmt::format(
      "The tables are unknown: the trace has {} and {}, and {}. Give them with --tables{}; until then one table stands "
      "for all.",
      counted(traced.lookup_kernels, "kernel") + " of lookups",
      counted(traced.update_kernels, "kernel") + " of updates",
      traced.world_size > 1 ? fmt::format("a world of {} ranks", traced.world_size) : std::string("one rank"),
      traced.shapes.tables.empty() ? "" : ", or take what the shapes in the trace tell with --tables-of-trace"));
}

// Says what a batch between or beyond the traced ones is made of; ascending.
void say_how_it_follows(const std::vector<TracedBatch>& batches, std::int64_t batch, ImportSetting& setting) {
  if (batches.size() < 2) return;
  const auto next = std::ranges::lower_bound(batches, batch, {}, &TracedBatch::batch);
  if (next != batches.end() && next->batch == batch) return;
  const std::string of = fmt::format("No trace is of a batch of {} samples: ", with_thousands(batch));
  if (next != batches.begin() && next != batches.end()) {
    setting.notes.push_back(
        of + fmt::format("its kernels, copies and exchanges, and the host where that is the limit of both, are on "
                         "lines between the steps of {} and of {} samples. All parts wait for the host as long as "
                         "that leaves.",
                         with_thousands((next - 1)->batch), with_thousands(next->batch)));
    return;
  }
  const TracedBatch& last = next == batches.end() ? batches.back() : batches.front();
  setting.notes.push_back(
      of + fmt::format("its kernels, copies and exchanges go on from the step of {} samples as a line through all "
                       "traces does, and the host needs what it needs there.",
                       with_thousands(last.batch)));
}

// The cluster: a rank that stands alone, or the world of the trace.
void set_world(const TracedModel& traced, bool simulated, ImportSetting& setting) {
  setting.alone = !simulated || traced.world_size == 1;
  if (setting.alone) {
    setting.gpus = 1;
    if (!setting.nodes) setting.nodes = 1;
    return;
  }
  // As many GPUs of a host as divide the ranks among hosts that are alike.
  const HostShape host = host_shape(setting);
  std::int64_t per_host = std::min(host.gpus, traced.world_size);
  while (traced.world_size % per_host != 0) --per_host;
  const bool in_domains = host.domain > host.gpus;
  if (per_host < host.gpus || (in_domains && per_host == traced.world_size)) {
    setting.gpus = per_host;
  } else if (in_domains && traced.world_size < host.domain) {
    setting.domain = traced.world_size;
  }
  if (!setting.nodes) setting.nodes = traced.world_size / per_host;
}

}  // namespace

TraceImport trace_import(const TraceQuestion& asked, ImportSetting setting) {
  TraceImport result;
  std::vector<TracedBatch> batches = sorted_traces(asked, setting);
  const std::int64_t first = batches.front().batch;
  const std::int64_t batch = asked.batch ? *asked.batch : first > 0 ? first : setting.batch_per_gpu;
  setting.batch_assumed = false;  // told here, where it is
  setting.batch_per_gpu = batch;
  if (first == 0) take_as_traced(batches.front(), asked, batch, setting);
  refuse_other_batch(batches, asked, batch);
  const TracedBatch& nearest =
      *std::ranges::min_element(batches, {}, [&](const TracedBatch& each) { return std::abs(each.batch - batch); });
  const TracedModel& traced = *nearest.traced;
  const bool tables = has_tables(asked);
  if (tables && traced.lookup_kernels == 0)
    throw input_error({traced.path}, "tables are asked for, but no lookup is in the trace",
                      "Leave the option out, or give a trace of a step with embeddings");
  const bool simulated = is_world(asked, traced);
  if (simulated && traced.lost_exchanges > 0)
    throw input_error(
        {traced.path},
        fmt::format("exchanges are to be simulated, and {} that the host launches in the step {} not in the "
                    "trace: their time cannot be told from waiting for the host, which stays as measured",
                    counted(traced.lost_exchanges, "collective"), traced.lost_exchanges == 1 ? "is" : "are"),
        "Give a trace with them, or leave the tables out");
  name_cluster(traced, setting);
  if (asked.tables != nullptr) check_fit(traced, asked, setting);
  result.model = asked.tables != nullptr ? *asked.tables
                 : tables ? tables_of_trace(traced, nearest.batch, simulated ? traced.world_size : 1, setting)
                          : ImportedModel{traced.path, {unknown_table()}, {}, std::nullopt};
  result.model.source = traced.path;
  set_world(traced, simulated, setting);
  // A rank that stands alone looks its tables up for the samples of all.
  const std::int64_t ranks = asked.tables_of_trace == TraceQuestion::Shapes::rank ? traced.world_size : 1;
  for (TracedBatch& each : batches) each.batch *= ranks;
  setting.batch_per_gpu = batch * ranks;
  if (tables && !simulated && !asked.planner_stated) {
    setting.planner = "table_wise";  // one GPU replicates nothing
    setting.notes.emplace_back("The planner is table_wise, for on one GPU rows are never replicated (--planner).");
  }
  setting.dense = traced_dense_text({.batches = batches,
                                     .batch = batch * ranks,
                                     .exchanges = !simulated,
                                     .embeddings = !tables,
                                     .scale = asked.scale});
  if (simulated && traced.shapes.reduced_elements > 0)
    setting.dense += fmt::format("  parameters_bytes: \"{} B\"\n", 4 * traced.shapes.reduced_elements);
  say_what_was_read(traced, asked, setting);
  say_how_it_follows(batches, batch * ranks, setting);
  result.setting = std::move(setting);
  return result;
}

}  // namespace shardsim
