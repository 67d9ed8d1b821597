#pragma once

#include <cstddef>
#include <vector>

#include "validate/measurements/measured_row.h"

namespace shardsim {

// Which of the rows of one system and collective a calibration may use, by a rule that looks at nodes and sizes alone,
// never at times: at most `most` positions in `rows`, ascending. All rows are complete, with nodes and GPUs known.
//
// In the largest group (nodes x GPUs) the sizes nearest to: the smallest, `most` - 2 spread evenly in the logarithm
// from 4 to 32 MiB, the largest; where the smallest is 1 MiB or more, `most` spread evenly in the logarithm. With rows
// both in a node and across nodes each reach gets its half, spread from the smallest to the largest; across nodes one
// of them is the largest size of the smallest group, which shows what a single pair can do.
std::vector<std::size_t> rows_to_fit(const std::vector<MeasuredRow>& rows, int most);

}  // namespace shardsim
