#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/document.h"

namespace shardsim {

// The whole page of a document, in one self-contained file: style, content, and the scripts that draw its charts. Rows
// that several charts show are there once. Says so when this program was built without charts. Errors: Failure::run
// naming a file of the plots folder that is missing; as fill_chart().
std::string page_html(const Document& document);

// The Vega specification with every named data set filled, as JSON text safe inside a script element.
// Data sets of the specification that name no `source` are to be filled; its scales named in `logarithmic` become so.
// Errors (Failure::run, naming `source`): not JSON; a `url` anywhere; values of its own; a data set that the
// specification names and `sets` lacks, or the reverse; a scale that it lacks; a number that is not finite.
std::string fill_chart(std::string_view specification, const std::string& source, const std::vector<DataSet>& sets,
                       const std::vector<std::string>& logarithmic = {});

// The joined Vega script, or nothing when this program was built without charts.
std::optional<std::string> vega_script();

// Says that a command has written a page without Vega; "" with it.
std::string missing_charts_text();

// A file of the plots folder: a style sheet or a script. Errors: Failure::run where it is missing.
std::string page_asset(const std::string& name);

// JSON text for a script element: every "<" as \u003c, so that no value can end the element or open a comment.
std::string escape_script_json(std::string_view json);

}  // namespace shardsim
