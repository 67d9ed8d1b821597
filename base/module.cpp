#include "base/module.h"

#include <dlfcn.h>

#include <filesystem>
#include <vector>

#include "base/files.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

// A program lies in the build folder or one below it, or in bin beside lib; the Python module three or four below.
std::vector<fs::path> places_of(const char* file) {
  constexpr int kDeepest = 4;
  std::vector<fs::path> places;
  fs::path folder = code_folder();
  for (int level = 0; level <= kDeepest; ++level, folder = folder.parent_path()) {
    places.push_back(folder / file);
    places.push_back(folder / "lib" / "shardsim" / file);
  }
  return places;
}

}  // namespace

Module load_module(const char* file, const char* function, std::string& why) {
  why.clear();
  for (const fs::path& path : places_of(file)) {
    // Global, for plug-ins of a module's own libraries (MPI's) ask for its symbols.
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      if (why.empty() || is_file(path)) why = ::dlerror();
      continue;
    }
    if (void* const found = ::dlsym(library, function)) return {library, found};
    why = path.string() + " is none of this program's";
  }
  return {};
}

}  // namespace shardsim
