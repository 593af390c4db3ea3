# Third-party libraries, from the distribution's packages (docs/adr/0002). The static release takes their archives and a lean libcurl (docs/adr/0003).
if(TRAINSTEP_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(OPENSSL_USE_STATIC_LIBS ON)
endif()
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_library(CARES_LIBRARY cares REQUIRED)
add_library(cares UNKNOWN IMPORTED)
set_target_properties(cares PROPERTIES IMPORTED_LOCATION ${CARES_LIBRARY})
target_link_libraries(settings INTERFACE nlohmann_json::nlohmann_json fmt::fmt-header-only tl::expected)

# One precompiled header for all rooms. ccache wants -fpch-preprocess to look into it.
if(TRAINSTEP_PRECOMPILE)
  target_compile_options(settings INTERFACE -fpch-preprocess)
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
  add_library(precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(precompiled PRIVATE settings)
  target_precompile_headers(precompiled PRIVATE <nlohmann/json.hpp> <fmt/format.h> <tl/expected.hpp> <filesystem> <functional> <map> <optional> <string> <vector>)
endif()

if(TRAINSTEP_STATIC)
  # Debian's CMake files name only the shared yaml-cpp; its archive stands beside.
  find_library(YAML_CPP_ARCHIVE yaml-cpp REQUIRED)
  add_library(yaml-cpp STATIC IMPORTED)
  set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${YAML_CPP_ARCHIVE})
  include(LeanCurl)
else()
  find_package(yaml-cpp REQUIRED)
  find_package(CURL REQUIRED)  # only the http room needs it
endif()
