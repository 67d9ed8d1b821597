# Joins Debian's Vega module builds (package libjs-vega, which has no bundled file) into one plain script that sets the
# global `vega`. The module builds are valid CommonJS, so a small `require` stands in for a bundler.
#
#   cmake -DVEGA_DIR=/usr/share/javascript/vega -DVEGA_OUTPUT=vega.js -P join_vega.cmake     joins
#   include(join_vega)                                                                       only sets VEGA_MODULES
#
# Text is read, edited and appended as quoted arguments: configure_file would rewrite @...@ and ${...} inside the
# JavaScript, and an unquoted argument would split at semicolons.

# In the order of their dependencies.
set(VEGA_MODULES
    vega-util vega-time vega-format vega-loader vega-dataflow vega-statistics vega-canvas vega-scale vega-scenegraph
    vega-expression vega-event-selector vega-selection vega-functions vega-runtime vega-parser vega-view
    vega-transforms vega-view-transforms vega-encode)

# Stops the configuration with the package's name when a module is missing.
function(require_vega_modules folder)
  foreach(module IN LISTS VEGA_MODULES)
    if(NOT EXISTS "${folder}/${module}.min.js")
      message(FATAL_ERROR "${folder}/${module}.min.js is missing. Install the package libjs-vega, or configure with "
                          "-DSHARDSIM_CHARTS=OFF (reports then hold tables only).")
    endif()
  endforeach()
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

require_vega_modules("${VEGA_DIR}")
set(joined "${VEGA_OUTPUT}.part")
file(WRITE "${joined}" [=[
/* Vega 5.22.1, joined from the module builds of Debian's libjs-vega.
 * Vega: Copyright (c) 2015-2021, University of Washington Interactive Data Lab, BSD-3-Clause.
 * Parts of d3 inside: Copyright 2010-2021 Mike Bostock, ISC.
 * Expression parser inside: derived from Esprima, Copyright jQuery Foundation and contributors, BSD-2-Clause.
 * Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
 * conditions of these licences are met; the software is provided "as is", without warranty of any kind. Full texts:
 * /usr/share/doc/libjs-vega/copyright on Debian, https://github.com/vega/vega, https://github.com/d3/d3. */
var vega = (function () {
var modules = {};
function need(name) {
  if (!Object.prototype.hasOwnProperty.call(modules, name)) throw new Error("vega: no module " + name);
  return modules[name];
}
function add(name, body) {
  var module = {exports: {}};
  body(module, module.exports, need, undefined);
  modules[name] = module.exports;
}
]=])

foreach(name IN LISTS VEGA_MODULES)
  file(READ "${VEGA_DIR}/${name}.min.js" text)
  string(REGEX REPLACE "\n?//# sourceMappingURL=[^\n]*" "" text "${text}")
  file(APPEND "${joined}" "add(\"${name}\", function (module, exports, require, define) {\n")
  file(APPEND "${joined}" "${text}")
  file(APPEND "${joined}" "\n});\n")
  if(name STREQUAL "vega-selection")
    # The file is singular, the name that other modules ask for is plural.
    file(APPEND "${joined}" "modules[\"vega-selections\"] = modules[\"vega-selection\"];\n")
  endif()
endforeach()

file(APPEND "${joined}" [=[
function copy(into, name) { Object.keys(need(name)).forEach(function (key) { into[key] = need(name)[key]; }); }
var transforms = need("vega-dataflow").transforms;
["vega-transforms", "vega-view-transforms", "vega-encode"].forEach(function (name) { copy(transforms, name); });
var all = {};
["vega-statistics", "vega-time", "vega-util", "vega-loader", "vega-scenegraph"].forEach(function (name) {
  copy(all, name);
});
all.View = need("vega-view").View;
all.parse = need("vega-parser").parse;
all.changeset = need("vega-dataflow").changeset;
all.transforms = transforms;
all.runtimeContext = need("vega-runtime").context;
all.formatLocale = need("vega-format").numberFormatDefaultLocale;
all.expressionFunction = need("vega-functions").expressionFunction;
all.version = "5.22.1";
return all;
})();
]=])
file(RENAME "${joined}" "${VEGA_OUTPUT}")
