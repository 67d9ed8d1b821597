# What `cmake --install` and the Debian package hold: the programs, what they read, their manual pages what shells
# complete their words with, and the schemas that editors check files with. A program finds its data in share/shardsim beside bin/, wherever the prefix is.
include(GNUInstallDirs)

set(programs shardsim shardsim-validate shardsim-microbench)
install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS shardsim_simgrid LIBRARY DESTINATION lib/shardsim)
if(TARGET shardsim_mpi)  # which a sweep loads under mpirun
  install(TARGETS shardsim_mpi LIBRARY DESTINATION lib/shardsim)
endif()
install(DIRECTORY scenarios plots DESTINATION ${CMAKE_INSTALL_DATADIR}/shardsim)
if(SHARDSIM_CHARTS)
  install(FILES ${CMAKE_BINARY_DIR}/share/vega.js DESTINATION ${CMAKE_INSTALL_DATADIR}/shardsim)
endif()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# `file` of the program's folder under share/, made of what it prints.
set(shell_files "")
function(add_shell_file program file words)
  set(made ${CMAKE_BINARY_DIR}/share/${file})
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/${folder})
  add_custom_command(OUTPUT ${made} COMMAND ${program} ${words} >${made} DEPENDS ${program})
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
  set(shell_files ${shell_files} ${made} PARENT_SCOPE)
endfunction()
foreach(program ${programs})
  add_shell_file(${program} man/man1/${program}.1 --manual)
  add_shell_file(${program} bash-completion/completions/${program} "--completion;bash")
  add_shell_file(${program} fish/vendor_completions.d/${program}.fish "--completion;fish")
  add_shell_file(${program} zsh/vendor-completions/_${program} "--completion;zsh")
endforeach()
add_custom_target(shell_files ALL DEPENDS ${shell_files})

# Schemas take seconds, so they are made when they are installed, not at every build.
set(schemas ${CMAKE_BINARY_DIR}/share/shardsim/schemas)
install(CODE "file(MAKE_DIRECTORY ${schemas})
foreach(kind cluster plan scenario workload)
  execute_process(COMMAND $<TARGET_FILE:shardsim> schema \${kind} OUTPUT_FILE ${schemas}/\${kind}.schema.json COMMAND_ERROR_IS_FATAL ANY)
endforeach()")
install(DIRECTORY ${schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/shardsim)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME shardsim)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulator of the training of sharded recommendation models on GPU clusters")
set(CPACK_PACKAGE_CONTACT "the developers of shardsim")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries that the programs are linked to
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "iproute2, openssh-client")  # `shardsim emulate`; starting ranks on other hosts
include(CPack)
