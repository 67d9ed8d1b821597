#include "study/explore/explorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/document/document.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/map_reader.h"
#include "study/report/page.h"
#include "study/run/study.h"

namespace shardsim {
namespace {

constexpr std::size_t kKept = 6;  // results of the last settings: those of undo and of what is pinned
constexpr std::size_t kMostMore = 100;

Turned read_turned(const Tree& tree) {
  Turned turned;
  MapReader reader(tree, "");
  turned.case_name = reader.text("case");
  MapReader knobs = reader.map("knobs");
  for (const auto& [id, value] : knobs.tree().fields) turned.knobs[id] = knobs.text(id);
  if (reader.has("more")) turned.more = reader.texts("more");
  if (turned.more.size() > kMostMore)
    throw input_error(reader.place_of("more"), "over 100 further settings", "Write them into the scenario");
  reader.finish();
  return turned;
}

// As --set reads it.
std::pair<std::string, std::string> setting_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw input_error({"argument --set"}, "'" + text + "' is not PATH=VALUE", "Write for example cluster.nodes=8");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

bool has_one_plan(const Case& item) {
  return !item.job && !item.compared;
}

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

ExploreRequest read_request(std::string_view json) {
  const Tree tree = parse_json(json, "request");
  MapReader reader(tree, "");
  ExploreRequest request{read_turned(reader.required("now")), {}};
  const Tree* const pinned = tree.find("pinned");
  if (pinned != nullptr && pinned->kind != Tree::Kind::null && reader.has("pinned"))
    request.pinned = read_turned(*pinned);
  return request;
}

Explorer::Explorer(std::string path, Overrides given)
    : path_(std::move(path)), given_(std::move(given)), reader_(path_, given_) {
  take_names();
  if (!cases_.empty()) return;
  throw input_error({path_}, "no case of it has one plan by itself: all have 'jobs' or 'planners'",
                    "Write a case with a planner, or use 'shardsim run'");
}

void Explorer::take_names() {
  const Scenario& scenario = reader_.whole();
  title_ = scenario.title.empty() ? path_ : scenario.title;
  several_ = scenario.cases.size() > 1;
  cases_.clear();
  for (const Case& item : scenario.cases)
    if (has_one_plan(item)) cases_.push_back(item.name);
}

const Case& Explorer::base_of(const std::string& case_name) {
  if (std::ranges::find(cases_, case_name) == cases_.end())
    throw input_error({"request"}, "unknown case " + excerpt(case_name), known_names_hint(case_name, cases_));
  return reader_.base(case_name).cases.front();
}

const ShippedHardware& Explorer::hardware(bool several_nodes) {
  const auto known = hardware_.find(several_nodes);
  if (known != hardware_.end()) return known->second;
  return hardware_.emplace(several_nodes, ShippedHardware::read(several_nodes)).first->second;
}

const ShippedHardware& Explorer::hardware_for(const Case& base) {
  return hardware(base.cluster.nodes > 1);
}

Overrides Explorer::overrides_for(const Turned& turned) {
  const Case& base = base_of(turned.case_name);
  Overrides changes = given_;
  changes.only_cases = {turned.case_name};
  Settings settings = settings_of_knobs(turned.knobs, base, hardware_for(base));
  for (const std::string& text : turned.more) {
    auto setting = setting_of(text);
    const auto is_same = [&](const auto& known) { return known.first == setting.first; };
    if (std::ranges::any_of(settings, is_same))
      throw input_error({"argument --set " + setting.first}, "the path is set twice", "Set it once");
    settings.push_back(std::move(setting));
  }
  for (auto& setting : settings) {
    std::erase_if(changes.set, [&](const auto& known) { return known.first == setting.first; });
    changes.set.push_back(std::move(setting));
  }
  return changes;
}

std::shared_ptr<const Explored> Explorer::explored(const Turned& turned, const WorkerOptions& workers) {
  if (reader_.renew()) {
    latest_.clear();
    take_names();
  }
  const auto known = std::ranges::find_if(latest_, [&](const auto& each) { return each->turned == turned; });
  if (known != latest_.end()) {
    latest_.splice(latest_.begin(), latest_, known);
    return latest_.front();
  }
  const Overrides changes = overrides_for(turned);
  auto made = std::make_shared<Explored>();
  made->turned = turned;
  made->settings = changes.set;
  made->scenario = reader_.with_case(turned.case_name, changes);
  made->study = run_study(made->scenario, workers, &shares_);
  latest_.push_front(std::move(made));
  if (latest_.size() > kKept) latest_.pop_back();
  return latest_.front();
}

std::string Explorer::command(const Explored& explored) const {
  std::string text = "shardsim run " + shell_word(path_);
  if (several_) text += " --case " + shell_word(explored.turned.case_name);
  for (const auto& [path, value] : explored.settings) text += " --set " + shell_word(path + "=" + value);
  if (given_.seed) text += " --seed " + std::to_string(*given_.seed);
  if (given_.torchrec_only) text += " --torchrec-only";
  if (!given_.memory_model.empty()) text += " --memory-model " + shell_word(given_.memory_model);
  return text;
}

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
