#include "study/explore/explore_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/document/document.h"
#include "study/report/page.h"

namespace shardsim {
namespace {

// The frame that the script fills; what it says without scripts is said here.
constexpr const char* kFrame = R"(<header>
<h1>{title}</h1>
<p class="origin" id="about"></p>
</header>
<p class="notice" id="stopped" role="alert" hidden></p>
<noscript><p class="notice">This page needs scripts: each change of a field is simulated by the server behind it.</p></noscript>
<div class="explore">
<form id="knobs" aria-label="what is changed" autocomplete="off"></form>
<main id="answer" aria-busy="true"><p class="caption">Simulating ...</p></main>
</div>
)";

}  // namespace

std::string explore_page(const Explorer& explorer, const std::string& first, const std::string& restart,
                         const std::string& nonce) {
  const nlohmann::ordered_json start{
      {"title", explorer.title()}, {"cases", explorer.cases()}, {"case", first}, {"restart", restart}};
  const std::string title = escape_html(explorer.title());
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Explore: " +
      title + "</title>\n<style>\n" + page_asset("report.css") + page_asset("explore.css") +
      "</style>\n</head>\n<body>\n";
  page += fmt::format(fmt::runtime(kFrame), fmt::arg("title", title));
  page += "<script type=\"application/json\" id=\"start\">" +
          escape_script_json(start.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
          "</script>\n";
  page += fmt::format("<script nonce=\"{}\">\n", nonce) + page_asset("chart_theme.js") + page_asset("own_chart.js") +
          page_asset("explore.js") + "</script>\n";
  return page + "</body>\n</html>\n";
}

}  // namespace shardsim
