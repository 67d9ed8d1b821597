#pragma once

#include "base/tree/map_reader.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// Reads what times the kernels of a case: keys `compute_model` and `software`, where the software that is stated says
// which kernels run.

// The options of the compute model. Without a name it is the usual one on such GPUs.
Tree read_compute_model(MapReader& reader, const Case& item);

// Reads `software` into a case that has its compute model, which gets the kernels of it.
void read_software(MapReader& reader, Case& item);

// Gives the compute model the family of kernels that the case names, else that of its software, else the usual one.
void give_family(Case& item);

// A case with a preset of software in place of that which it has, as the scenario would be read with its name.
Case with_software(Case item, const Software& preset);

}  // namespace shardsim
