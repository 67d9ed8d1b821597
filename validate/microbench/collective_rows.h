#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"
#include "validate/microbench/journal.h"

namespace shardsim {

// The rows of a sweep of collectives that have been measured.
class CollectiveRows : public SharedJournal {
 public:
  CollectiveRows(std::filesystem::path output, std::string what, std::function<void(const Journal&)> opened = {})
      : SharedJournal(std::move(output), std::move(what), std::move(opened)) {}

  bool has(OpClass kind, std::int64_t bytes) const { return rows_.contains({kind, bytes}); }
  // A row on rank 0, with the head of its table where it is the first of it.
  void add(OpClass kind, std::int64_t bytes, const std::string& text);
  std::string text() const;  // on rank 0: all of them

 private:
  void take(const Journal::Line& line) override;
  std::vector<std::string> known() const override;
  void know(const std::string& word) override;

  std::map<std::pair<OpClass, std::int64_t>, std::string> rows_;
};

}  // namespace shardsim
