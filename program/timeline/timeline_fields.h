#pragma once

#include <tuple>
#include <type_traits>

#include "base/packed.h"
#include "program/timeline/timeline.h"

namespace shardsim {

// The fields of a Timeline's parts, declared once for all forms in which it is written and read: columns of HDF5, keys
// of JSON, bytes between processes. To add a field: the member, its line here, and docs/formats/timeline.md.
template <typename Owner, typename Value>
struct Field {
  const char* name;  // of the column, the attribute, the key
  Value Owner::*member;
  const char* unit;  // as udunits has it; "" for text
  const char* long_name;
  bool required = true;  // else a reader takes a file without it, and JSON leaves it out when it is empty or 0
};

// Compilers before clang 17 do not deduce the arguments of aggregates by themselves.
template <typename Owner, typename Value>
Field(const char*, Value Owner::*, const char*, const char*, bool = true) -> Field<Owner, Value>;

inline constexpr std::tuple kHeadFields = {
    Field{"kind", &Timeline::kind, "", "predicted or observed"},
    Field{"complete", &Timeline::complete, "1", "the run came to its end"},
    Field{"world_size", &Timeline::world_size, "1", "ranks"},
    Field{"ranks_per_node", &Timeline::ranks_per_node, "1", "ranks of a node", false},
    Field{"iteration_ms", &Timeline::iteration_ms, "ms", "steady iteration time", false},
    Field{"iterations_run", &Timeline::iterations_run, "1", "iterations, those before the kept ones included", false},
    Field{"steady", &Timeline::steady, "1", "two iterations were alike", false}};

inline constexpr std::tuple kRankFields = {
    Field{"hbm_bytes", &Timeline::hbm_bytes, "B", "device memory held", false},
    Field{"bytes_out", &Timeline::bytes_out, "B", "bytes sent in one iteration, own chunks excluded", false},
    Field{"bytes_in", &Timeline::bytes_in, "B", "bytes received in one iteration, own chunks excluded", false}};

inline constexpr std::tuple kSpanFields = {
    Field{"start_us", &Span::start_us, "us", "start since the first kept iteration"},
    Field{"end_us", &Span::end_us, "us", "end since the start of the first kept iteration"},
    Field{"rank", &Span::rank, "1", "rank"},
    Field{"stream", &Span::stream, "1", "stream, an index of stream/name"},
    Field{"op", &Span::op, "1", "operation, an index of op/name"},
    Field{"iteration", &Span::iteration, "1", "iteration"},
    Field{"bytes", &Span::bytes, "B", "bytes moved by this rank in this span"}};

inline constexpr std::tuple kOpFields = {
    Field{"name", &Timeline::OpInfo::name, "", "operation name"},
    Field{"class", &Timeline::OpInfo::op_class, "", "lookup, update, dense, or the kind of the collective"},
    Field{"alone_us", &Timeline::OpInfo::alone_us, "us", "duration without contention; 0: not known", false},
    Field{"group", &Timeline::OpInfo::group, "", "group of the collective, of group/name", false},
    Field{"dtype", &Timeline::OpInfo::dtype, "", "type of the elements on the wire", false},
    Field{"algorithm", &Timeline::OpInfo::algorithm, "", "algorithm of the collective", false},
    Field{"protocol", &Timeline::OpInfo::protocol, "", "protocol of NCCL", false}};

inline constexpr std::tuple kMeasuredFields = {
    Field{"hosts", &Timeline::Measured::hosts, "", "host of each node"},
    Field{"device", &Timeline::Measured::device, "", "accelerator, or the CPU", false},
    Field{"driver", &Timeline::Measured::driver, "", "version", false},
    Field{"cuda", &Timeline::Measured::cuda, "", "version", false},
    Field{"nccl", &Timeline::Measured::nccl, "", "version", false},
    Field{"transport", &Timeline::Measured::transport, "", "nccl, sockets, mpi", false},
    Field{"clock_residual_us", &Timeline::Measured::clock_residual_us, "us", "clocks of two nodes apart", false},
    Field{"clock_drift_us", &Timeline::Measured::clock_drift_us, "us", "of a node's clock in the run", false},
    Field{"more", &Timeline::Measured::more, "", "what else the machines say of themselves", false}};

// The type of the value that a field holds.
template <typename Owner, typename Value>
Value value_type(const Field<Owner, Value>&);
template <typename AnyField>
using FieldValue = decltype(value_type(std::declval<const AnyField&>()));

// Calls `visit` with each field.
template <typename Fields, typename Visit>
void for_each_field(const Fields& fields, Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, fields);
}

// The compact form of a Timeline (base/packed.h), alone or in a value that holds one.

template <>
inline constexpr bool kPackedWhole<Span> = true;
static_assert(sizeof(Span) == 2 * sizeof(double) + 4 * sizeof(int) + sizeof(std::int64_t), "no gaps");

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Span> auto& span) {
  for_each_field(kSpanFields, [&](const auto& field) { visit(span.*field.member); });
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Timeline::OpInfo> auto& op) {
  for_each_field(kOpFields, [&](const auto& field) { visit(op.*field.member); });
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Timeline::Measured> auto& measured) {
  for_each_field(kMeasuredFields, [&](const auto& field) { visit(measured.*field.member); });
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Timeline> auto& timeline) {
  for_each_field(kHeadFields, [&](const auto& field) { visit(timeline.*field.member); });
  for_each_field(kRankFields, [&](const auto& field) { visit(timeline.*field.member); });
  visit(timeline.streams, timeline.ops, timeline.groups, timeline.spans, timeline.flow, timeline.measured);
}

}  // namespace shardsim
