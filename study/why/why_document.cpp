#include "study/why/why_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/document/cells.h"
#include "study/why/help.h"
#include "study/why/what_if.h"

namespace shardsim {
namespace {

constexpr std::size_t kRowsOnTerminal = 12;  // of the lists that may be long

using Role = Paragraph::Role;

std::size_t shown(std::size_t rows, std::size_t most) {
  return most == 0 ? rows : std::min(rows, most);
}

// Milliseconds as the column of a case shows them.
class Cells {
 public:
  explicit Cells(const Why& why) : all_(why.iteration_ms), places_(decimals_for(all_)) {}
  std::string ms(double value) const { return fixed(value, places_); }
  std::string some_ms(double value) const { return value > 0 ? ms(value) : ""; }
  // The slack of a step that has hardly any, so that it is not mistaken for one that has none.
  std::string slack(double value) const {
    if (is_none(value)) return "0";
    const double least = std::pow(10.0, -places_);
    return value < least / 2 ? "< " + ms(least) : ms(value);
  }
  // But for rounding: an iteration is called steady where it differs by so much from the one before it.
  bool is_none(double value) const { return value <= 1e-6 * all_; }
  std::string share(double value) const { return all_ > 0 ? fixed(100 * value / all_, 1) : "-"; }
  std::string rank(int number) const { return number < 0 ? "" : std::to_string(number); }

 private:
  double all_;
  int places_;
};

// Returns a remark on a part beside its own work: where its bytes went, and what slowed it.
std::string remark_of(const PathPart& part, const Cells& cells) {
  std::string text = part.over.empty() ? "" : fmt::format("over {}", part.over);
  if (part.slowed_ms <= 0) return text;
  const std::string with = part.beside.empty() ? "" : fmt::format(" by {}", part.beside);
  return fmt::format("{}{}{} ms slowed{}", text, text.empty() ? "" : ", ", cells.ms(part.slowed_ms), with);
}

// A long path shows its most expensive parts, in its order.
double least_shown(const Why& why, std::size_t most) {
  if (most == 0 || why.parts.size() <= most) return -1e300;
  std::vector<double> ms;
  for (const PathPart& part : why.parts) ms.push_back(part.ms);
  std::ranges::sort(ms, std::greater{});
  return ms[most - 1];
}

Sheet collectives_sheet(const Why& why) {
  const Cells cells(why);
  Sheet sheet;
  sheet.columns = {
      {"collective", false, true}, {"on path ms"}, {"transfer ms"}, {"waiting ms"}, {"for rank"}, {"of it ms"},
      {"longest in", false}};
  for (const CollectivePart& part : why.collectives) {
    const std::string table = part.table.empty() ? "" : fmt::format(" ({})", part.table);
    sheet.rows.push_back(
        {{part.operation, cells.ms(part.path_ms), cells.ms(part.transfer_ms), cells.ms(part.waiting_ms),
          cells.rank(part.rank), part.rank < 0 ? "" : cells.ms(part.waited_ms), part.waited_on + table},
         false});
  }
  return sheet;
}

Sheet slack_sheet(const Why& why, std::size_t most) {
  const Cells cells(why);
  Sheet sheet;
  sheet.columns = {{"operation", false, true}, {"kind", false}, {"slack ms"}, {"%"}, {"rank"}};
  for (std::size_t i = 0; i < shown(why.slack.size(), most); ++i) {
    const SlackPart& part = why.slack[i];
    sheet.rows.push_back(
        {{part.operation, part.op_class, cells.slack(part.slack_ms), cells.share(part.slack_ms), cells.rank(part.rank)},
         false});
  }
  return sheet;
}

std::string slack_legend(const Why& why, std::size_t most) {
  const std::size_t rows = shown(why.slack.size(), most);
  const bool second_path = rows > 0 && Cells(why).is_none(why.slack.front().slack_ms);  // the least stands first
  return fmt::format(
      "slack: how much longer the operation could take in every iteration before iterations get longer.{}",
      second_path ? " 0: it is on another path of the same length, so iterations get longer as soon as it does." : "");
}

std::string path_legend(const Why& why, std::size_t most) {
  std::string text =
      why.repeats
          ? "One round of the path that every iteration takes: each operation made the next one start. "
          : "From the end of the previous iteration to the end of this one: each operation made the next one start. ";
  text += "rank: the rank on which the operation runs, or one like it; start: the time before bytes move.";
  if (most > 0 && why.parts.size() > most)
    text += fmt::format(" The {} longest of {} operations.", most, why.parts.size());
  return text;
}

// A change for the better that makes an iteration longer by so little does so by the order of its operations alone.
constexpr double kNothingPerCent = 0.015;  // per cent per per cent
constexpr double kNothingShorter = 0.3;    // per cent of the iteration
constexpr const char* kNothing = "nothing";

bool is_nothing(double percent, double rounds_to_none, double most_for_worse) {
  return percent < rounds_to_none && percent > -most_for_worse;
}

// Without the sign of what rounds to 0.
std::string hundredths(double value) {
  return fixed(std::abs(value) < 0.005 ? 0 : value, 2);
}

// "-3.60 %": how much longer an iteration is.
std::string signed_hundredths(double value) {
  return std::abs(value) < 0.005 ? "0.00 %" : fmt::format("{:+.2f} %", value);
}

constexpr const char* kAnotherOrder = "another order";

// True where what should help makes the iteration tellingly longer; a choice may do so by itself.
bool is_longer(const Supposed& each) {
  return each.shorter_pct < -kNothingShorter && !is_way(each.key);
}

// Of a lever whose sides differ.
const char* step_text(const Elasticity& lever) {
  const double gained = -*lever.better_pct, lost = *lever.worse_pct;
  if (gained < lost) return gained < kNothingShorter ? "a step: better brings nothing" : "a step: worse costs more";
  return lost < kNothingShorter ? "a step: worse costs nothing" : "a step: better brings more";
}

// What the figures of a lever do not say.
const char* remark_on(const Elasticity& lever) {
  if (lever.is_longer_when_better()) return kAnotherOrder;
  if (lever.is_uneven()) return step_text(lever);
  if (lever.switches) return "another path";
  // A smaller batch that shortens iterations by less than itself.
  const bool loses = lever.lever == "batch" && lever.better_pct && *lever.better_pct > -100 * kLeverStep;
  return loses ? "fewer samples/s" : "";
}

Sheet elasticities_sheet(const Help& help) {
  Sheet sheet;
  sheet.columns = {{"what", false, true}, {"10 % better"}, {"10 % worse"}, {"% per %"}, {"path alone"}, {"", false}};
  for (const Elasticity& each : help.elasticities) {
    const auto cell = [](const std::optional<double>& value) { return value ? hundredths(*value) : ""; };
    const auto longer_by = [](const std::optional<double>& value) { return value ? signed_hundredths(*value) : ""; };
    const bool nothing = is_nothing(each.percent, 0.005, kNothingPerCent);
    sheet.rows.push_back({{each.name, longer_by(each.better_pct), longer_by(each.worse_pct),
                           nothing ? kNothing : hundredths(each.percent), cell(each.on_path), remark_on(each)},
                          false});
  }
  return sheet;
}

Sheet supposed_sheet(const Help& help) {
  const int places = decimals_for(help.iteration_ms);
  Sheet sheet;
  sheet.columns = {{"supposed", false, true}, {"iteration ms"}, {"% shorter"}};
  const bool reordered = std::ranges::any_of(help.supposed, is_longer);
  if (reordered) sheet.columns.push_back({"", false});
  for (const Supposed& each : help.supposed) {
    const bool nothing = is_nothing(each.shorter_pct, 0.05, kNothingShorter);
    sheet.rows.push_back(
        {{each.text, fixed(each.iteration_ms, places), nothing ? kNothing : fixed(each.shorter_pct, 1)}, false});
    if (reordered) sheet.rows.back().cells.emplace_back(is_longer(each) ? kAnotherOrder : "");
  }
  return sheet;
}

std::string supposed_legend(const Help& help) {
  std::string legend = "All of these are simulated, with the plan kept.";
  if (std::ranges::any_of(help.supposed, is_longer))
    legend +=
        " another order: what is free or faster lets operations that share streams and links come in another order, in "
        "which the iteration happens to be longer; how much it helps by itself is not to be read off this figure.";
  return legend;
}

// The best of the suppositions that somebody can choose, as nobody can free a NIC: "" where none is worth a line.
std::string best_way_text(const Help& help) {
  constexpr double kTellingPct = 5;
  for (const Supposed& each : help.supposed) {  // the shortest iteration first
    if (each.shorter_pct < kTellingPct) break;
    if (!is_way(each.key)) continue;
    const std::string_view cost =
        each.key == kTf32Products ? ", which rounds their factors to 10 bits of mantissa" : "";
    return fmt::format(
        "On the same machine, an iteration would take {} ms {}{} ({} % shorter, with the plan kept: a planner may make "
        "another one; 'plan: {{file: PLAN.json}}' keeps what `shardsim plan` wrote).",
        fixed(each.iteration_ms, decimals_for(help.iteration_ms)), each.text, cost, fixed(each.shorter_pct, 1));
  }
  return "";
}

void add_help(Document& document, const Help& help) {
  Section section = table_section(
      "What would help",
      "10 % better: a rate that much higher, a cost or an amount that much lower, and the "
      "change of the iteration then, simulated with the same plan; 10 % worse: the reverse. % per %: by how "
      "much iterations get shorter per per cent, computed from both, and from 10 % better alone where it is a step; "
      "path alone: the same, "
      "computed from the critical path as it is. nothing: no more than the order of "
      "operations alone may make. another path: within these 10 % something else becomes "
      "critical." +
          std::string(std::ranges::any_of(help.elasticities, &Elasticity::is_uneven)
                          ? " a step: one side changes the iteration more than twice as much as the other, as where "
                            "NCCL chooses another algorithm, or where something else becomes critical."
                          : "") +
          std::string(std::ranges::any_of(help.elasticities, &Elasticity::is_longer_when_better)
                          ? " another order: 10 % better makes the iteration longer here; a sentence "
                            "below says why."
                          : ""),
      elasticities_sheet(help));
  for (const std::string& remark : help.remarks) section.blocks.emplace_back(Paragraph{remark});
  document.add(std::move(section));
  document.add(table_section("And if", supposed_legend(help), supposed_sheet(help)));
}

}  // namespace

Sheet path_sheet(const Why& why, std::size_t most) {
  const Cells cells(why);
  const double least = least_shown(why, most);
  Sheet sheet;
  sheet.columns = {{"operation", false, true}, {"kind", false}, {"rank"}, {"ms"}, {"%"}, {"start ms"}, {"", false}};
  for (const PathPart& part : why.parts) {
    if (part.ms < least) continue;
    sheet.rows.push_back({{part.operation, part.op_class, cells.rank(part.rank), cells.ms(part.ms),
                           cells.share(part.ms), cells.some_ms(part.start_ms), remark_of(part, cells)},
                          false});
  }
  return sheet;
}

Sheet table_parts_sheet(const Why& why, std::size_t most) {
  const Cells cells(why);
  Sheet sheet;
  sheet.columns = {{"table", false, true}, {"ms"}, {"%"}, {"lookup"}, {"exchange"}, {"update"}, {"other"}};
  for (std::size_t i = 0; i < shown(why.tables.size(), most); ++i) {
    const TablePart& part = why.tables[i];
    sheet.rows.push_back({{part.table, cells.ms(part.ms), cells.share(part.ms), cells.ms(part.lookup_ms),
                           cells.ms(part.exchange_ms), cells.ms(part.update_ms), cells.ms(part.other_ms)},
                          false});
  }
  return sheet;
}

Document why_document(const Why& why, const Help* help, const std::string& case_name, Medium medium) {
  const std::size_t most = medium == Medium::terminal ? kRowsOnTerminal : 0;
  Document document{
      fmt::format("Why {} takes {} ms", case_name, fixed(why.iteration_ms, decimals_for(why.iteration_ms))), "", {}};
  document.blocks.emplace_back(Paragraph{why.sentence, Role::summary});
  for (const std::string& sentence : why.left_out) document.blocks.emplace_back(Paragraph{sentence, Role::notice});
  if (help != nullptr) {
    if (const std::string best = best_way_text(*help); !best.empty())
      document.blocks.emplace_back(Paragraph{best, Role::summary});
    add_help(document, *help);
  }
  Sheet path = path_sheet(why, most);
  if (medium == Medium::page)  // a narrow one keeps the operation with its time and share
    for (const std::size_t column : {1, 2, 5, 6}) path.columns[column].minor = true;
  document.add(table_section("Critical path", path_legend(why, most), std::move(path)));
  document.add(table_section("Tables",
                             "ms: the cost of each table on the critical path. Fused operations are divided among the "
                             "tables by their parts of the work.",
                             table_parts_sheet(why, most)));
  document.add(table_section("Collectives",
                             "on path: start and transfer on the path. transfer, waiting: as in the table of `shardsim "
                             "run`, the time in which nothing computes, mean over ranks. of it: for that rank, which "
                             "comes later than the first one mostly by taking longer in the operation named.",
                             collectives_sheet(why)));
  document.add(table_section("Not on the path", slack_legend(why, most), slack_sheet(why, most)));
  return document;
}

}  // namespace shardsim
