# CURL::libcurl for the static release: Debian's source package of curl, HTTP and HTTPS only. tools/build_curl.sh makes it when the first target that
# links it is built, and keeps it in the cache (tools/lib.sh) by version and flags.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/build_curl.sh)
execute_process(
  COMMAND ${PROJECT_SOURCE_DIR}/tools/build_curl.sh --where ${TRAINSTEP_ARCH}
  OUTPUT_VARIABLE LEAN_CURL
  OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)

add_custom_command(
  OUTPUT ${LEAN_CURL}/lib/libcurl.a
  COMMAND ${PROJECT_SOURCE_DIR}/tools/build_curl.sh ${TRAINSTEP_ARCH}
  COMMENT "Building the lean libcurl"
  USES_TERMINAL)
add_custom_target(lean_curl DEPENDS ${LEAN_CURL}/lib/libcurl.a)

file(MAKE_DIRECTORY ${LEAN_CURL}/include)
add_library(CURL::libcurl STATIC IMPORTED)
set_target_properties(
  CURL::libcurl
  PROPERTIES IMPORTED_LOCATION ${LEAN_CURL}/lib/libcurl.a
             INTERFACE_INCLUDE_DIRECTORIES ${LEAN_CURL}/include
             INTERFACE_COMPILE_DEFINITIONS CURL_STATICLIB
             INTERFACE_LINK_LIBRARIES "OpenSSL::SSL;OpenSSL::Crypto")
add_dependencies(CURL::libcurl lean_curl)
