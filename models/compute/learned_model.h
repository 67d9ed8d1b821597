#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree/tree.h"
#include "models/compute/compute_model.h"
#include "models/learned/learned_costs.h"
#include "models/workload/workload.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// The compute model `learned` (models/learned.cpp): lookups and updates by nets that were trained on measured times,
// everything else by gpu_kernels. Here is what others must know of it: what its nets were taught by, and where they
// end.

inline constexpr const char* kLearnedModel = "learned";
bool is_learned(const Tree& compute_model);

// True for the models that have constants of each GPU's kernels: gpu_kernels, and learned for all that its nets do not
// predict.
bool has_kernel_constants(const Tree& compute_model);

// The shipped costs, read once; null where an installation left them out.
std::shared_ptr<const LearnedCosts> shipped_costs();

// The costs that the options of the model `learned` name. Errors (Failure::input): those of LearnedCosts::read; nets
// of a layout whose features operations do not state; `auto` where none are shipped.
std::shared_ptr<const LearnedCosts> learned_costs_of(const Tree& compute_model);

// The family of kernels that labels are of; "" of labels in closed form and the like.
std::string kernels_of(const LabelSetting& setting);

// True where labels of the device hold for a GPU of that name.
bool is_same_device(const std::string& device, const std::string& gpu);

// Columns that the kernels of FBGEMM and of the executor move at once.
inline constexpr std::int64_t kColumnsAtOnce = 4;

// Refuses columns that these kernels do not look up (Failure::input, at the table).
void check_columns(const Table& table, const std::string& kernels);

// Refuses what no net can know: another GPU than that of the labels, another optimizer or type of rows, sequences, and
// columns that the kernels do not take (Failure::input: at the table, or at the model). Null `costs`: another model.
void check_learned(const LearnedCosts* costs, const Tree& compute_model, const GpuSpec& gpu, const Workload& workload);

// "512 columns (learned from 4 to 256)" where a number lies outside; else "", and where the range says nothing.
std::string beyond(std::string_view noun, double number, std::int64_t from, std::int64_t to);

// The figures by which nets know what one rank does of a table.
TableStatistics statistics_of(const TableWork& table);

// The tables of one call as nets see them. `row_alignment`: as LearnedCosts has it.
std::vector<CallPiece> pieces_of(const std::vector<TableWork>& tables, int row_alignment);

// Returns the seconds that the nets give one call on all these tables.
ShardSeconds seconds_by_nets(const LearnedCosts& costs, const std::vector<TableWork>& tables);

// The compute model that has the laws of the kernels which the labels are of; null: labels of no known kernels.
std::unique_ptr<ComputeModel> laws_beside(const LearnedCosts& costs);

// How far nets may be from the laws of the same kernels on a call like those of their labels: the shipped ones are
// within 1.29 times on each of the 8,199 lookups that were measured, and within 1.49 on each of the updates.
inline constexpr double kLookupsApart = 1.3, kUpdatesApart = 1.5;

// True where nets and laws are further apart than on any label: the nets have seen nothing like the call.
bool strays(ComputeWork::Kind kind, Seconds by_nets, Seconds by_laws);

// "updates of table 'a' take 0.03 ms by the nets and 0.2 ms by the laws of the same kernels", of what ends in "take";
// "" where they do not stray.
std::string stray_text(ComputeWork::Kind kind, const std::string& what, Seconds by_nets, Seconds by_laws);

// Names what lies outside of the nets' labels, in the tables and in lookups of `batch` samples on `gpu`: "table 'a' has
// 512 columns (learned from 4 to 256)", or lookups and updates of a table for which the nets stray.
std::vector<std::string> beyond_labels(const LearnedCosts& costs, const Workload& workload, std::int64_t batch,
                                       const GpuSpec& gpu);

}  // namespace shardsim
