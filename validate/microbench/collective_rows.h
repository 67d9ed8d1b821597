#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "program/program.h"
#include "validate/microbench/journal.h"

namespace shardsim {

class Rendezvous;

// Collective: "8 x node0, GPU", the machines of all ranks in their order.
std::string machines_of(Rendezvous& rendezvous, const std::string& device);

// The rows of a sweep of collectives that have been measured: every rank knows which rows there are, so that all make
// the same calls, and rank 0 keeps them in the journal beside its output.
class CollectiveRows {
 public:
  // `what` says what is measured, as Journal has it, but for the machines. `opened`: called on rank 0 when the journal
  // is open.
  CollectiveRows(std::filesystem::path output, std::string what, std::function<void(const Journal&)> opened = {})
      : output_(std::move(output)), what_(std::move(what)), opened_(std::move(opened)) {}

  // Collective. `device`: that of this rank. Errors: those of Journal, on rank 0; it tells the others first.
  void begin(Rendezvous& rendezvous, const std::string& device);

  bool has(OpClass kind, std::int64_t bytes) const { return rows_.contains({kind, bytes}); }
  // A row on rank 0, with the head of its table where it is the first of it.
  void add(OpClass kind, std::int64_t bytes, const std::string& text);
  std::string text() const;  // on rank 0: all of them
  void remove();
  const Journal* journal() const { return journal_ ? &*journal_ : nullptr; }  // on rank 0, once begun

 private:
  void open(const std::string& machines);
  std::string numbers() const;

  std::filesystem::path output_;
  std::string what_;
  std::function<void(const Journal&)> opened_;
  std::optional<Journal> journal_;
  std::map<std::pair<OpClass, std::int64_t>, std::string> rows_;
};

}  // namespace shardsim
