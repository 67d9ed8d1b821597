#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/torchrec/spec/names.h"
#include "tests/case_file/fields.h"

namespace shardsim::golden {

// Computes what a case expects from its `input`, and lists the differences. Throws for what it does not understand.
using Checker = std::vector<std::string> (*)(const Json& input, const Json& expect);
// The same for kinds that both versions of the planner have cases of.
using VersionedChecker = std::vector<std::string> (*)(const Json& input, const Json& expect,
                                                      torchrec::PlannerVersion version);

struct Kind {
  std::string_view name;
  Checker check = nullptr;
  VersionedChecker versioned = nullptr;  // where `check` is null
};

std::span<const Kind> kinds();  // alphabetical

std::vector<std::string> check_allocate_budget(const Json& input, const Json& expect);
std::vector<std::string> check_allocate_budget_list(const Json& input, const Json& expect);
std::vector<std::string> check_binary_search(const Json& input, const Json& expect);
std::vector<std::string> check_dense_reservation(const Json& input, const Json& expect);
std::vector<std::string> check_estimate(const Json& input, const Json& expect, torchrec::PlannerVersion version);
std::vector<std::string> check_imbalance(const Json& input, const Json& expect);
std::vector<std::string> check_imbalance_list(const Json& input, const Json& expect);
std::vector<std::string> check_kernel_bw(const Json& input, const Json& expect, torchrec::PlannerVersion version);
std::vector<std::string> check_kernel_bw_list(const Json& input, const Json& expect);
std::vector<std::string> check_luus_jaakola(const Json& input, const Json& expect);
std::vector<std::string> check_luus_jaakola_list(const Json& input, const Json& expect);
std::vector<std::string> check_miss_rate(const Json& input, const Json& expect);
std::vector<std::string> check_miss_rate_list(const Json& input, const Json& expect);
std::vector<std::string> check_partition(const Json& input, const Json& expect, torchrec::PlannerVersion version);
std::vector<std::string> check_perf_models(const Json& input, const Json& expect);
std::vector<std::string> check_pipeline_io(const Json& input, const Json& expect);
std::vector<std::string> check_plan(const Json& input, const Json& expect, torchrec::PlannerVersion version);
std::vector<std::string> check_planner_outcome(const Json& input, const Json& expect);
std::vector<std::string> check_propose(const Json& input, const Json& expect);
std::vector<std::string> check_proposer_count(const Json& input, const Json& expect);
std::vector<std::string> check_proposer_sequence(const Json& input, const Json& expect);
std::vector<std::string> check_reservation(const Json& input, const Json& expect);
std::vector<std::string> check_row_wise_buckets(const Json& input, const Json& expect);
std::vector<std::string> check_scaleup(const Json& input, const Json& expect);
std::vector<std::string> check_budget_shrink(const Json& input, const Json& expect);
std::vector<std::string> check_storage_compare(const Json& input, const Json& expect);
std::vector<std::string> check_storage_hash(const Json& input, const Json& expect);
std::vector<std::string> check_storage_specific_sizes(const Json& input, const Json& expect);
std::vector<std::string> check_topology(const Json& input, const Json& expect);
std::vector<std::string> check_validate_compute_kernels(const Json& input, const Json& expect);
std::vector<std::string> check_virtual_table_planner(const Json& input, const Json& expect);

}  // namespace shardsim::golden
