#pragma once

#include <string>

#include "sim/report/sheet.h"
#include "sim/study/result.h"

namespace shardsim {

// Per case, what the fullest GPU holds at its high-water mark, part by part, beside the memory model's figures for it.
Sheet memory_sheet(const StudyResult& study);
std::string memory_legend();

}  // namespace shardsim
