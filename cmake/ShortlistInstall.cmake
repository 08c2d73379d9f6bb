# Rules of `cmake --install` and `cpack -G DEB`, and the package that find_package(Shortlist) reads:
#   include/shortlist.h               the C interface
#   include/shortlist/<room>/<name>.h the public headers, named below, with what they include: #include "shortlist/..."
#   lib/                              a static library for each room, libshortlist.so, pkg-config files
#   lib/cmake/Shortlist/              components c, vocab, kernels, head, draft, router, runtime
#   bin/shortlist                     the command line, if this build has it, with
#   share/                            its manual page, completion for bash and zsh, and the vocabulary lists

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A component is a target with its public headers. The targets that it links are installed with it.
set(SHORTLIST_COMPONENTS vocab kernels head)
set(SHORTLIST_TARGET_vocab vocab)
set(SHORTLIST_PUBLIC_vocab vocab/active_vocab.h vocab/dynamic_vocabulary_manager.h vocab/request_tail.h
    vocab/vocab_list.h vocab/vocab_options.h base/status_macros.h)
set(SHORTLIST_TARGET_kernels kernels)
set(SHORTLIST_PUBLIC_kernels kernels/head.h kernels/isa.h kernels/quant.h kernels/sampling.h)
set(SHORTLIST_TARGET_head head)
set(SHORTLIST_PUBLIC_head head/pruned_head.h head/row_tails.h)
if(NOT SHORTLIST_HEAD_ONLY)
  list(APPEND SHORTLIST_COMPONENTS draft router runtime)
  set(SHORTLIST_TARGET_draft draft)
  set(SHORTLIST_PUBLIC_draft draft/drafter.h draft/engine.h)
  set(SHORTLIST_TARGET_router router)
  set(SHORTLIST_PUBLIC_router router/router.h)
  set(SHORTLIST_TARGET_runtime runtime)
  set(SHORTLIST_PUBLIC_runtime runtime/engine.h runtime/models.h)
endif()

# Sets RESULT to TARGET and all targets of this project that it links, directly or indirectly.
function(shortlist_targets_of TARGET RESULT)
  set(seen "")
  set(pending ${TARGET})
  while(pending)
    list(POP_FRONT pending one)
    string(REPLACE "shortlist::" "" one ${one})
    if(one IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${one})
    get_target_property(links shortlist_${one} LINK_LIBRARIES)
    foreach(link ${links})
      if(link MATCHES "^shortlist::")
        list(APPEND pending ${link})
      endif()
    endforeach()
  endwhile()
  set(${RESULT} ${seen} PARENT_SCOPE)
endfunction()

# Sets RESULT to the given headers and all headers of this project that they include.
function(shortlist_included_headers RESULT)
  set(seen "")
  set(pending ${ARGN})
  while(pending)
    list(POP_FRONT pending header)
    if(header IN_LIST seen OR NOT EXISTS ${PROJECT_SOURCE_DIR}/${header})
      continue()
    endif()
    list(APPEND seen ${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^#include \"")
    foreach(line ${lines})
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" line "${line}")
      list(APPEND pending ${line})
    endforeach()
  endwhile()
  set(${RESULT} ${seen} PARENT_SCOPE)
endfunction()

# Appends the lines of ShortlistTargets.cmake that define NAME to LINES, and the packages it needs to PACKAGES.
function(shortlist_import_lines NAME LINES PACKAGES)
  get_target_property(links shortlist_${NAME} LINK_LIBRARIES)
  list(REMOVE_ITEM links shortlist_flags Eigen3::Eigen)  # Eigen: headers that no public header includes
  set(packages ${${PACKAGES}})
  foreach(link ${links})
    if(link MATCHES "^(absl|nlohmann_json|Threads|LibLZMA|ZLIB|zstd)::")
      list(APPEND packages ${CMAKE_MATCH_1})
    elseif(link MATCHES "^(torch|torch_cpu|c10)$")
      list(APPEND packages Torch)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES packages)
  set(${PACKAGES} ${packages} PARENT_SCOPE)
  get_target_property(type shortlist_${NAME} TYPE)
  string(APPEND ${LINES} "if(NOT TARGET shortlist::${NAME})\n"
         "  add_library(shortlist::${NAME} STATIC IMPORTED)\n"
         "  set_target_properties(shortlist::${NAME} PROPERTIES\n"
         "    IMPORTED_LOCATION \${Shortlist_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libshortlist_${NAME}.a\n"
         "    INTERFACE_COMPILE_FEATURES cxx_std_20\n"
         "    INTERFACE_INCLUDE_DIRECTORIES \${Shortlist_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\n"
         "    INTERFACE_LINK_LIBRARIES \"${links}\")\n")
  if(NAME STREQUAL text)  # opens libshortlist_sentencepiece.so at run time
    string(APPEND ${LINES} "  set_property(TARGET shortlist::text PROPERTY INTERFACE_LINK_OPTIONS\n"
           "    LINKER:-rpath,\${Shortlist_PREFIX}/${CMAKE_INSTALL_LIBDIR})\n")
  endif()
  string(APPEND ${LINES} "endif()\n")
  set(${LINES} "${${LINES}}" PARENT_SCOPE)
endfunction()

set(installed "")
set(headers "")
set(SHORTLIST_IMPORTS "")
foreach(component ${SHORTLIST_COMPONENTS})
  shortlist_targets_of(${SHORTLIST_TARGET_${component}} targets)
  set(lines "")
  set(packages "")
  foreach(name ${targets})
    shortlist_import_lines(${name} lines packages)
  endforeach()
  string(APPEND SHORTLIST_IMPORTS "if(\"${component}\" IN_LIST Shortlist_FIND_COMPONENTS)\n")
  foreach(package ${packages})
    string(APPEND SHORTLIST_IMPORTS "  find_dependency(${package})\n")
  endforeach()
  string(REPLACE "\n" "\n  " lines "  ${lines}")
  string(APPEND SHORTLIST_IMPORTS "${lines}")
  if(NOT component STREQUAL SHORTLIST_TARGET_${component})
    string(APPEND SHORTLIST_IMPORTS "if(NOT TARGET shortlist::${component})\n    "
           "add_library(shortlist::${component} INTERFACE IMPORTED)\n    "
           "target_link_libraries(shortlist::${component} INTERFACE shortlist::${SHORTLIST_TARGET_${component}})\n  "
           "endif()\n")
  endif()
  string(APPEND SHORTLIST_IMPORTS "\n  set(Shortlist_${component}_FOUND TRUE)\nendif()\n")
  list(APPEND installed ${targets})
  list(APPEND headers ${SHORTLIST_PUBLIC_${component}})
endforeach()
list(REMOVE_DUPLICATES installed)
shortlist_included_headers(headers ${headers})

# Installed as files: CMake would install a target's headers with it, including the private ones.
foreach(name ${installed})
  install(FILES $<TARGET_FILE:shortlist_${name}> DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
set(public ${PROJECT_BINARY_DIR}/public)
install(CODE "
  set(SHORTLIST_HEADERS \"${headers}\")
  set(SHORTLIST_SOURCE \"${PROJECT_SOURCE_DIR}\")
  set(SHORTLIST_PUBLIC \"${public}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/ShortlistHeaders.cmake\")")
install(DIRECTORY ${public}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/shortlist)
install(FILES ${PROJECT_SOURCE_DIR}/c/shortlist.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS shortlist_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET shortlist_sentencepiece)
  install(TARGETS shortlist_sentencepiece LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET shortlist)
  set_target_properties(shortlist PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS shortlist RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

  # Written by the program itself during installation, so that they list its actual flags.
  set(written ${PROJECT_BINARY_DIR}/written)
  foreach(pair "man-page=shortlist.1" "completion,bash=shortlist.bash" "completion,zsh=_shortlist")
    string(REPLACE "=" ";" pair "${pair}")
    list(GET pair 0 arguments)
    list(GET pair 1 name)
    string(REPLACE "," " " arguments "${arguments}")
    install(CODE "
      file(MAKE_DIRECTORY \"${written}\")
      execute_process(COMMAND \"$<TARGET_FILE:shortlist>\" ${arguments}
                      OUTPUT_FILE \"${written}/${name}\" COMMAND_ERROR_IS_FATAL ANY)")
  endforeach()
  install(FILES ${written}/shortlist.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${written}/shortlist.bash RENAME shortlist
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  # Debian's zsh reads completions of packages from a separate folder.
  install(CODE "
    set(zsh_completions site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      set(zsh_completions vendor-completions)
    endif()")
  install(FILES ${written}/_shortlist DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/\${zsh_completions}")

  # The demo pair is not installed, nor are files made for it.
  foreach(list gpt2 llama3 mistral-v3 phi3 qwen qwen.code qwen.math qwen.prose)
    install(FILES ${PROJECT_SOURCE_DIR}/vocab_lists/${list}.vocab.json.xz
            DESTINATION ${CMAKE_INSTALL_DATADIR}/shortlist/vocab_lists)
  endforeach()
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Shortlist)
configure_package_config_file(cmake/ShortlistConfig.cmake.in ${PROJECT_BINARY_DIR}/ShortlistConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ShortlistConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ShortlistConfig.cmake ${PROJECT_BINARY_DIR}/ShortlistConfigVersion.cmake
        DESTINATION ${package_dir})

foreach(name shortlist shortlist-head)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# Debian expects a package's licence here; other systems do not mind.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libshortlist-dev
        RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libshortlist-dev)
set(CPACK_PACKAGE_VENDOR "The shortlist authors")
set(CPACK_PACKAGE_CONTACT "The shortlist authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "libabsl-dev, nlohmann-json3-dev, liblzma-dev, zlib1g-dev, libzstd-dev, libpcre2-dev, libutf8proc-dev")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
