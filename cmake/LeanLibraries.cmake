# lean_library(TARGET NAME): an archive of the static release that tools/build_NAME.sh makes from Debian's source package when the first target that links
# it is built, and keeps in the cache (tools/lib.sh) by version and flags.
function(lean_library target name)
  set(tool ${PROJECT_SOURCE_DIR}/tools/build_${name}.sh)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${tool} ${PROJECT_SOURCE_DIR}/tools/from_source.sh)
  execute_process(
    COMMAND ${tool} --where ${TRAINSTEP_ARCH}
    OUTPUT_VARIABLE folder
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  set(archive ${folder}/lib/lib${name}.a)
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${tool} ${TRAINSTEP_ARCH}
    COMMENT "Building the lean lib${name}"
    USES_TERMINAL)
  add_custom_target(lean_${name} DEPENDS ${archive})
  file(MAKE_DIRECTORY ${folder}/include)
  add_library(${target} STATIC IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${archive} INTERFACE_INCLUDE_DIRECTORIES ${folder}/include)
  add_dependencies(${target} lean_${name})
endfunction()

lean_library(CURL::libcurl curl)
set_target_properties(CURL::libcurl PROPERTIES INTERFACE_COMPILE_DEFINITIONS CURL_STATICLIB INTERFACE_LINK_LIBRARIES "OpenSSL::SSL;OpenSSL::Crypto")
lean_library(re2 re2)
