#include "sim/report/report_assets.h"

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace shardsim {

namespace {

namespace fs = std::filesystem;

// From the executable outwards: programs lie in the build folder or one below it, installed ones in bin beside share.
std::vector<fs::path> share_folders() {
  std::error_code failed;
  const fs::path here = fs::read_symlink("/proc/self/exe", failed).parent_path();
  std::vector<fs::path> folders;
  if (!failed) folders = {here / "share", here.parent_path() / "share", here.parent_path() / "share" / "shardsim"};
  folders.push_back(data_folder() / "share");
  return folders;
}

}  // namespace

std::string report_asset(const std::string& name) {
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

}  // namespace shardsim
