#include "study/report/result_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/tree/json_fields.h"
#include "study/result/result_fields.h"
#include "topology/spec/cluster_spec.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPlain = "shardsim.result/1";
constexpr const char* kGrouped = "shardsim.result/2";  // the same, but some case is large

constexpr std::size_t kMostNumbers = 100'000'000;  // that few bytes of classes and rank sets may stand for

std::size_t ranks_in(const Tree& text) {
  return text.kind == Tree::Kind::scalar ? count_in_rank_sets(text.scalar, kMostRanks, text.place) : 0;
}

std::size_t ranks_in_classes(const Tree& item) {
  std::size_t count = 0;
  if (const Tree* const classes = item.find("rank_classes"))
    for (const Tree& text : classes->items) count += ranks_in(text);
  return count;
}

// Returns how many numbers the lists below `tree` have, for a world of so many ranks.
std::size_t listed_numbers(const Tree& tree, std::size_t world) {
  std::size_t count = 0;
  for (const auto& [key, value] : tree.fields) {
    if (key.ends_with(kByClass)) count += world;
    count += key == "rank_set" ? ranks_in(value) : listed_numbers(value, world);
  }
  for (const Tree& item : tree.items) count += listed_numbers(item, world);
  return count;
}

// A small file may say lists that no memory holds.
void check_lists(const Tree& tree) {
  const Tree* const cases = tree.find("cases");
  if (cases == nullptr) return;
  std::size_t count = 0;
  for (const Tree& item : cases->items) {
    const std::size_t world = ranks_in_classes(item);
    count += world + listed_numbers(item, world);
    if (count <= kMostNumbers) continue;
    throw input_error(item.place,
                      fmt::format("the cases up to this one list more than {} numbers of ranks", kMostNumbers),
                      "Is this a file as shardsim wrote it?");
  }
}

}  // namespace

std::string result_to_json(const StudyResult& study) {
  const bool grouped = std::ranges::any_of(study.cases, is_large);
  Json json = {{"schema", grouped ? kGrouped : kPlain}};
  JsonWriter::write(JsonSlot(json), study);
  check_finite(json, "result.json");
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

StudyResult result_from_tree(const Tree& tree) {
  JsonReader reader(tree, "", JsonReader::Keys::any);
  reader.reader().choice("schema", {kPlain, kGrouped});
  check_lists(tree);
  StudyResult study;
  fields(reader, study);
  return study;
}

}  // namespace shardsim
