# The content of `cmake --install` and of the Debian package: the programs, the data that they read, their manual pages,
# the completions for shells, and the schemas by which editors check files. A program finds its data in share/shardsim
# beside bin/, wherever the prefix is. A build of shardsim alone, as by run.sh, installs that and names what is left
# out.
include(GNUInstallDirs)

set(programs shardsim shardsim-validate shardsim-microbench)
foreach(program ${programs})
  install(CODE "if(NOT EXISTS \"$<TARGET_FILE:${program}>\")
  message(STATUS \"Left out, for it is not built: ${program}. 'cmake --build ${CMAKE_BINARY_DIR}' builds it\")
endif()")
endforeach()
install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
install(TARGETS shardsim_simgrid LIBRARY DESTINATION lib/shardsim)
if(TARGET shardsim_mpi)  # which a sweep loads under mpirun
  install(TARGETS shardsim_mpi LIBRARY DESTINATION lib/shardsim OPTIONAL)
endif()
if(TARGET shardsim_http)  # which explore loads
  install(TARGETS shardsim_http LIBRARY DESTINATION lib/shardsim OPTIONAL)
endif()
install(DIRECTORY scenarios plots DESTINATION ${CMAKE_INSTALL_DATADIR}/shardsim)
if(SHARDSIM_CHARTS)
  install(FILES ${CMAKE_BINARY_DIR}/share/vega.js DESTINATION ${CMAKE_INSTALL_DATADIR}/shardsim)
endif()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Files under share/ that a program prints, and schemas, which take it seconds: made when they are installed, not at every
# build.
function(install_printed program file)
  set(made ${CMAKE_BINARY_DIR}/share/${file})
  get_filename_component(folder ${file} DIRECTORY)
  install(CODE "if(EXISTS \"$<TARGET_FILE:${program}>\")
  file(MAKE_DIRECTORY \"${CMAKE_BINARY_DIR}/share/${folder}\")
  execute_process(COMMAND \"$<TARGET_FILE:${program}>\" ${ARGN} OUTPUT_FILE \"${made}\" COMMAND_ERROR_IS_FATAL ANY)
endif()")
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} OPTIONAL)
endfunction()
foreach(program ${programs})
  install_printed(${program} man/man1/${program}.1 --manual)
  install_printed(${program} bash-completion/completions/${program} --completion bash)
  install_printed(${program} fish/vendor_completions.d/${program}.fish --completion fish)
  install_printed(${program} zsh/vendor-completions/_${program} --completion zsh)
endforeach()
foreach(kind cluster plan scenario workload)
  install_printed(shardsim shardsim/schemas/${kind}.schema.json schema ${kind})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME shardsim)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "simulator of the training of sharded recommendation models on GPU clusters")
set(CPACK_PACKAGE_CONTACT "the developers of shardsim")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # the libraries that the programs are linked to
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "iproute2, openssh-client")  # `shardsim emulate`; starting ranks on other hosts
# Two packages: shardsim, and python3-shardsim where the module was built. The data that the module reads is the first one's.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL Unspecified)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME shardsim)
if(SHARDSIM_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
  math(EXPR next_python "${SHARDSIM_PYTHON_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-shardsim)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "shardsim (= ${PROJECT_VERSION}), python3 (>= 3.${SHARDSIM_PYTHON_MINOR}~), python3 (<< 3.${next_python}~)")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-pandas, python3-xarray")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "simulator of the training of sharded recommendation models, as a package for Python")
endif()
include(CPack)
