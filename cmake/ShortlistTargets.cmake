# Targets of this project: a static library shortlist::<room> for each room (DESIGN.md, "Rooms") and a test binary for
# each folder of tests/.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Target all_verify_interface_header_sets: each public header compiles on its own.
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)  # of the sets named by shortlist_verify()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Checkouts share compiled files: paths below the checkout are ignored. Files missing from the cache are not
# preprocessed twice (depend mode).
find_program(CCACHE ccache)
if(CCACHE)
  get_filename_component(CHECKOUT ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CHECKOUT} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Flags for this project's targets only: warnings, no contraction of a*b+c (a kernel's bits are the same in every tile
# shape), sanitizers. Designated initialisers omit fields on purpose; GCC 12's -Wrestrict misfires on std::string
# concatenation (GCC bug 105651).
add_library(shortlist_flags INTERFACE)
target_compile_options(shortlist_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -ffp-contract=off
                       $<$<BOOL:${SHORTLIST_WERROR}>:-Werror>)
if(SHORTLIST_SANITIZE)
  target_compile_options(shortlist_flags INTERFACE -fsanitize=${SHORTLIST_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(SHORTLIST_SANITIZE MATCHES undefined)
    # Null pointers trap without these checks, and x86 allows unaligned reads. The checks would be compiled into every
    # access and more than double the compile time.
    target_compile_options(shortlist_flags INTERFACE -fno-sanitize=null,alignment,object-size,vptr)
  endif()
  target_link_options(shortlist_flags INTERFACE -fsanitize=${SHORTLIST_SANITIZE})
endif()

# shortlist_unite(NAME ALONE): with SHORTLIST_UNITE, ten sources of a target are compiled together, so that the headers of
# libraries are parsed and their templates compiled once for ten. ALONE: sources with a local name that another source
# has too. Not for kernels, whose sources have their own flags.
# SHORTLIST_UNITE: ON, or MOST: only test binaries, grammar, and the rooms over Asio and CLI11, whose headers take most of their
# time. A missing include in one of the other libraries is an error then.
function(shortlist_unite NAME ALONE)
  if(NOT SHORTLIST_UNITE OR NAME MATCHES "kernels|sentencepiece")
    return()
  endif()
  if(SHORTLIST_UNITE STREQUAL MOST AND NOT NAME MATCHES "_test$|^shortlist_(grammar|serve|serve_http|cli)$")
    return()
  endif()
  set_target_properties(${NAME} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  set_source_files_properties(${ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  # GCC takes a united source for a header: types of an anonymous namespace must not be members there.
  target_compile_options(${NAME} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()

# shortlist_hasten(NAME): less optimization for what is compiled often and takes no time when it runs. With sanitizers
# -O1 takes 1.7 times as long to compile as -O0; without them -O3 takes 1.5 times as long as -O1.
function(shortlist_hasten NAME)
  if(SHORTLIST_SANITIZE)
    target_compile_options(${NAME} PRIVATE -O0)
  elseif(NAME MATCHES "_test$")
    target_compile_options(${NAME} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# shortlist_verify(NAME SOURCES HEADERS): `all_verify_interface_header_sets` compiles each of HEADERS alone, except where
# the source of the same name begins with it: then compiling that source shows that the header is self-contained.
function(shortlist_verify NAME SOURCES HEADERS)
  set(unproven)
  foreach(header ${HEADERS})
    string(REGEX REPLACE "\\.h$" ".cc" source ${header})
    set(first)
    if(source IN_LIST SOURCES)
      file(STRINGS ${source} first REGEX "^#include" LIMIT_COUNT 1)
    endif()
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${header})
    if(NOT first STREQUAL "#include \"${path}\"")
      list(APPEND unproven ${header})
    endif()
  endforeach()
  set_target_properties(${NAME} PROPERTIES VERIFY_INTERFACE_HEADER_SETS OFF)
  if(unproven)
    target_sources(${NAME} PUBLIC FILE_SET unproven TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${unproven})
    set_target_properties(${NAME} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY unproven)
  endif()
endfunction()

# Of what shared objects are made: libshortlist.so and the Python package.
set(SHORTLIST_SHARED_ROOMS base io vocab vocab_formats kernels head c)

# shortlist_library(NAME SRCS a.cc ... [ALONE b.cc ...] HDRS a.h ... DEPS shortlist::base absl::status ...)
# ALONE: sources too; see shortlist_unite.
function(shortlist_library NAME)
  cmake_parse_arguments(ARG "" "" "SRCS;ALONE;HDRS;DEPS" ${ARGN})
  add_library(shortlist_${NAME} STATIC ${ARG_SRCS} ${ARG_ALONE})
  add_library(shortlist::${NAME} ALIAS shortlist_${NAME})
  target_sources(shortlist_${NAME} PUBLIC FILE_SET HEADERS
                 BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HDRS})
  target_include_directories(shortlist_${NAME} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(shortlist_${NAME} PUBLIC ${ARG_DEPS} PRIVATE shortlist_flags)
  if(NAME IN_LIST SHORTLIST_SHARED_ROOMS)
    set_target_properties(shortlist_${NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  shortlist_verify(shortlist_${NAME} "${ARG_SRCS};${ARG_ALONE}" "${ARG_HDRS}")
  shortlist_unite(shortlist_${NAME} "${ARG_ALONE}")
  if(NAME MATCHES "^(cli|serve|serve_http)$")
    shortlist_hasten(shortlist_${NAME})
  endif()
endfunction()

# shortlist_test(NAME SRCS a_test.cc ... [ALONE b_test.cc ...] DEPS shortlist::x ...): the test binary <NAME>_test.
function(shortlist_test NAME)
  cmake_parse_arguments(ARG "" "" "SRCS;ALONE;DEPS" ${ARGN})
  add_executable(${NAME}_test ${ARG_SRCS} ${ARG_ALONE})
  target_link_libraries(${NAME}_test PRIVATE ${ARG_DEPS} shortlist_flags GTest::gtest GTest::gmock
                        GTest::gtest_main)
  shortlist_unite(${NAME}_test "${ARG_ALONE}")
  shortlist_hasten(${NAME}_test)
  # Draft data that a test run caches must not end up in the user's cache.
  set(cache "XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/test_cache")
  if(NOT SHORTLIST_TEST_SHARDS)
    # A busy machine can take seconds to list the tests.
    gtest_discover_tests(${NAME}_test DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                         PROPERTIES TIMEOUT 600 ENVIRONMENT "${cache}")
    return()
  endif()
  foreach(shard RANGE 1 ${SHORTLIST_TEST_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${NAME}_test.${shard}of${SHORTLIST_TEST_SHARDS} COMMAND ${NAME}_test
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(
      ${NAME}_test.${shard}of${SHORTLIST_TEST_SHARDS} PROPERTIES TIMEOUT 600
      ENVIRONMENT "${cache};GTEST_TOTAL_SHARDS=${SHORTLIST_TEST_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
