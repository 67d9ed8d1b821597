#pragma once

#include <string>

#include "base/document/document.h"
#include "study/why/help.h"
#include "study/why/why.h"

namespace shardsim {

// The document of `shardsim why` for a case, for a terminal or a page. `help`: what would make it shorter; null: nobody
// asked.
Document why_document(const Why& why, const Help* help, const std::string& case_name, Medium medium);

// The sheets of it, which a report takes one by one. At most `most` rows; 0: all.
Sheet path_sheet(const Why& why, std::size_t most = 0);
Sheet table_parts_sheet(const Why& why, std::size_t most = 0);

}  // namespace shardsim
