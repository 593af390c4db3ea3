# module(NAME USES a b LIBRARIES x): one static library per folder of src/. USES are the allowed edges of ARCHITECTURE.md; tests/check_modules.py holds the
# #includes against the same lines. A folder without sources makes no library.
function(module name)
  cmake_parse_arguments(MODULE "" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC settings ${MODULE_USES} PRIVATE ${MODULE_LIBRARIES})
    if(TRAINSTEP_PRECOMPILE)
      target_precompile_headers(${name} REUSE_FROM precompiled)
    endif()
    if(TRAINSTEP_UNITY)
      set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${TRAINSTEP_UNITY})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE settings ${MODULE_USES})
  endif()
  set_property(GLOBAL APPEND PROPERTY TRAINSTEP_MODULES ${name})
endfunction()

# test_program(NAME FOLDER LABEL libraries…): tests/FOLDER/*_test.cpp as one program and one CTest.
function(test_program name folder label)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE test_main ${ARGN})
  # qemu's user mode refuses PR_SET_CHILD_SUBREAPER (its linux-user/syscall.c, do_prctl); it is too slow for thousands of random stories ([native]).
  add_test(NAME ${name} COMMAND ${name} $<$<BOOL:${CMAKE_CROSSCOMPILING}>:~[subreaper]~[native]~[.]> WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMAND_EXPAND_LISTS)
  set(limit 300)
  if(CMAKE_CROSSCOMPILING)  # another processor's instructions, one by one
    set(limit 1800)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${limit})
endfunction()

# unit_test(MODULE): tests/unit/MODULE/*_test.cpp.
function(unit_test module)
  test_program(unit_${module} unit/${module} unit ${module} ${ARGN})
endfunction()
