#include "study/report/documents/drift_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/document/cells.h"
#include "base/text.h"
#include "study/confidence/faster.h"
#include "study/drift/resharding.h"
#include "study/report/wording.h"

namespace shardsim {
namespace {

std::string duration_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 600) return fmt::format("{:.3g} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.3g} minutes", seconds / 60);
  return fmt::format("{:.3g} hours", seconds / 3600);
}

std::string interval_text(int days) {
  return days == 1 ? "every day" : fmt::format("every {} days", days);
}

// Each second of training with the better plan does what the kept one would take longer for.
std::string start_text(const DriftDay& first, Seconds pause) {
  const bool found_later = first.made_on != first.day;
  std::string text = found_later
                         ? fmt::format("Begin with another plan: on day 0 already that which {} makes on day {}",
                                       first.best, first.made_on)
                         : fmt::format("Change to another plan once: on day 0 that of {}", first.best);
  text += fmt::format(" takes {} ms, and the kept one {} ms", fixed(first.best_ms, 3), fixed(first.frozen_ms, 3));
  const double lost = first.moving_s + pause.value;
  if (lost > 0)
    text += ", which makes up for the pause in " + duration_text(lost / (first.frozen_ms / first.best_ms - 1));
  return text + ". ";
}

// Returns how often to re-shard, and when at the latest.
std::string when_text(const Resharding& found, const DriftOptions& options) {
  const auto& every = found.every_days;
  const auto& full = found.out_of_memory_day;
  if (full && full == found.no_plan_day) {
    return fmt::format(
        "{} From day {} on neither the plan of day 0 nor a new one of the planners fits in memory: it takes more GPUs, "
        "or smaller tables.",
        every ? fmt::format("Re-shard {}.", interval_text(*every)) : "Re-sharding does not help.", *full);
  }
  if (full && every) {
    return fmt::format("Re-shard {}; on day {} at the latest, when the plan of day 0 no longer fits in memory.",
                       interval_text(*every), *full);
  }
  if (full) {
    return fmt::format(
        "Re-shard on day {} at the latest, because of memory: the plan of day 0 no longer fits then. Before that day "
        "it does not pay off.",
        *full);
  }
  if (every) {
    return fmt::format("Re-shard {}{}. Memory does not force it: the plan of day 0 fits for all {} days.",
                       interval_text(*every), *every == found.last_day ? " or less often" : "", options.days);
  }
  return fmt::format(
      "{} {} days re-sharding does not pay off: what a plan loses with its age is less than moving rows and "
      "pausing take. Nor does memory force it: the plan of day 0 fits on all these days.",
      found.better_from_start ? "After that, within" : "Within", options.days);
}

// `every_days`: how often that is to be paid; none: once.
std::string cost_text(const DriftDay& day, const DriftOptions& options, std::optional<int> every_days) {
  constexpr double kSecondsOfDay = 24 * 3600;
  const double pause = options.pause.value;
  const std::string moving = day.moved_bytes > 0
                                 ? fmt::format("Moving {} GiB on day {} takes {}", fixed(day.moved_bytes / 0x1p30, 2),
                                               day.day, duration_text(day.moving_s))
                                 : fmt::format("On day {} nothing moves", day.day);
  std::string text = fmt::format(" {}{}", moving,
                                 pause > 0 ? fmt::format(", and training pauses for another {}", duration_text(pause))
                                           : ", and no pause of training is counted (drift.pause)");
  if (!every_days) return text + ".";
  return text + fmt::format(": {:.2g} % of the time, beside what the plan loses with its age.",
                            100 * (day.moving_s + pause) / (*every_days * kSecondsOfDay));
}

// Returns what the plan of the day costs on which memory forces another one, where that is more than on other days:
// cuts that are filled anew may no longer fit, and then whole tables move.
std::string forced_text(const DriftDay& forced, const DriftDay& move) {
  constexpr double kTellingMoves = 1.5;
  if (!forced.best_fits || forced.day == move.day || forced.moved_bytes < kTellingMoves * move.moved_bytes) return "";
  return fmt::format(" The plan of day {} moves {} GiB, in {}.", forced.day, fixed(forced.moved_bytes / 0x1p30, 2),
                     duration_text(forced.moving_s));
}

// Returns the time that is lost by not doing it, and whether that is more than the model's errors.
std::string keeping_text(const DriftResult& result, const DriftDay& move, const DriftDay& last) {
  if (!(last.saved_s > 0)) return "";
  std::string text = fmt::format(" Keeping the plan until day {} would lose {} % of the time of these days in all",
                                 last.day, regret_cell(100 * last.saved_s / result.kept_s));
  if (!last.has_better())
    return text + (move.has_better()
                       ? fmt::format("; that the best plan of day {} is really faster than the kept one has "
                                     "a chance of {} %.",
                                     move.day, chance_cell(move.chance))
                       : ".");
  text +=
      fmt::format("; that the best plan of that day is really faster has a chance of {} %", chance_cell(last.chance));
  if (!move.has_better() || move.day == last.day) return text + ".";
  const bool same = move.best == last.best;
  return text + fmt::format("{}, and of {} % on day {}{}.", same ? "" : " (" + last.best + ")",
                            chance_cell(move.chance), move.day, same ? "" : " (" + move.best + ")");
}

// Returns what a period costs, of which the rows of the days have the sums for every other length.
std::string period_text(const DriftResult& result, int days, Seconds pause) {
  const std::optional<PeriodLoss> lost = loss_of_period(result, days, pause);
  if (!lost) return "";
  bool is_less_before = false;
  for (int day = 1; day < days; ++day) {
    const std::optional<PeriodLoss> shorter = loss_of_period(result, day, pause);
    is_less_before = is_less_before || (shorter && shorter->all() * days < lost->all() * day);
  }
  return fmt::format(
      " {} loses {} in all, {} a day: {} to the age of the plan, {} to moving and pausing.{}",
      days == 1 ? "A day" : fmt::format("A period of {} days", days), duration_text(lost->all()),
      duration_text(lost->all() / days), duration_text(lost->aging_s), duration_text(lost->changing_s),
      is_less_before ? " Shorter ones would lose less, if leads that are noise until then were real." : "");
}

// Returns why a chance falls from one day to the next although the best plan gains: the slowest path of one of the two
// plans leads over other kinds of work from then on, whose errors the two do not share.
std::string chance_text(const DriftResult& result) {
  constexpr double kTellingFall = 0.1;
  for (std::size_t i = 1; i < result.days.size(); ++i) {
    const DriftDay &before = result.days[i - 1], &day = result.days[i];
    const bool gains = day.frozen_ms * before.best_ms >= before.frozen_ms * day.best_ms;
    if (!before.has_better() || !day.has_better() || !gains || day.chance > before.chance - kTellingFall) continue;
    if (day.unlike <= before.unlike) continue;
    return fmt::format(
        " On day {} the chance falls from {} to {} %, although the gap grows: the slowest path through the kept plan "
        "leads over other kinds of work than that through the best plan from then on ({:.2g} % of an iteration, {:.2g} "
        "% the day before), and of unlike work the errors do not cancel.",
        day.day, chance_cell(before.chance), chance_cell(day.chance), 100 * day.unlike, 100 * before.unlike);
  }
  return "";
}

// Returns what the monitor says of the policy's cost model.
std::string monitor_text(const DriftResult& result, const DriftOptions& options) {
  if (!options.monitor || result.days.empty()) return "";
  const auto error_on = [&](std::size_t day) { return fmt::format("{:.1f}", 100 * result.days[day].cost_error); };
  const std::string threshold = fmt::format("{:g} %", 100 * options.monitor->threshold);
  if (!result.train_again_day)
    return fmt::format(
        " The policy need not be trained again: its cost model is off by {} % of a shard on day 0 and by {} % on "
        "day {}, not more than {} on any day.",
        error_on(0), error_on(result.days.size() - 1), result.days.back().day, threshold);
  const int again = *result.train_again_day;
  if (again == 0)
    return fmt::format(
        " Train the policy at once: its cost model is off by {} % of a shard on day 0 already, more than {}.",
        error_on(0), threshold);
  return fmt::format(
      " Train the policy again on day {}: its cost model is off by {} % of a shard then, more than {} (on day 0: {} "
      "%).",
      again, error_on(static_cast<std::size_t>(again)), threshold, error_on(0));
}

}  // namespace

std::string resharding_text(const DriftResult& result, const DriftOptions& options) {
  const Resharding found = resharding_of(result, options.pause);
  const int day = found.every_days.value_or(found.last_chance());
  const DriftDay& move = result.days[static_cast<std::size_t>(day)];
  std::string text = found.better_from_start ? start_text(result.days.front(), options.pause) : "";
  text += when_text(found, options);
  if (move.best_fits) text += cost_text(move, options, found.every_days);
  if (found.every_days && found.out_of_memory_day)
    text += forced_text(result.days[static_cast<std::size_t>(*found.out_of_memory_day)], move);
  if (found.no_plan_day && found.no_plan_day != found.out_of_memory_day)
    text += fmt::format(" From day {} on no plan fits in memory.", *found.no_plan_day);
  if (found.every_days) text += keeping_text(result, move, result.days[static_cast<std::size_t>(found.last_day)]);
  if (found.every_days) text += period_text(result, *found.every_days, options.pause);
  return text + chance_text(result) + monitor_text(result, options);
}

namespace {

// A terminal has no room for all of it.
constexpr const char* kOnPageAlone[] = {"best GiB", "moving ms"};

void leave_out_columns(Sheet& sheet, std::span<const char* const> headers) {
  for (const char* const header : headers) {
    const auto column = std::ranges::find(sheet.columns, header, &Sheet::Column::header) - sheet.columns.begin();
    sheet.columns.erase(sheet.columns.begin() + column);
    for (Sheet::Row& row : sheet.rows) row.cells.erase(row.cells.begin() + column);
  }
}

Sheet drift_sheet(const DriftResult& result, const DriftOptions& options, Medium medium) {
  const bool is_monitored = options.monitor.has_value();
  Sheet sheet;
  sheet.in_time = true;
  const auto minor = [](const char* header) { return Sheet::Column{header, true, false, true}; };
  sheet.columns = {{"day"},           {"kept ms"},        {"best ms"},       {"best plan", false}, {"chance %"},
                   minor("regret %"), minor("kept GiB"),  minor("best GiB"), minor("to move GiB"), minor("moving ms"),
                   minor("saved s"),  minor("lost s/day")};
  const auto gib = [](double bytes) { return fixed(bytes / 0x1p30, 2); };
  const std::string none = "-";
  for (const DriftDay& day : result.days) {
    const std::optional<PeriodLoss> lost = loss_of_period(result, day.day, options.pause);
    const bool fits = day.frozen_fits, best = day.best_fits, both = day.is_choice(), better = day.has_better();
    sheet.rows.push_back({{fmt::format("{}", day.day), fits ? fixed(day.frozen_ms, 3) : none,
                           best ? fixed(day.best_ms, 3) : none, best ? day.best_name() : "none fits",
                           better ? chance_cell(day.chance) : none, better ? regret_cell(day.regret_pct) : none,
                           gib(static_cast<double>(day.frozen_bytes)) + (fits ? "" : " over"),
                           best ? gib(static_cast<double>(day.best_bytes)) : none, best ? gib(day.moved_bytes) : none,
                           best ? fixed(day.moving_s * 1e3, 2) : none, both ? fixed(day.saved_s, 1) : none,
                           lost ? fixed(lost->all() / day.day, 1) : none}});
  }
  if (medium == Medium::terminal) leave_out_columns(sheet, kOnPageAlone);
  if (medium == Medium::page) {  // where both times are, what going over is worth matters more than to which plan
    sheet.columns[3].minor = true;
    sheet.columns[5].minor = false;
  }
  if (!is_monitored) return sheet;
  sheet.columns.push_back({"cost error %"});
  for (std::size_t day = 0; day < result.days.size(); ++day)
    sheet.rows[day].cells.push_back(fixed(100 * result.days[day].cost_error, 1));
  return sheet;
}

DataSet::Cell known(bool is_known, double number) {
  return is_known ? DataSet::Cell(number) : DataSet::Cell("-");
}

DataSet days_of(const DriftResult& result) {
  DataSet days{"days",
               {"day", "kept_ms", "kept_low_ms", "kept_high_ms", "best_ms", "plan", "saved_s", "kept_gib", "best_gib"},
               {}};
  for (const DriftDay& day : result.days) {
    const bool kept = day.frozen_fits, best = day.best_fits;
    days.rows.push_back({static_cast<double>(day.day), known(kept, day.frozen_ms), known(kept, day.frozen_low_ms),
                         known(kept, day.frozen_high_ms), known(best, day.best_ms),
                         best ? day.best_name() : "none fits", known(day.is_choice(), day.saved_s),
                         static_cast<double>(day.frozen_bytes) / 0x1p30,
                         known(best, static_cast<double>(day.best_bytes) / 0x1p30)});
  }
  return days;
}

// The days on which to make a new plan, unless the kept one is the best of that day, and those from which on memory
// does not suffice.
DataSet marks_of_days(const DriftResult& result, const DriftOptions& options) {
  DataSet marks{"marks", {"day", "what"}, {}};
  if (result.days.empty()) return marks;
  const Resharding found = resharding_of(result, options.pause);
  for (int day = found.every_days.value_or(0); found.every_days && day <= result.days.back().day;
       day += *found.every_days)
    if (result.days[static_cast<std::size_t>(day)].has_new_plan())
      marks.rows.push_back({static_cast<double>(day), "re-shard"});
  if (found.out_of_memory_day)
    marks.rows.push_back({static_cast<double>(*found.out_of_memory_day), "no memory for the kept plan"});
  if (found.no_plan_day) marks.rows.push_back({static_cast<double>(*found.no_plan_day), "no memory for any plan"});
  return marks;
}

Chart drift_chart(const DriftResult& result, const DriftOptions& options) {
  return {"drift-days",
          "drift_days",
          "The kept plan beside the best one, day by day",
          "The plan of day 0 as long as it fits in memory, and the best plan of each day.",
          false,
          {days_of(result), marks_of_days(result, options)}};
}

std::string days_legend(const DriftResult& result, const DriftOptions& options) {
  const std::string legend = fmt::format(
      "kept: the plan of day 0. best: the fastest of the day's own plans that fit in memory, the kept cuts with "
      "rows of the day among them, or the kept plan where none gains a ten-thousandth beyond what it would have "
      "gained on day 0 already, which another try might have found there (unless day 0 is told with such a plan). "
      "No day is advised for a new plan whose lead is noise: {:.0f} % of a search's plan, {:.1f} % of others, or a "
      "chance of at most 55 %. chance: the probability that the best plan is really faster than the kept one, "
      "leaving out errors that affect both. regret: expected; how much time going to the best plan loses, on "
      "average over all outcomes; where it is the faster one, that is nothing. over: more memory than a GPU has, so "
      "that plan is none to keep. to move: bytes that change their holder. saved: by the best plans since day 0. "
      "lost: by a period that ends with a new plan on the day, to the age of the plan on the days before, to moving "
      "and to pausing.",
      100 * search_spread(result.tables), 100 * kRepeatScale);
  if (!options.monitor) return legend;
  return legend +
         " cost error: mean error of the policy's cost model on random shards of the day's tables, in % of their mean "
         "time.";
}

}  // namespace

Document drift_document(const DriftResult& result, const DriftOptions& options, const Scenario& scenario,
                        Medium medium) {
  Document document;
  document.title = scenario.title + ": drift of " + result.name;
  document.origin = scenario.path;
  document.blocks.emplace_back(Paragraph{resharding_text(result, options), Paragraph::Role::summary});
  Section days = table_section("Days", days_legend(result, options), drift_sheet(result, options, medium));
  if (!result.days.empty()) document.blocks.emplace_back(drift_chart(result, options));
  if (const std::string outside = outside_sentence(outside_of(result)); !outside.empty())
    document.blocks.emplace_back(Paragraph{outside, Paragraph::Role::notice});
  document.add(std::move(days));
  return document;
}

}  // namespace shardsim
