#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <type_traits>

#include "base/csv.h"
#include "base/text.h"
#include "base/units.h"
#include "study/import/imported_model.h"

namespace shardsim {
namespace {

// A column by the names that people give it, in lower case with "_" for blanks; docs/import.md lists them.
struct ColumnNames {
  const char* name;
  std::vector<std::string> words;
};

const std::vector<ColumnNames>& known_columns() {
  static const std::vector<ColumnNames> columns = {
      {"name", {"name", "table", "table_name"}},
      {"rows", {"rows", "num_rows", "num_embeddings", "hash_size", "cardinality"}},
      {"dim", {"dim", "embedding_dim", "embedding_dimension", "emb_dim", "num_columns"}},
      {"pooling_factor", {"pooling_factor", "avg_pooling_factor", "average_pooling_factor", "mean_pooling_factor"}},
      {"average_length", {"average_length", "mean_length", "avg_length", "sequence_length", "length"}},
      {"dtype", {"dtype", "data_type", "weight_dtype"}},
      {"features", {"features", "feature_names", "feature"}},
      {"exponent", {"exponent", "zipf", "zipf_exponent", "zipf_alpha", "zipf_s", "alpha", "skew"}},
      {"pooling", {"pooling", "pooling_type"}},
      {"kind", {"kind"}},
      {"weighted", {"weighted", "is_weighted"}}};
  return columns;
}

constexpr const char* kShape =
    "Name the columns name, rows, dim, and pooling_factor or average_length; docs/import.md has the others";

char delimiter_of(std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  char best = ',';
  std::ptrdiff_t most = 0;
  for (const char each : {',', ';', '\t', '|'}) {
    const auto count = std::ranges::count(header, each);
    if (count > most) best = each;
    most = std::max(most, count);
  }
  return best;
}

// The position of each known column; unknown ones are left out and told, unless they look like one that is misspelt.
class Columns {
 public:
  Columns(const CsvTable& table, std::vector<std::string>& left_out) : table_(table) {
    for (std::size_t i = 0; i < table.header.size(); ++i) add(i, left_out);
    for (const char* const due : {"name", "rows", "dim"}) {
      if (places_.contains(due)) continue;
      throw input_error(table.place, fmt::format("no column gives the {} of a table", due), kShape);
    }
  }

  bool has(const std::string& name) const { return places_.contains(name); }
  std::size_t at(const std::string& name) const { return places_.at(name); }

 private:
  Place place(std::size_t i) const { return {table_.place.source, table_.place.line, table_.header_columns[i]}; }

  void add(std::size_t i, std::vector<std::string>& left_out) {
    const std::string word = imported_word(table_.header[i]);
    std::vector<std::string> all;
    for (const ColumnNames& column : known_columns()) {
      all.insert(all.end(), column.words.begin(), column.words.end());
      if (std::ranges::find(column.words, word) == column.words.end()) continue;
      if (places_.emplace(column.name, i).second) return;
      throw input_error(
          place(i), fmt::format("column {}: another column gives the {}, too", excerpt(table_.header[i]), column.name),
          "Leave one of the two out");
    }
    const std::string likely = nearest(word, all);
    if (!likely.empty()) {
      throw input_error(place(i), "unknown column " + excerpt(table_.header[i]),
                        fmt::format("Did you mean '{}'?", likely));
    }
    left_out.push_back(printable(table_.header[i]));
  }

  const CsvTable& table_;
  std::map<std::string, std::size_t> places_;
};

// The cells of one row, by column.
class RowReader {
 public:
  RowReader(const CsvTable::Row& row, const Columns& columns) : row_(row), columns_(columns) {}

  bool has(const std::string& column) const { return columns_.has(column); }
  Place place() const { return row_.cell_place(0); }
  Place place(const std::string& column) const { return row_.cell_place(columns_.at(column)); }
  // "" where there is no such column.
  std::string text(const std::string& column) const {
    return columns_.has(column) ? std::string(trimmed(row_.cells[columns_.at(column)])) : "";
  }

  std::int64_t count(const std::string& column) const {
    const std::string cell = plain_number(column);
    const std::int64_t count = named(column, [&] { return parse_count(cell, place(column)); });
    if (count > 0) return count;
    throw input_error(place(column), fmt::format("{} is 0", column), "Give at least 1, or leave the table out");
  }

  // Above 0, or none where the cell is empty.
  std::optional<double> positive(const std::string& column, bool zero = false) const {
    if (text(column).empty()) return std::nullopt;
    const std::string cell = plain_number(column);
    const double value = named(column, [&] { return parse_real(cell, place(column)); });
    if (value > 0 || (zero && value == 0)) return value;
    throw input_error(place(column), fmt::format("{} is {}", column, excerpt(cell)),
                      zero ? "Give 0 or more" : "Give a number above 0, or leave the table out");
  }

 private:
  template <typename Parse>
  std::invoke_result_t<Parse> named(const std::string& column, const Parse& parse) const {
    try {
      return parse();
    } catch (const Error& error) {
      throw named_error(error, column);
    }
  }

  // Thousands come in threes: another comma stands for a point, without which the number would be ten times as large.
  static std::string separators_remedy(const std::string& cell) {
    const std::size_t comma = cell.find(',');
    const bool thousands =
        comma == std::string::npos || cell.find(',', comma + 1) != std::string::npos || cell.size() - comma == 4;
    std::string digits;
    for (const char c : cell) {
      if (c >= '0' && c <= '9') digits += c;
      if (c == ',' && !thousands) digits += '.';
    }
    if (!thousands) return fmt::format("Write a point before decimals, {}", excerpt(digits));
    return fmt::format("Write the digits alone, {}, and a point before decimals", excerpt(digits));
  }

  // Spreadsheets write 1,000,000 and 12,5, and people 30M: each is refused with what to write.
  std::string plain_number(const std::string& column) const {
    const std::string cell = text(column);
    if (cell.empty()) throw input_error(place(column), column + " is empty", "Write a number");
    if (std::string_view("kKmMgGbB").find(cell.back()) != std::string_view::npos && cell.size() > 1) {
      throw input_error(place(column), fmt::format("{} {} has a unit", column, excerpt(cell)),
                        "Write the whole number, such as 30000000 or 3e7");
    }
    const std::size_t bad = cell.find_first_of(",'_ \xC2\xE2");
    if (bad != std::string::npos) {
      throw input_error(place(column), fmt::format("{} {} has separators", column, excerpt(cell)),
                        separators_remedy(cell));
    }
    return cell;
  }

  const CsvTable::Row& row_;
  const Columns& columns_;
};

bool read_flag(const RowReader& row, const std::string& column) {
  const std::string word = imported_word(row.text(column));
  if (word.empty() || word == "false" || word == "no" || word == "0") return false;
  if (word == "true" || word == "yes" || word == "1") return true;
  throw input_error(row.place(column), fmt::format("{} is {}", column, excerpt(word)), "Write true or false");
}

TableKind read_kind(const RowReader& row, ImportedTable& made) {
  const std::string kind = imported_word(row.text("kind")), pooling = imported_word(row.text("pooling"));
  const bool unpooled = pooling == "none" || pooling == "sequence";
  if (!pooling.empty() && pooling != "sum" && pooling != "mean" && !unpooled) {
    throw input_error(row.place("pooling"), "pooling is " + excerpt(pooling), "Write sum, mean or none");
  }
  if (!kind.empty() && kind != "pooled" && kind != "sequence") {
    throw input_error(row.place("kind"), "kind is " + excerpt(kind), "Write pooled or sequence");
  }
  if (kind == "pooled" && unpooled) {
    throw input_error(row.place("pooling"), "the pooled table has no pooling",
                      "Write sum or mean, or the kind sequence");
  }
  if (pooling == "mean") made.table.pooling = "mean";
  if (kind == "sequence" || unpooled) return TableKind::sequence;
  if (!kind.empty() || !pooling.empty()) return TableKind::pooled;
  if (!row.text("average_length").empty()) {
    // Who has a column for either kind tells them apart.
    if (!row.has("pooling_factor")) made.assumed.emplace_back("sequence");
    return TableKind::sequence;
  }
  if (row.text("pooling_factor").empty()) made.assumed.emplace_back("kind");
  return TableKind::pooled;
}

// Names between bars, semicolons or commas; where there is none of them, between blanks.
std::vector<std::string> read_features(const RowReader& row) {
  constexpr std::string_view kBetween = "|;,";
  const std::string cell = row.text("features");
  const std::string_view between = cell.find_first_of(kBetween) == std::string::npos ? " " : kBetween;
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= cell.size();) {
    const std::size_t end = std::min(cell.find_first_of(between, begin), cell.size());
    const std::string_view name = trimmed(std::string_view(cell).substr(begin, end - begin));
    if (!name.empty()) names.push_back(checked_name(std::string(name), row.place("features")));
    begin = end + 1;
  }
  return names;
}

// Items per sample: a pooled table's of each feature, a sequence's over all.
void read_lengths(const RowReader& row, ImportedTable& made) {
  Table& table = made.table;
  const std::optional<double> factor = row.positive("pooling_factor"), length = row.positive("average_length");
  if (factor && length) {
    throw input_error(row.place("average_length"), "the table has both a pooling_factor and an average_length",
                      "Pooled tables have the first, sequence tables the second");
  }
  std::vector<std::string> names = read_features(row);
  if (names.empty()) names = {table.name};
  const bool sequence = table.kind == TableKind::sequence;
  if (sequence && !factor && !length) {
    throw input_error(row.place(), fmt::format("sequence table '{}' has no length", table.name),
                      "Add its average_length: items per sample over all its features");
  }
  if (!factor && !length) made.assumed.emplace_back("pooling_factor");
  const double stated = factor ? *factor : length.value_or(1);
  const auto count = static_cast<double>(names.size());
  const double each = length ? stated / count : stated;
  const bool weighted = read_flag(row, "weighted");
  if (weighted && sequence) {
    throw input_error(row.place("weighted"), "a sequence table cannot have weights",
                      "Leave 'weighted' out, or make the table pooled");
  }
  const Place place = row.has("features") ? row.place("features") : row.place();
  std::vector<PlacedFeature> features;
  for (const std::string& name : names) features.push_back({{name, each, 1, weighted}, place});
  set_features(table, std::move(features));
  table.average_length = each * count;
}

ImportedTable read_table(const RowReader& row) {
  ImportedTable made;
  Table& table = made.table;
  table.place = row.place();
  table.name = checked_name(row.text("name"), row.place("name"));
  table.rows = static_cast<std::uint64_t>(row.count("rows"));
  table.dim = row.count("dim");
  if (const std::string dtype = row.text("dtype"); dtype.empty()) {
    made.assumed.emplace_back("dtype");
  } else {
    table.dtype = imported_dtype(dtype, row.place("dtype"));
  }
  table.kind = read_kind(row, made);
  read_lengths(row, made);
  if (const std::optional<double> exponent = row.positive("exponent", true)) {
    table.access.family = "zipf";
    table.access.s = *exponent;
  } else {
    made.assumed.emplace_back("access");
  }
  return made;
}

}  // namespace

ImportedModel model_from_csv(std::string_view text, const std::string& source) {
  const CsvTable csv = parse_csv(text, source, delimiter_of(text));
  ImportedModel model;
  model.source = source;
  const Columns columns(csv, model.left_out);
  for (const CsvTable::Row& row : csv.rows) model.tables.push_back(read_table({row, columns}));
  check_tables(model);
  return model;
}

}  // namespace shardsim
