#pragma once

#include <string>
#include <vector>

#include "base/document/document.h"
#include "study/result/result.h"

namespace shardsim {

// Fitted constants of one origin that several files state alike.
struct SharedConstants {
  struct Constant {
    std::string key, value;  // "tables.1..8,12.access.s", "1.07"
    bool operator==(const Constant&) const = default;
  };
  std::vector<std::string> owners;  // clusters, workloads and software; "" where only one file states constants
  std::vector<Constant> constants;
  std::vector<std::string> fitted_on;
  std::string source;
};

// Every fitted constant of the study, each value once: files that state the same constants from the same origin share
// an entry, and so do the tables of a list that share a value. In the order they come up.
std::vector<SharedConstants> shared_constants(const StudyResult& study);

// A page names every owner, a terminal the first of many.
Section constants_section(const StudyResult& study, Medium medium);

}  // namespace shardsim
