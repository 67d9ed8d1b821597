#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "plan/plan_file.h"
#include "study/import/imported_model.h"
#include "study/import/text_table.h"

namespace shardsim {
namespace {

// Types as TorchRec's statistics shorten them (torchrec/distributed/planner/stats.py, _get_sharding_type_abbr).
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShortTypes = {{{"DP", "data_parallel"},
                                                                                       {"TW", "table_wise"},
                                                                                       {"CW", "column_wise"},
                                                                                       {"TWCW", "table_column_wise"},
                                                                                       {"RW", "row_wise"},
                                                                                       {"TWRW", "table_row_wise"},
                                                                                       {"GS", "grid_shard"}}};

// Columns that every version of TorchRec prints. Those of 2022 to 2024 call some of the others otherwise: see
// kNamesOfColumns.
std::vector<std::string> statistics_columns() {
  return {"fqn", "compute kernel", "output", "features", "hash size", "ranks"};
}

// A column, and how it was called from 2022 to 2024.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kNamesOfColumns = {
    {{"sum pooling factor", "pooling factor"},
     {"sum num poolings", "number of poolings"},
     {"emb dim (cw dim)", "emb dim"}}};

// The text of a column, by its name of today or its old one; "" where neither is there.
std::string column_text(const TextRow& row, std::string_view column) {
  std::string text = row.cell(column).scalar;
  for (const auto& [today, old] : kNamesOfColumns)
    if (text.empty() && column == today) text = row.cell(old).scalar;
  return text;
}

// A table of the statistics.
struct StatisticsRow {
  std::string module, table, type;
  std::string feature;  // how its features are called: as the table, which another module may have too
  std::uint64_t rows = 0;
  std::int64_t dim = 0, slice = 0;  // columns, and of a slice
  std::int64_t features = 0;
  std::vector<int> ranks;
  const TextRow* row = nullptr;
};

std::int64_t count_in(const TextRow& row, std::string_view column, std::string_view text) {
  std::string digits(text);
  std::erase(digits, ',');
  const auto number = whole_number<std::int64_t>(digits);
  if (number.value_or(0) > 0) return *number;
  throw input_error(row.place(),
                    fmt::format("table {}: {} is {}", excerpt(row.cell("fqn").scalar), column, excerpt(text)),
                    "Give the statistics as TorchRec's planner prints them");
}

// "0-3,7": one for each shard where they are listed, and "0-3" where they are just the ranks of a range.
std::vector<int> statistics_ranks(const TextRow& row) {
  std::vector<int> ranks;
  const std::string text = row.cell("ranks").scalar;
  if (imported_word(text) == "none") return ranks;
  for (const std::string& part : split(text, ',')) {
    const std::string range = without_blanks(part);
    const std::size_t dash = range.find('-');
    const std::optional<int> first = whole_number<int>(range.substr(0, dash));
    const std::optional<int> last = dash == std::string::npos ? first : whole_number<int>(range.substr(dash + 1));
    constexpr int kMost = 1'000'000;
    if (!first || !last || *first < 0 || *last < *first || *last > kMost)
      throw input_error(row.place(), fmt::format("ranks {}", excerpt(text)), "Write ranks as 0-3,7");
    for (int rank = *first; rank <= *last; ++rank) ranks.push_back(rank);
  }
  return ranks;
}

std::string long_type(const TextRow& row) {
  const Tree cell = row.cell("sharding");
  const std::string text = cell.scalar.empty() ? row.cell("sharding type").scalar : cell.scalar;
  for (const auto& [abbreviation, name] : kShortTypes)
    if (text == abbreviation || imported_word(text) == name) return std::string(name);
  throw input_error(row.place(), fmt::format("sharding {}", excerpt(text)), "Known: DP, TW, CW, TWCW, RW, TWRW, GS");
}

bool is_cut_in_columns(const std::string& type) {
  return type == "column_wise" || type == "table_column_wise" || type == "grid_shard";
}

// "128 (32)", or in 2022 "128" alone, where a shard of columns lay on each of the ranks.
void add_columns(const TextRow& row, StatisticsRow& made) {
  const std::string dims = column_text(row, "emb dim (cw dim)");
  const std::size_t bracket = dims.find('(');
  made.dim = count_in(row, "emb dim", without_blanks(dims.substr(0, bracket)));
  made.slice = made.dim;
  if (bracket != std::string::npos) {
    made.slice = count_in(row, "cw dim", without_blanks(dims.substr(bracket + 1, dims.find(')') - bracket - 1)));
  } else if (is_cut_in_columns(made.type) && !made.ranks.empty()) {
    const auto shards = static_cast<std::int64_t>(made.ranks.size());
    if (made.type == "grid_shard" || made.dim % shards != 0)
      throw input_error(row.place(),
                        fmt::format("table {} is cut in columns, and these statistics do not say how wide they are",
                                    excerpt(made.table)),
                        "Write the plan itself, plan._serialize()");
    made.slice = made.dim / shards;
  }
}

StatisticsRow row_of(const TextRow& row) {
  StatisticsRow made;
  made.row = &row;
  const std::string path = row.cell("fqn").scalar;
  const std::size_t dot = path.rfind('.');
  made.module = dot == std::string::npos ? "" : path.substr(0, dot);
  made.table = dot == std::string::npos ? path : path.substr(dot + 1);
  made.type = long_type(row);
  made.rows = static_cast<std::uint64_t>(count_in(row, "hash size", row.cell("hash size").scalar));
  made.features = count_in(row, "features", row.cell("features").scalar);
  made.ranks = statistics_ranks(row);
  add_columns(row, made);
  return made;
}

Tree configuration_of(const StatisticsRow& of) {
  const Place& place = of.row->place();
  Tree made = empty_map(place);
  std::vector<std::string> features;
  for (std::int64_t i = 0; i < of.features; ++i)
    features.push_back(of.features == 1 ? of.feature : fmt::format("{}_{}", of.feature, i));
  made.fields.emplace_back("name", text_tree(of.table, place));
  made.fields.emplace_back("num_embeddings", text_tree(std::to_string(of.rows), place));
  made.fields.emplace_back("embedding_dim", text_tree(std::to_string(of.dim), place));
  made.fields.emplace_back("feature_names", text_list(features, place));
  const bool pooled = imported_word(of.row->cell("output").scalar) != "sequence";
  if (pooled) made.fields.emplace_back("pooling", text_tree("SUM", place));
  const std::string weighted = imported_word(of.row->cell("weighted").scalar);
  if (pooled && (weighted == "weighted" || weighted == "true" || weighted == "yes"))
    made.fields.emplace_back("is_weighted", text_tree("true", place));
  return made;
}

// A column; nothing where it is not there.
std::optional<double> number_in(const StatisticsRow& of, std::string_view column) {
  std::string text = column_text(*of.row, column);
  std::erase(text, ',');
  if (text.empty()) return std::nullopt;
  return parse_real(text, of.row->place());
}

// The same of every feature. A sum of 0.0 stays one: it is rounded.
Tree parts_of(const StatisticsRow& of, double sum, double parts) {
  const std::string part = sum == 0 ? "0.0" : shortest(sum / parts);
  return text_list(std::vector<std::string>(static_cast<std::size_t>(of.features), part), of.row->place());
}

// "256 * 2, 512" is [256, 256, 512]: samples of each feature of a rank, where they differ from those of the others.
// "n/a": they do not.
std::vector<std::string> own_batches(const StatisticsRow& of) {
  std::vector<std::string> batches;
  const std::string text = of.row->cell("batch sizes").scalar;
  if (text.empty() || imported_word(text) == "n/a") return batches;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> factors = split(part, '*');
    const std::int64_t times = factors.size() < 2 ? 1 : count_in(*of.row, "batch sizes", without_blanks(factors[1]));
    if (times > of.features) break;
    batches.insert(batches.end(), static_cast<std::size_t>(times), without_blanks(factors[0]));
  }
  if (std::ssize(batches) == of.features) return batches;
  throw input_error(of.row->place(),
                    fmt::format("table {} has {} and the batch sizes {}", excerpt(of.table),
                                counted(static_cast<std::size_t>(of.features), "feature"), excerpt(text)),
                    "Give one for each feature, as TorchRec's planner prints them: 256*2, 512");
}

// Sums over the features of a table, in equal parts. Num Indices, the sum of ids, is not the product of the other two
// where features differ: ids and bags are then what decides, and not the sum of factors.
Tree lookups_of(const StatisticsRow& of) {
  Tree made = empty_map(of.row->place());
  const auto features = static_cast<double>(of.features);
  const std::optional<double> factors = number_in(of, "sum pooling factor"), bags = number_in(of, "sum num poolings"),
                              ids = number_in(of, "num indices");
  if (ids && bags && *ids > 0 && *bags > 0) {
    made.fields.emplace_back("pooling_factors", parts_of(of, *ids, *bags));
  } else if (factors) {
    made.fields.emplace_back("pooling_factors", parts_of(of, *factors, features));
  }
  if (bags) made.fields.emplace_back("num_poolings", parts_of(of, *bags, features));
  if (const std::vector<std::string> batches = own_batches(of); !batches.empty())
    made.fields.emplace_back("batch_sizes", text_list(batches, of.row->place()));
  return made;
}

Tree shard_at(const StatisticsRow& of, std::uint64_t row, std::uint64_t rows, std::int64_t column, std::int64_t columns,
              int rank, int per_host) {
  const Place& place = of.row->place();
  Tree shard = empty_map(place);
  shard.fields.emplace_back("shard_offsets", text_list({std::to_string(row), std::to_string(column)}, place));
  shard.fields.emplace_back("shard_sizes", text_list({std::to_string(rows), std::to_string(columns)}, place));
  shard.fields.emplace_back("placement", text_tree(fmt::format("rank:{}/cuda:{}", rank, rank % per_host), place));
  return shard;
}

// The shards in TorchRec's order: by columns, then by rows. Ranks of which each has as many of them get them in turn.
void add_shards(const StatisticsRow& of, int per_host, Tree& entry, std::vector<std::string>& ranks) {
  const bool rows_cut = of.type == "row_wise" || of.type == "table_row_wise" || of.type == "grid_shard";
  const std::int64_t slices = (of.dim + of.slice - 1) / of.slice;
  const auto held = static_cast<std::int64_t>(of.ranks.size());
  const std::int64_t blocks = rows_cut ? std::max<std::int64_t>(1, held / slices) : 1;
  const std::uint64_t block = (of.rows + static_cast<std::uint64_t>(blocks) - 1) / static_cast<std::uint64_t>(blocks);
  if (of.ranks.empty() || (slices * blocks) % held != 0)
    throw input_error(
        of.row->place(),
        fmt::format("table {} has {} on {}", excerpt(of.table),
                    counted(static_cast<std::size_t>(slices * blocks), "shard"), counted(of.ranks.size(), "rank")),
        "The statistics do not say which rank has which: write the plan itself, plan._serialize()");
  Tree shards = empty_list(of.row->place());
  for (std::int64_t i = 0; i < slices * blocks; ++i) {
    const std::uint64_t row = std::min(of.rows, block * static_cast<std::uint64_t>(i % blocks));
    const std::int64_t column = of.slice * (i / blocks);
    const int rank = of.ranks[static_cast<std::size_t>(i % held)];
    ranks.push_back(std::to_string(rank));
    shards.items.push_back(
        shard_at(of, row, std::min(block, of.rows - row), column, std::min(of.slice, of.dim - column), rank, per_host));
  }
  entry.fields.emplace_back("shards", std::move(shards));
}

Tree entry_of_row(const StatisticsRow& of, int world, int per_host) {
  const Place& place = of.row->place();
  Tree entry = empty_map(place);
  std::vector<std::string> ranks;
  if (of.type == "data_parallel") {
    for (int rank = 0; rank < world; ++rank) ranks.push_back(std::to_string(rank));
  } else {
    add_shards(of, per_host, entry, ranks);
  }
  entry.fields.emplace_back("sharding_type", text_tree(of.type, place));
  entry.fields.emplace_back("compute_kernel", text_tree(of.row->cell("compute kernel").scalar, place));
  entry.fields.emplace_back("ranks", text_list(ranks, place));
  const std::string factor = of.row->cell("cache load factor").scalar;
  if (!factor.empty() && imported_word(factor) != "none") {
    Tree cache = empty_map(place);
    cache.fields.emplace_back("load_factor", text_tree(factor, place));
    entry.fields.emplace_back("cache_params", std::move(cache));
  }
  return entry;
}

Tree& field_at(Tree& map, const std::string& key, const Tree& fallback) {
  if (Tree* const found = map.find(key)) return *found;
  return map.fields.emplace_back(key, fallback).second;
}

// Statistics of a plan name a table once for each module; a name that comes twice is refused.
void refuse_names_twice(const std::vector<StatisticsRow>& rows) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const StatisticsRow& each : rows)
    if (!seen.insert({each.module, each.table}).second)
      throw input_error(each.row->place(), fmt::format("table {} is there twice", excerpt(each.table)),
                        "Give the statistics of one plan");
}

// `ranks`: of the job, where its table of ranks is there.
Tree model_of_statistics(const std::vector<TextRow>& printed, int ranks, const std::string& source) {
  std::vector<StatisticsRow> rows;
  int world = std::max(1, ranks);
  for (const TextRow& each : printed) {
    rows.push_back(row_of(each));
    for (const int rank : rows.back().ranks) world = std::max(world, rank + 1);
  }
  // Where the ranks are not listed, there may be more than tables lie on.
  const int per_host = ranks > 0 ? usual_host(world) : std::min(world, kUsualGpus);
  refuse_names_twice(rows);
  std::map<std::string, int> count;
  for (const StatisticsRow& each : rows) ++count[each.table];
  for (StatisticsRow& each : rows)
    each.feature = count[each.table] > 1 && !each.module.empty() ? each.module + "." + each.table : each.table;
  const Place top{source, 1};
  Tree tables = empty_map(top), constraints = empty_map(top), plan = empty_map(top), whole = empty_map(top);
  for (const StatisticsRow& each : rows) {
    field_at(tables, each.module, empty_list(each.row->place())).items.push_back(configuration_of(each));
    constraints.fields.emplace_back(each.module.empty() ? each.table : each.module + "." + each.table,
                                    lookups_of(each));
    field_at(plan, each.module, empty_map(each.row->place()))
        .fields.emplace_back(each.table, entry_of_row(each, world, per_host));
  }
  whole.fields.emplace_back("tables", std::move(tables));
  whole.fields.emplace_back("constraints", std::move(constraints));
  whole.fields.emplace_back("plan", std::move(plan));
  return whole;
}

// The ranks of the table in which each has a line; 0 where it is no such table.
int ranks_of_table(const TextTable& table) {
  if (!table.has({"rank", "shards"})) return 0;
  int ranks = 0;
  for (const TextRow& row : table.rows())
    if (whole_number<int>(row.cell("rank").scalar) == ranks) ++ranks;
  return ranks;
}

// "# Batch Size: 2048   #", behind the parameters of the same statistics.
std::optional<std::int64_t> batch_after(const std::vector<PrintedLine>& lines, std::size_t from) {
  constexpr std::string_view kBatch = "Batch Size:";
  for (std::size_t i = from; i < lines.size(); ++i) {
    const std::string& line = lines[i].text;
    if (line.find("Planner Statistics") != line.npos) return std::nullopt;
    const std::size_t begin = line.find(kBatch);
    if (begin == line.npos) continue;
    const std::string_view rest = trimmed(std::string_view(line).substr(begin + kBatch.size()), " \t\r#");
    const auto batch = whole_number<std::int64_t>(rest);
    return batch.value_or(0) > 0 ? batch : std::nullopt;
  }
  return std::nullopt;
}

[[noreturn]] void refuse_statistics(const std::string& source, int line, const char* what) {
  throw input_error(
      {source, line}, what,
      "Give all lines from \"Planner Statistics\" on; TorchRec's of 2022 and later are read, printed with "
      "debug=True");
}

}  // namespace

std::optional<PrintedStatistics> printed_statistics(std::string_view text, const std::string& source) {
  const bool titled = text.find("Planner Statistics") != text.npos;
  if (!titled && (text.find("Hash Size") == text.npos || text.find("Compute Kernel") == text.npos)) return std::nullopt;
  const std::vector<PrintedLine> lines = lines_of_one_process(printed_lines(text), {"#", "FQN", "Hash Size"});
  std::optional<PrintedStatistics> first;
  int ranks = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const TextTable table(lines, i, source);
    if (const int listed = ranks_of_table(table); listed > 0) ranks = listed;
    if (!table.has(statistics_columns())) continue;
    const std::vector<TextRow> rows = table.rows();
    if (rows.empty()) refuse_statistics(source, lines[i].number, "the table of parameters has no line for a table");
    if (const int torn = table.torn_row(rows.size()); torn > 0)
      refuse_statistics(source, torn, "a line of the table of parameters is cut off");
    PrintedStatistics made{model_of_statistics(rows, ranks, source), batch_after(lines, i), ranks};
    if (first && !(first->model == made.model && first->batch == made.batch))
      throw input_error({source, lines[i].number}, "the file has several statistics, and they differ",
                        "Give those of one plan");
    first = std::move(made);
  }
  if (first) return first;
  if (titled && first_character(text) != '{' && first_character(text) != '[')
    refuse_statistics(source, 1, "statistics of TorchRec's planner without their table of parameters");
  return std::nullopt;
}

}  // namespace shardsim
