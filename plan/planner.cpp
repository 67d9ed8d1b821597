#include "plan/planner.h"

#include <stdexcept>

namespace shardsim {
namespace {

[[noreturn]] void refuse_question(const char* what) {
  throw std::logic_error(std::string("a planner asks for ") + what + ", which nobody answers here");
}

}  // namespace

PlannerBandwidths PlannerHost::bandwidths() const {
  refuse_question("bandwidths");
}
PlacementLoad PlannerHost::load_of(const Placement&) const {
  refuse_question("the load of a placement");
}
const ComputeModel& PlannerHost::compute_model() const {
  refuse_question("a compute model");
}
IterationOutline PlannerHost::outline_of(const Plan&) const {
  refuse_question("the operations of a plan");
}
Seconds PlannerHost::estimated(const Plan&) const {
  refuse_question("an estimate");
}
Seconds PlannerHost::simulated(const Plan&) const {
  refuse_question("a simulation");
}
PlanTrial PlannerHost::tried(const Plan&) const {
  refuse_question("a trial");
}

}  // namespace shardsim
