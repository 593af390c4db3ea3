# Third-party libraries, from the distribution's packages (docs/adr/0002). The static release takes their archives and lean ones of libcurl and RE2 (docs/adr/0003).
if(TRAINSTEP_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(OPENSSL_USE_STATIC_LIBS ON)
endif()
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
set(libraries cares pugixml)
if(NOT TRAINSTEP_STATIC)
  list(APPEND libraries re2)
endif()
foreach(library ${libraries})
  find_library(${library}_library ${library} REQUIRED)
  add_library(${library} UNKNOWN IMPORTED)
  set_target_properties(${library} PROPERTIES IMPORTED_LOCATION ${${library}_library})
endforeach()
# Header-only, as the distribution has no archive of it, and with the fmt that all modules have.
find_path(SPDLOG_INCLUDES spdlog/logger.h REQUIRED)
add_library(spdlog INTERFACE)
target_include_directories(spdlog SYSTEM INTERFACE ${SPDLOG_INCLUDES})
target_compile_definitions(spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
# The distribution has no archive of fmt: the static programs compile it from its headers. All others link its shared library, which saves two fifths of
# their compile time.
target_link_libraries(settings INTERFACE nlohmann_json::nlohmann_json $<IF:$<BOOL:${TRAINSTEP_STATIC}>,fmt::fmt-header-only,fmt::fmt> tl::expected)

# One precompiled header for all modules. ccache wants -fpch-preprocess to look into it.
if(TRAINSTEP_PRECOMPILE)
  target_compile_options(settings INTERFACE -fpch-preprocess)
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
  add_library(precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(precompiled PRIVATE settings)
  target_precompile_headers(precompiled PRIVATE <nlohmann/json.hpp> <fmt/format.h> <tl/expected.hpp> <filesystem> <functional> <map> <optional> <string> <vector>)
endif()

if(TRAINSTEP_STATIC)
  # Debian's CMake files name only the shared yaml-cpp; its static archive is next to it.
  find_library(YAML_CPP_ARCHIVE yaml-cpp REQUIRED)
  add_library(yaml-cpp STATIC IMPORTED)
  set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${YAML_CPP_ARCHIVE})
  include(LeanLibraries)
  include(LeanOpenSSL)
else()
  find_package(yaml-cpp REQUIRED)
  find_package(CURL REQUIRED)  # only the http module needs it
endif()
