#include "program/op_role.h"

#include <algorithm>
#include <array>

namespace shardsim {
namespace {

struct ClassRow {
  OpClass op_class;
  std::string_view name;
  std::optional<CollectiveKind> collective = {};
};

constexpr std::array<ClassRow, 10> kClasses{{
    {OpClass::lookup, "lookup"},
    {OpClass::update, "update"},
    {OpClass::dense, "dense"},
    {OpClass::all_to_all, "all_to_all", CollectiveKind::all_to_all},
    {OpClass::all_reduce, "all_reduce", CollectiveKind::all_reduce},
    {OpClass::reduce_scatter, "reduce_scatter", CollectiveKind::reduce_scatter},
    {OpClass::all_gather, "all_gather", CollectiveKind::all_gather},
    {OpClass::broadcast, "broadcast", CollectiveKind::broadcast},
    {OpClass::send_recv, "send_recv", CollectiveKind::send_recv},
    {OpClass::host, "host"},
}};

struct RoleRow {
  OpRole role;
  std::string_view name;
  std::optional<OpClass> op_class;
  Belonging fusion;
  std::string_view purpose = {};
};

// Purposes of several roles.
constexpr std::string_view kOfIds = "the all-to-all of ids";
// One clause for both ways: apart, each may look small beside the dense part.
constexpr std::string_view kOfVectors = "the all-to-all of vectors and gradients";
constexpr std::string_view kStashing = "moving stashed rows to host memory and back";
constexpr std::string_view kSharding = "sharding rows among their replicas and gathering them again";
constexpr std::string_view kConverting = "converting vectors and gradients for the wire";
constexpr std::string_view kUpdating = "updating rows";
constexpr std::string_view kDensePart = "the dense part";
constexpr std::string_view kAccumulating = "gradients, added to those of earlier batches";

constexpr std::array<RoleRow, 55> kRoles{{
    {OpRole::none, "none", std::nullopt, Belonging::none},
    {OpRole::copy_inputs, "copy_inputs", OpClass::dense, Belonging::none, "copying batches from the host"},
    {OpRole::transform_inputs, "transform_inputs", OpClass::dense, Belonging::none,
     "transforming batches in stages of the pipeline"},
    {OpRole::deduplicate_ids, "deduplicate_ids", OpClass::dense, Belonging::none},
    {OpRole::split_tiers, "split_tiers", OpClass::dense, Belonging::none},
    {OpRole::permute_inputs, "permute_inputs", OpClass::dense, Belonging::none},
    {OpRole::bucketize, "bucketize", OpClass::dense, Belonging::none},
    {OpRole::exchange_splits, "exchange_splits", OpClass::all_to_all, Belonging::may, kOfIds},
    {OpRole::wait_for_splits, "wait_for_splits", OpClass::dense, Belonging::none,
     "the host, which waits for the sizes of exchanges"},
    {OpRole::exchange_lengths, "exchange_lengths", OpClass::all_to_all, Belonging::must, kOfIds},
    {OpRole::exchange_ids, "exchange_ids", OpClass::all_to_all, Belonging::must, kOfIds},
    {OpRole::exchange_weights, "exchange_weights", OpClass::all_to_all, Belonging::must, kOfIds},
    {OpRole::recat, "recat", OpClass::dense, Belonging::none},
    {OpRole::fetch_rows, "fetch_rows", OpClass::dense, Belonging::none, "fetching rows from key-value stores"},
    {OpRole::prefetch_rows, "prefetch_rows", OpClass::dense, Belonging::none,
     "fetching rows that caches miss, and writing others back"},
    {OpRole::write_rows, "write_rows", OpClass::dense, Belonging::none, "writing rows back to key-value stores"},
    {OpRole::keep_ids, "keep_ids", OpClass::dense, Belonging::none},
    {OpRole::index_rows, "index_rows", OpClass::update, Belonging::must, kUpdating},
    {OpRole::lookup, "lookup", OpClass::lookup, Belonging::must, "looking up rows"},
    {OpRole::order_lookups, "order_lookups", OpClass::dense, Belonging::must},
    {OpRole::encode_output, "encode_output", OpClass::dense, Belonging::must, kConverting},
    {OpRole::sum_output, "sum_output", OpClass::reduce_scatter, Belonging::must, "the reduce-scatter of partial sums"},
    {OpRole::exchange_output, "exchange_output", OpClass::all_to_all, Belonging::must, kOfVectors},
    {OpRole::decode_output, "decode_output", OpClass::dense, Belonging::must, kConverting},
    {OpRole::order_output, "order_output", OpClass::dense, Belonging::must},
    {OpRole::merge_tiers, "merge_tiers", OpClass::dense, Belonging::none},
    {OpRole::restore_duplicates, "restore_duplicates", OpClass::dense, Belonging::none},
    {OpRole::stash_rows, "stash_rows", OpClass::dense, Belonging::none, kStashing},
    {OpRole::restore_rows, "restore_rows", OpClass::dense, Belonging::none, kStashing},
    {OpRole::scatter_rows, "scatter_rows", OpClass::reduce_scatter, Belonging::must, kSharding},
    {OpRole::gather_rows, "gather_rows", OpClass::all_gather, Belonging::must, kSharding},
    {OpRole::bottom_forward, "bottom_forward", OpClass::dense, Belonging::none, kDensePart},
    {OpRole::dense_forward, "dense_forward", OpClass::dense, Belonging::none, kDensePart},
    {OpRole::dense_backward, "dense_backward", OpClass::dense, Belonging::none, kDensePart},
    {OpRole::bottom_backward, "bottom_backward", OpClass::dense, Belonging::none, kDensePart},
    {OpRole::dense_accumulate, "dense_accumulate", OpClass::dense, Belonging::none, kAccumulating},
    {OpRole::dense_all_reduce, "dense_all_reduce", OpClass::all_reduce, Belonging::none,
     "the all-reduce of the dense part's gradients"},
    {OpRole::dense_update, "dense_update", OpClass::update, Belonging::none, kDensePart},
    {OpRole::sum_duplicates, "sum_duplicates", OpClass::dense, Belonging::none},
    {OpRole::split_gradient_tiers, "split_gradient_tiers", OpClass::dense, Belonging::none},
    {OpRole::order_gradient, "order_gradient", OpClass::dense, Belonging::must},
    {OpRole::encode_gradient, "encode_gradient", OpClass::dense, Belonging::must, kConverting},
    {OpRole::exchange_gradient, "exchange_gradient", OpClass::all_to_all, Belonging::must, kOfVectors},
    {OpRole::gather_gradient, "gather_gradient", OpClass::all_gather, Belonging::must, "the all-gather of gradients"},
    {OpRole::decode_gradient, "decode_gradient", OpClass::dense, Belonging::must, kConverting},
    {OpRole::divide_gradient, "divide_gradient", OpClass::dense, Belonging::must},
    {OpRole::order_received_gradient, "order_received_gradient", OpClass::dense, Belonging::must},
    {OpRole::weight_gradient, "weight_gradient", OpClass::dense, Belonging::must, "the gradient of ids' weights"},
    {OpRole::sum_gradient, "sum_gradient", OpClass::update, Belonging::must, kUpdating},
    {OpRole::accumulate_gradient, "accumulate_gradient", OpClass::dense, Belonging::must, kAccumulating},
    {OpRole::reduce_gradient, "reduce_gradient", OpClass::all_reduce, Belonging::must,
     "the all-reduce of gradients of replicated rows"},
    {OpRole::update, "update", OpClass::update, Belonging::must, kUpdating},
    {OpRole::apply, "apply", OpClass::update, Belonging::must, kUpdating},
    {OpRole::average_replicas, "average_replicas", OpClass::all_reduce, Belonging::none,
     "the all-reduce that averages the replicas of rows"},
    {OpRole::launch, "launch", OpClass::host, Belonging::none},
}};

const RoleRow& row_of(OpRole role) {
  return *std::ranges::find(kRoles, role, &RoleRow::role);
}

const ClassRow& row_of(OpClass op_class) {
  return *std::ranges::find(kClasses, op_class, &ClassRow::op_class);
}

template <typename Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

}  // namespace

std::string_view op_class_name(OpClass op_class) {
  return row_of(op_class).name;
}

std::vector<std::string> op_class_names() {
  return names_of(kClasses);
}

std::optional<CollectiveKind> collective_kind(OpClass op_class) {
  return row_of(op_class).collective;
}

std::string_view op_role_name(OpRole role) {
  return row_of(role).name;
}

std::vector<std::string> op_role_names() {
  return names_of(kRoles);
}

std::optional<OpClass> class_of(OpRole role) {
  return row_of(role).op_class;
}

std::string_view op_role_purpose(OpRole role) {
  return row_of(role).purpose;
}

Belonging belongs_to_fusion(OpRole role) {
  return row_of(role).fusion;
}

bool is_dense_part(OpRole role) {
  return role >= OpRole::bottom_forward && role <= OpRole::dense_update;
}

bool occupies_gpu(OpRole role) {
  return role != OpRole::launch && role != OpRole::wait_for_splits && role != OpRole::copy_inputs &&
         role != OpRole::stash_rows && role != OpRole::restore_rows && !moves_stored_rows(role);
}

bool moves_stored_rows(OpRole role) {
  return role == OpRole::fetch_rows || role == OpRole::write_rows;
}

bool exchanges_inputs(OpRole role) {
  return role == OpRole::exchange_splits || role == OpRole::exchange_lengths || role == OpRole::exchange_ids ||
         role == OpRole::exchange_weights;
}

}  // namespace shardsim
