// real_load_cases FILE: recomputes every case of a file of real load (README.md of the folder above says its form) and
// compares. Prints what differs; the last line reads "N passed, N failed". Exit 0: all passed, 1: some failed, 2: no
// such file, or no file of this schema.

#include "tests/case_file/case_file.h"
#include "tests/models/load/cases/case.h"

namespace shardsim::golden {
namespace {

constexpr const char* kSchema = "shardsim.real_load_cases/1";

constexpr LoadKind kKinds[] = {{"distinct_rows", check_distinct_rows},
                               {"draw", check_draw},
                               {"drawn_exchange", check_drawn_exchange},
                               {"exchange_cells", check_exchange_cells},
                               {"first_id_bags", check_first_id_bags},
                               {"hottest_owner", check_hottest_owner},
                               {"length_law", check_length_law},
                               {"log_normal_maximum", check_log_normal_maximum},
                               {"max_over_mean_grid", check_grid},
                               {"maximum_of_normals", check_maximum_of_normals},
                               {"rank_total", check_rank_total},
                               {"row_shares", check_row_shares},
                               {"sample_factor", check_sample_factor},
                               {"shares_over_seeds", check_shares_over_seeds},
                               {"spread", check_spread},
                               {"tables_together", check_tables_together},
                               {"two_tables_by_type", check_two_tables},
                               {"uniforms", check_uniforms}};

bool knows(const Json& root) {
  return root.value("schema", Json()) == kSchema;
}

std::vector<std::string> check_case(const Json& item, const Json&) {
  static const Json kNone;
  Fields fields(item, "case");
  const std::string name = fields.text("kind");
  fields.ignore({"id", "brute_force", "nearest_rounding_edge"});
  const Json* error = fields.given("standard_error");
  const LoadCase load{fields.at("input"), fields.at("expected"), fields.at("tolerance"), error ? *error : kNone};
  fields.finish();
  if (load.expected.empty()) return {"it expects nothing"};
  for (const LoadKind& kind : kKinds) {
    if (kind.name == name) return kind.check(load);
  }
  return {"unknown kind '" + name + "'"};
}

}  // namespace
}  // namespace shardsim::golden

int main(int argc, char** argv) {
  using namespace shardsim::golden;
  return run_case_program({"real_load_cases", knows, kSchema, check_case}, argc, argv);
}
