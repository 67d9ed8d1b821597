#include "validate/microbench/collective_rows.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "validate/execute/meet/layout.h"
#include "validate/execute/meet/rendezvous.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kKinds{OpClass::all_reduce, OpClass::all_to_all};  // in the order of their tables

// "8 x node0, GPU": neighbours that say the same, once.
std::string counted_runs(const std::vector<std::string>& texts) {
  std::vector<std::string> runs;
  for (std::size_t i = 0, end = 0; i < texts.size(); i = end) {
    while (end < texts.size() && texts[end] == texts[i]) ++end;
    runs.push_back(fmt::format("{} x {}", end - i, texts[i]));
  }
  return join(runs);
}

std::pair<OpClass, std::int64_t> key_of(const Json& json, const Journal::Line& line) {
  for (const OpClass kind : kKinds)
    if (json.at("collective") == op_class_name(kind)) return {kind, json.at("bytes")};
  throw no_line_of(line);
}

}  // namespace

std::string machines_of(Rendezvous& rendezvous, const std::string& device) {
  return counted_runs(rendezvous.all_gather(host_name() + ", " + device, "naming the machines of the ranks"));
}

void CollectiveRows::begin(Rendezvous& rendezvous, const std::string& device) {
  const std::string machines = machines_of(rendezvous, device);
  if (rendezvous.rank() == 0) {
    try {
      open(machines);
    } catch (const Error& error) {
      rendezvous.fail(error.what(), "opening the journal");
      throw;
    }
  }
  const std::string known = rendezvous.from_root(numbers(), "saying what was measured before");
  if (rendezvous.rank() == 0 || known.empty()) return;
  for (const std::string& row : split(known, ',')) {
    const std::vector<std::string> parts = split(row, ' ');
    rows_[{kKinds.at(std::stoul(parts.at(0))), std::stoll(parts.at(1))}];
  }
}

void CollectiveRows::open(const std::string& machines) {
  journal_.emplace(output_, journal_origin(machines) + "; " + what_);
  if (opened_) opened_(*journal_);
  for (const Journal::Line& line : journal_->lines()) {
    try {
      const Json json = Json::parse(line.text);
      rows_.try_emplace(key_of(json, line), json.at("text").get<std::string>());
    } catch (const Json::exception&) {
      throw no_line_of(line);
    }
  }
}

// The rows that there are, "KIND BYTES" with commas between.
std::string CollectiveRows::numbers() const {
  std::vector<std::string> texts;
  for (const auto& [key, row] : rows_)
    texts.push_back(fmt::format("{} {}", key.first == kKinds[0] ? 0 : 1, key.second));
  return fmt::format("{}", fmt::join(texts, ","));
}

void CollectiveRows::add(OpClass kind, std::int64_t bytes, const std::string& text) {
  if (journal_) journal_->add(Json{{"collective", op_class_name(kind)}, {"bytes", bytes}, {"text", text}}.dump());
  rows_[{kind, bytes}] = text;
}

std::string CollectiveRows::text() const {
  std::string all;
  for (const OpClass kind : kKinds)
    for (const auto& [key, row] : rows_)
      if (key.first == kind) all += row;
  return all;
}

void CollectiveRows::remove() {
  if (journal_) journal_->remove();
}

}  // namespace shardsim
