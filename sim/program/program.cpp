#include "sim/program/program.h"

#include <algorithm>
#include <array>
#include <utility>

namespace shardsim {
namespace {

struct OpClassName {
  OpClass op_class;
  std::string_view name;
};

constexpr std::array<OpClassName, 9> kOpClassNames{{
    {OpClass::lookup, "lookup"},
    {OpClass::update, "update"},
    {OpClass::dense, "dense"},
    {OpClass::all_to_all, "all_to_all"},
    {OpClass::all_reduce, "all_reduce"},
    {OpClass::reduce_scatter, "reduce_scatter"},
    {OpClass::all_gather, "all_gather"},
    {OpClass::broadcast, "broadcast"},
    {OpClass::send_recv, "send_recv"},
}};

}  // namespace

std::string_view op_class_name(OpClass op_class) {
  return std::ranges::find(kOpClassNames, op_class, &OpClassName::op_class)->name;
}

std::optional<OpClass> find_op_class(std::string_view name) {
  const auto* const entry = std::ranges::find(kOpClassNames, name, &OpClassName::name);
  if (entry == kOpClassNames.end()) return std::nullopt;
  return entry->op_class;
}

std::vector<std::string> op_class_names() {
  std::vector<std::string> names;
  for (const OpClassName& entry : kOpClassNames) names.emplace_back(entry.name);
  return names;
}

std::optional<CollectiveKind> collective_kind(OpClass op_class) {
  switch (op_class) {
    case OpClass::all_to_all:
      return CollectiveKind::all_to_all;
    case OpClass::all_reduce:
      return CollectiveKind::all_reduce;
    case OpClass::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case OpClass::all_gather:
      return CollectiveKind::all_gather;
    case OpClass::broadcast:
      return CollectiveKind::broadcast;
    case OpClass::send_recv:
      return CollectiveKind::send_recv;
    case OpClass::lookup:
    case OpClass::update:
    case OpClass::dense:
      break;
  }
  return std::nullopt;
}

ByteMatrix resolve_matrix(const Program& program, const std::string& name) {
  const auto transpose = program.transpose_of.find(name);
  if (transpose == program.transpose_of.end()) return program.matrices.at(name);
  ByteMatrix matrix = resolve_matrix(program, transpose->second);
  matrix.transposed = !matrix.transposed;
  return matrix;
}

std::vector<int> Program::ranks_of(const Op& op) const {
  return op.ranks.empty() ? all_ranks(world_size) : op.ranks;
}

}  // namespace shardsim
