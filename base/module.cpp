#include "base/module.h"

#include <dlfcn.h>

#include <filesystem>

namespace shardsim {

Module load_module(const char* file, const char* function, std::string& why) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path here = fs::read_symlink("/proc/self/exe", failure).parent_path();
  why.clear();
  for (const fs::path& path :
       {here / file, here.parent_path() / file, here.parent_path() / "lib" / "shardsim" / file}) {
    // Global, for plug-ins of a module's own libraries (MPI's) ask for its symbols.
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      if (why.empty() || fs::exists(path, failure)) why = ::dlerror();
      continue;
    }
    if (void* const found = ::dlsym(library, function)) return {library, found};
    why = path.string() + " is none of this program's";
  }
  return {};
}

}  // namespace shardsim
