#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/document/document.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/process.h"
#include "cli/arguments/progress.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// Options that several commands have, declared once, and what they mean.

std::vector<Option> scenario_options();  // --set, --seed, --torchrec-only, --memory-model
// Those of them that are given, as words of a command line.
std::vector<std::string> given_scenario_options(const Arguments& given);
Option case_option();             // --case, of commands that take one case
Option cases_option();            // --case, of commands that take several
Option force_option();            // beside -o
Option force_in_folder_option();  // of commands that write a folder of results with -o and without
Option output_file_option();      // -o FILE, else standard output
Option details_option();          // --details, of commands that print a document
Option tolerance_option(const std::string& judged);

// The changes by --set, --seed, --torchrec-only, --memory-model and --case. Errors: Failure::input at the argument.
Overrides overrides(const Arguments& given);
// The PATH=VALUE of another option, as --set has them. Errors: Failure::input at the option; a path that is there.
void add_settings(Overrides& changes, const Arguments& given, const std::string& option);

// For an option that sets the same key as --set KEY=...: refuses both together, because one of them would silently
// override the other. Errors: Failure::input at the option.
void refuse_beside_set(const Overrides& changes, const Arguments& given, const std::string& option,
                       const std::string& key);

// The positions of the names that --case, or another option, fits; `names` are those of a scenario or a file.
// Errors (they list the names): a pattern that fits none.
std::vector<std::size_t> chosen_names(const std::vector<std::string>& names, const Arguments& given,
                                      const std::string& option = "case");
// The one name that --case fits, or the only one. Errors: as above; several cases and no --case, or one that fits
// several; `holder` is what has them.
std::size_t chosen_name(const std::vector<std::string>& names, const Arguments& given, const std::string& holder);

// The scenario on the command line as those change it; notes say what of it they
// drop, unless --quiet. Errors: as read_scenario().
Scenario asked_scenario(const Arguments& given);
// Those notes.
void note_dropped_edits(const Arguments& given);

// The workload of --workload; none where it is not given.
std::optional<Workload> asked_workload(const Arguments& given);

std::vector<std::string> names_of(const Scenario& scenario);
// The scenario with the cases that --case fits; with all when it is not given.
Scenario chosen_cases(Scenario scenario, const Arguments& given);
// The one case that --case fits, or the only one. Errors: as chosen_name().
const Case& chosen_case(const Scenario& scenario, const Arguments& given);

// Prints the text, or writes it to the file of -o ("-" is stdout). Errors: those of write_result(); a folder, a pipe or
// a file that the command reads.
void deliver(const std::string& text, const Arguments& given);
void deliver(const std::string& text, const Arguments& given, const ResultWriter& writer);

// The name of the results of the scenario on the command line: its file's name without ending; "scenario" where only
// dots are left ("...yaml"), which would lead out of the folder of results.
std::string result_name(const Arguments& given);

// The folder that -o names, or `standard`. Errors: -o - and an empty name; `command` is named there.
std::filesystem::path output_folder(const Arguments& given, const std::string& command,
                                    const std::filesystem::path& standard);

// --tolerance, percent. Errors: Failure::input when it is no percentage or below 0.
std::optional<double> tolerance(const Arguments& given);

// 0, or 4 with a line on stderr that says why: `judged` is the median error in percent. Without a tolerance any will
// do. Errors (Failure::input): a tolerance, and nothing to judge.
int tolerance_verdict(const std::optional<double>& judged, const std::optional<double>& most);

// True with --details, or --verbose where a command has it.
bool shows_details(const Arguments& given);
// The document as its first screen, with rows of so many of its tables (first_screen_text()); all of it with --details.
std::string shown_text(const Document& document, const Arguments& given, const Terminal& terminal, int tables = 1);

// A line "note: ..." on stderr.
void print_note(const std::string& note);

// Tells on the terminal that `what` goes on, for as long as the returned object lives; nothing with --quiet.
Progress progress_of(const Arguments& given, const std::string& what);

}  // namespace shardsim
