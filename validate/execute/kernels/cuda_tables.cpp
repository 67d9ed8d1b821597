#include <algorithm>

#include "base/error.h"
#include "validate/execute/kernels/cuda_embedding.h"

namespace shardsim::cuda {
namespace {

constexpr std::int64_t kVectorBytes = 16;
constexpr std::size_t kMostTables = 65535;  // layers of a grid

void check_limits(const TableBatch& tables) {
  const bool fits = tables.rows.size() <= kMostTables &&
                    static_cast<std::int64_t>(tables.rows.size()) * tables.bags < (std::int64_t{1} << 32);
  if (fits) return;
  throw input_error({}, "too many tables or bags in one call of a GPU kernel (65,535 tables, 2^32 bags of all tables)",
                    "Use a smaller batch per GPU");
}

}  // namespace

DeviceTables::DeviceTables(const TableBatch& tables) : type_(tables.type), bags_(tables.bags) {
  check_limits(tables);
  place_tables(tables);
  sort_by_alignment();
}

void DeviceTables::place_tables(const TableBatch& tables) {
  std::int64_t elements = 0;
  for (int t = 0; t < tables.tables(); ++t) {
    host_.push_back({tables.rows[t], tables.dim[t], tables.begin[t], output_dim_, rows_, elements});
    output_dim_ += tables.dim[t];
    rows_ += tables.rows[t];
    elements += tables.rows[t] * tables.dim[t];
  }
  views_ = DeviceBuffer(host_.size() * sizeof(TableView), "the list of tables");
  views_.upload(host_.data(), host_.size() * sizeof(TableView));
}

void DeviceTables::sort_by_alignment() {
  const std::int64_t bytes = element_bytes(type_);
  const auto in_vectors = [&](const TableView& table) {
    return table.dim * bytes % kVectorBytes == 0 && table.begin * bytes % kVectorBytes == 0;
  };
  std::vector<int> aligned, others;
  for (int t = 0; t < this->tables(); ++t) {
    const bool whole = in_vectors(host_[t]);
    (whole ? aligned : others).push_back(t);
    List& list = whole ? in_vectors_ : in_elements_;
    list.largest_dim = std::max(list.largest_dim, host_[t].dim);
  }
  in_vectors_.count = static_cast<int>(aligned.size());
  in_elements_.count = static_cast<int>(others.size());
  aligned.insert(aligned.end(), others.begin(), others.end());
  lists_ = DeviceBuffer(aligned.size() * sizeof(int), "the list of tables");
  lists_.upload(aligned.data(), aligned.size() * sizeof(int));
  in_vectors_.tables = lists_.as<int>();
  in_elements_.tables = lists_.as<int>() + in_vectors_.count;
}

std::int64_t DeviceTables::largest_dim() const {
  return std::max(in_vectors_.largest_dim, in_elements_.largest_dim);
}

bool DeviceTables::four_columns() const {
  return output_dim_ % 4 == 0 && std::all_of(host_.begin(), host_.end(), [](const TableView& table) {
           return table.dim % 4 == 0 && table.begin % 4 == 0 && table.column % 4 == 0;
         });
}

}  // namespace shardsim::cuda
