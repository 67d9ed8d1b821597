#pragma once

#include <string>

#include "base/document/document.h"

namespace shardsim {

// The document as a terminal shows it at first, in at most kFirstScreenLines lines where its answer allows that: all of
// it where it is so short, else its title, its answers (paragraphs that are no caption and stand outside of tables) and
// warnings, and as many rows of its first `tables` tables as there is room for; of a table with headings, the first
// rows below each. Legends, notes and the other tables give way, then sentences but the first one where they would
// leave hardly a row of the first table, and a last line says what did, and that the option --details shows it. `width`
// and `colour` as for document_text().
std::string first_screen_text(const Document& document, int width, bool colour, int tables = 1);

// A terminal of 24 lines has room for so many beside the place of a report and the next prompt.
inline constexpr int kFirstScreenLines = 22;

}  // namespace shardsim
