#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/study/result.h"

namespace shardsim {

// Keys `torchrec` of a case and `cross_checks` of a result (docs/formats.md, Result).
nlohmann::ordered_json torchrec_json(const CaseResult& result);
nlohmann::ordered_json cross_checks_json(const StudyResult& study);

}  // namespace shardsim
