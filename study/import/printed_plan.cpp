#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "study/import/imported_model.h"
#include "study/import/python_value.h"
#include "study/import/text_table.h"

namespace shardsim {
namespace {

constexpr std::string_view kEntry = "ParameterSharding(";

Tree map_of(std::vector<std::pair<std::string, Tree>> fields, const Place& place) {
  Tree map = empty_map(place);
  map.fields = std::move(fields);
  return map;
}

// Where the outermost dict begins that is still open at the entry: the plan, whatever other words are before it. Keys
// of such a dict are texts. The entry itself where there is none.
std::size_t begin_of_plan(std::string_view text, std::size_t from, std::size_t entry) {
  std::size_t begin = entry, closed = 0;
  for (std::size_t at = entry; at-- > from;) {
    if (text[at] == '}') ++closed;
    if (text[at] != '{') continue;
    const std::size_t key = text.find_first_not_of(" \t\r\n", at + 1);
    if (closed == 0 && key < entry && (text[key] == '\'' || text[key] == '"')) begin = at;
    if (closed > 0) --closed;
  }
  return begin;
}

[[noreturn]] void refuse_other_plan(const std::string& source, int line) {
  throw input_error({source, line}, "the print has several plans, and they differ, or one is cut off",
                    "Give the print of one plan, by one rank, with all of its modules");
}

// {MODULE: {TABLE: ParameterSharding(...)}}, perhaps behind other words, as print(model.plan), repr and a script write
// it. Several ranks may print the same.
Tree plan_of_objects(std::string_view text, const std::string& source) {
  std::optional<Tree> plan;
  std::size_t end = 0;
  for (std::size_t entry = text.find(kEntry); entry != text.npos; entry = text.find(kEntry, end)) {
    const std::size_t begin = begin_of_plan(text, end, entry);
    const auto line = [&] { return 1 + static_cast<int>(std::ranges::count(text.substr(0, entry), '\n')); };
    if (begin == entry)
      throw input_error({source, line()}, "a ParameterSharding without its table",
                        "Print the whole plan: print(model.plan)");
    Tree printed = parse_python_value(text, source, begin, &end);
    if (plan && !(*plan == printed)) refuse_other_plan(source, line());
    plan = std::move(printed);
  }
  return *plan;
}

// The tables of print(plan): for each module one of entries, and one of their shards.
class PlanTables {
 public:
  PlanTables(std::string_view text, const std::string& source)
      : lines_(lines_of_one_process(printed_lines(text), {"param", "sharding type", "compute kernel"})),
        source_(source) {}

  // True where a table of entries is there.
  bool has_entries() const {
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (TextTable(lines_, i, source_).has({"param", "sharding type", "compute kernel", "ranks"})) return true;
    return false;
  }

  Tree plan() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (const std::optional<std::string> module = module_at(i)) begin_module(*module, lines_[i].number);
      if (TextTable table(lines_, i, source_); table.has({"param", "sharding type", "compute kernel", "ranks"})) {
        for (const TextRow& row : table.rows()) add_entry(row);
      } else if (table.has({"param", "shard offsets", "shard sizes", "placement"})) {
        for (const TextRow& row : table.rows()) add_shard(row);
      }
    }
    Tree plan = whole_of_copies();
    check_shards(plan);
    return plan;
  }

 private:
  // Entries without their shards are one of the two tables that a plan is printed as.
  static void check_shards(const Tree& plan) {
    for (const auto& [module, tables] : plan.fields)
      for (const auto& [table, entry] : tables.fields)
        if (const Tree* const shards = entry.find("shards"); shards != nullptr && shards->items.empty())
          throw input_error(
              entry.place, fmt::format("table {} has no shards in the print", excerpt(table)),
              "Give both tables of print(plan): below that of the ranks, 'param', 'shard offsets', 'shard "
              "sizes' and 'placement' say what lies where");
  }

  // The path behind "module:". A logger writes its words before the first line of a print alone, so there may be some
  // where the table of entries follows.
  std::optional<std::string> module_at(std::size_t at) const {
    constexpr std::string_view kModule = "module:";
    const std::string line = without_blanks(lines_[at].text);
    const std::size_t begin = line.find(kModule);
    if (begin == line.npos) return std::nullopt;
    std::size_t next = at + 1;
    while (next < lines_.size() && without_blanks(lines_[next].text).empty()) ++next;
    if (begin > 0 && !TextTable(lines_, next, source_).has({"param", "sharding type"})) return std::nullopt;
    return without_blanks(line.substr(begin + kModule.size()));
  }

  // A module that is there already begins the plan anew, as another rank, or the same one later, prints it.
  void begin_module(const std::string& path, int line) {
    module_ = path;
    if (plan_.find(path) == nullptr) return;
    if (copies_.empty()) second_line_ = line;
    copies_.push_back(std::move(plan_));
    plan_ = Tree{};
  }

  // The plan that all copies say. Errors: they differ.
  Tree whole_of_copies() {
    if (copies_.empty()) return plan_;
    for (const Tree& copy : copies_)
      if (!(copy == plan_)) refuse_other_plan(source_, second_line_);
    return plan_;
  }

  // Tables that people write by hand name the module in each row.
  void take_module(const TextRow& row) {
    if (const std::string path = row.cell("module").scalar; !path.empty()) module_ = path;
  }

  Tree& module() {
    plan_.kind = Tree::Kind::map;
    if (Tree* const found = plan_.find(module_)) return *found;
    return plan_.fields.emplace_back(module_, map_of({}, {source_, 1})).second;
  }

  void add_entry(const TextRow& row) {
    take_module(row);
    Tree& tables = module();
    if (tables.find(row.cell("param").scalar) != nullptr)
      throw input_error(row.place(), fmt::format("table {} is there twice", excerpt(row.cell("param").scalar)),
                        "Give the print of one plan, by one rank");
    const Tree ranks = parse_python_value(row.cell("ranks").scalar, source_, 0);
    Tree placed = ranks;
    placed.place = row.place();
    for (Tree& item : placed.items) item.place = row.place();
    Tree shards = empty_list(row.place());
    std::vector<std::pair<std::string, Tree>> fields = {{"sharding_type", row.cell("sharding type")},
                                                        {"compute_kernel", row.cell("compute kernel")},
                                                        {"ranks", placed}};
    if (row.cell("sharding type").scalar.find("data_parallel") == std::string::npos)
      fields.emplace_back("shards", shards);
    tables.fields.emplace_back(row.cell("param").scalar, map_of(std::move(fields), row.place()));
  }

  void add_shard(const TextRow& row) {
    take_module(row);
    Tree* const entry = module().find(row.cell("param").scalar);
    Tree* const shards = entry == nullptr ? nullptr : entry->find("shards");
    if (shards == nullptr)
      throw input_error(row.place(),
                        fmt::format("a shard of table {}, which has no line above", excerpt(row.cell("param").scalar)),
                        "Give the whole print of the plan");
    const auto pair = [&](const char* column) {
      Tree made = parse_python_value(row.cell(column).scalar, source_, 0);
      made.place = row.place();
      for (Tree& item : made.items) item.place = row.place();
      return made;
    };
    shards->items.push_back(map_of({{"shard_offsets", pair("shard offsets")},
                                    {"shard_sizes", pair("shard sizes")},
                                    {"placement", row.cell("placement")}},
                                   row.place()));
  }

  std::vector<PrintedLine> lines_;
  const std::string& source_;
  std::string module_;
  Tree plan_;
  std::vector<Tree> copies_;  // that ended before this one
  int second_line_ = 0;       // where the second begins
};

}  // namespace

std::optional<Tree> printed_plan(std::string_view text, const std::string& source) {
  if (text.find(kEntry) != text.npos) return plan_of_objects(text, source);
  if (text.find("'sharding_type'") != text.npos && first_character_is_dict(text))
    return parse_python_value(text, source, text.find('{'));
  if (text.find("shard_offsets") != text.npos && first_character_is_dict(text) && text.find("'rank:") != text.npos)
    throw input_error({source, 1}, "shards by rank, as Python prints them, without the tables that they are of",
                      "Write the plan of the model: json.dump(plan._serialize(), file), as docs/import.md shows");
  const bool printed = text.find("sharding type") != text.npos && text.find("compute kernel") != text.npos;
  if (!printed && text.find('|') == text.npos) return std::nullopt;
  PlanTables tables(text, source);
  if (!printed && !tables.has_entries()) return std::nullopt;
  Tree plan = tables.plan();
  if (!plan.fields.empty()) return plan;
  if (text.find("shard offsets") == text.npos) return std::nullopt;
  throw input_error({source, 1}, "a print of a plan whose tables are not whole",
                    "Give all lines of print(plan), in their order, as one rank printed them");
}

}  // namespace shardsim
