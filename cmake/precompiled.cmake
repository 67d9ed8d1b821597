# Headers of others that most sources include are read once for each set of options, not once for each batch of sources:
# two seconds of each. g++ reads headers that were made with other options wrongly or not at all, so targets share
# them only where their options are the same.
#
# Only batches of many sources (CMAKE_UNITY_BUILD) are compiled so. Whoever compiles file by file, as scripts/deep_check.sh
# does with what a commit changed and validate/bare/build.sh with all of the executor, sees which include a source lacks.
#
# ccache keeps what is compiled so only with CCACHE_SLOPPINESS=pch_defines,time_macros in the environment.
if(NOT CMAKE_UNITY_BUILD)
  return()
endif()

set(common_headers <algorithm> <array> <bit> <chrono> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <limits> <map>
    <memory> <numeric> <optional> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <unordered_map> <utility> <variant>
    <vector> <fmt/format.h>)
# clang reads of such a file what a source uses, so headers of a few sources cost the others nothing there. g++ has all of it in
# memory: nlohmann/json alone would cost each source as much as it spares those that need it.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND common_headers <nlohmann/json.hpp>)
endif()

# A library of the headers and nothing else, with the options of the targets that share them.
function(add_shared_headers name)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers/${name}.cpp CONTENT "// Its precompiled headers are all that is wanted of it.\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/headers/${name}.cpp)
  target_link_libraries(${name} PRIVATE shardsim_flags fmt::fmt nlohmann_json::nlohmann_json)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_precompile_headers(${name} PRIVATE ${common_headers})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # a compiler cache may lay it down anew, later than the headers it was made of
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

function(share_headers headers)
  foreach(target ${ARGN})
    if(TARGET ${target})
      target_precompile_headers(${target} REUSE_FROM ${headers})
    endif()
  endforeach()
endfunction()

add_shared_headers(shardsim_headers)
share_headers(shardsim_headers shardsim_base shardsim_plan shardsim_comparison shardsim_study shardsim_explore shardsim_accuracy
  shardsim_arguments shardsim_validate_program shardsim_microbench_program)
# These are optimised more where they run for users: too few to have headers of their own there.
if(NOT SHARDSIM_HOT_OPTIONS)
  share_headers(shardsim_headers shardsim_topology shardsim_models shardsim_program shardsim_engine shardsim_sim)
endif()
if(NOT SHARDSIM_SANITIZE)  # there it is optimised as no other library is
  share_headers(shardsim_headers shardsim_execute)
endif()

# What tests/CMakeLists.txt says of the options of its programs, which are no libraries.
if(SHARDSIM_TESTS)
  add_shared_headers(shardsim_test_headers)
  target_link_libraries(shardsim_test_headers PRIVATE doctest_main)
  target_precompile_headers(shardsim_test_headers PRIVATE <doctest/doctest.h>)
  set_target_properties(shardsim_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(shardsim_test_headers PRIVATE $<$<BOOL:${CMAKE_POSITION_INDEPENDENT_CODE}>:-fPIE>)
  share_headers(shardsim_test_headers base_tests topology_tests models_tests plan_tests program_tests sim_tests validate_tests
    study_tests accuracy_tests physics_tests long_tests kernel_tests execute_tests)
endif()

# Under sanitizers a library's code is compiled as a program's is, and clang takes the headers of other warnings.
if(SHARDSIM_SANITIZE AND SHARDSIM_TESTS AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  share_headers(shardsim_headers cuda_on_cpu cuda_kernels_on_cpu cuda_machine_stand_in cuda_machine_on_cpu cuda_faults_on_cpu
    cuda_calls_on_cpu torchrec_golden real_load_cases fuzz_scenario fuzz_plan fuzz_topology fuzz_timeline fuzz_measurements
    fuzz_import fuzz_tables fuzz_hdf5 fuzz_program)
  set_source_files_properties(tests/validate/execute/cuda_on_cpu/fibers.cpp TARGET_DIRECTORY cuda_on_cpu
                              PROPERTIES SKIP_PRECOMPILE_HEADERS ON)  # likewise
endif()
