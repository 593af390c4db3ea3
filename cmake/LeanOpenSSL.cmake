# OpenSSL's archives for the static release without their tables for exceptions, half a megabyte: C throws none, and none of ours passes through it –
# no callback is given to OpenSSL (docs/adr/0003).
foreach(library Crypto SSL)
  get_target_property(archive OpenSSL::${library} IMPORTED_LOCATION)
  get_filename_component(name ${archive} NAME)
  set(lean ${PROJECT_BINARY_DIR}/openssl/${name})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/openssl)
  execute_process(COMMAND ${CMAKE_OBJCOPY} --remove-section=.eh_frame ${archive} ${lean} COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
  set_target_properties(OpenSSL::${library} PROPERTIES IMPORTED_LOCATION ${lean})
endforeach()
