#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "study/report/page.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

// From this code outwards: programs lie in the build folder or one below it, the Python module two below, installed
// ones in bin beside share.
std::vector<fs::path> share_folders() {
  constexpr int kDeepest = 2;
  std::vector<fs::path> folders;
  fs::path folder = code_folder();
  for (int level = 0; level <= kDeepest && folder.has_relative_path(); ++level, folder = folder.parent_path()) {
    folders.push_back(folder / "share");
    folders.push_back(folder / "share" / "shardsim");
  }
  folders.push_back(data_folder());
  folders.push_back(data_folder() / "share");
  return folders;
}

}  // namespace

// The plots of the data folder come first, then those of the build.
std::string page_asset(const std::string& name) {
  std::vector<fs::path> places = {data_folder() / "plots" / name};
  for (const fs::path& folder : share_folders()) places.push_back(folder / "plots" / name);
  for (const fs::path& place : places) {
    if (is_file(place)) return read_file(place.string());
  }
  throw run_error("plots/" + name + " is missing", "Keep the folder plots beside the folder scenarios.");
}

std::optional<std::string> vega_script() {
  for (const fs::path& folder : share_folders()) {
    if (!is_file(folder / "vega.js")) continue;
    std::string script = read_file((folder / "vega.js").string());
    if (script.find("</script") != std::string::npos) {
      throw run_error((folder / "vega.js").string() + " would end its script element", "Build the project again.");
    }
    return script;
  }
  return std::nullopt;
}

std::string missing_charts_text() {
  if (vega_script()) return "";
  return "Some charts of the page stand there as tables alone, because vega.js is not beside the program: a build with "
         "Debian's package libjs-vega draws them.";
}

}  // namespace shardsim
