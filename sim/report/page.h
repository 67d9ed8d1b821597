#pragma once

#include <string>
#include <vector>

#include "sim/report/chart.h"

namespace shardsim {

// Parts of a self-contained HTML page. Texts are escaped here; `content` and `body` are HTML.

// Something shown on demand.
std::string folded_html(const std::string& summary, const std::string& content, const std::string& css_class);

// A section with a chart, drawn when `drawn`, and its data as a table on demand.
std::string chart_html(const Chart& chart, bool drawn);

// A section with a table; "" when the table is empty.
std::string table_section(const std::string& heading, const std::string& caption, const Sheet& sheet);

// The whole page: style, `body`, and the scripts that draw its charts. Says so when the program has no charts.
std::string page_html(const std::string& title, const std::string& body);

// True when this program can draw charts.
bool charts_available();

}  // namespace shardsim
