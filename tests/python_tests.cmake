# The tests in Python, each module one CTest: what must be made before it, and how it shares the machine with others.

# needs(PATTERN FIXTURE…): modules of such a name need these besides the release file and the Python environments.
macro(needs pattern)
  if(name MATCHES "${pattern}")
    list(APPEND fixtures ${ARGN})
  endif()
endmacro()

function(python_test name label program trainstep)
  set(fixtures release python)
  needs("_cluster_" cluster)
  needs("_objectstore$|_pipelines$|_cluster_(agent|argo|burst|burst_argo|burst_cuts|burst_lease|canary|claim_nodes|data|faults|jobs|real|samples)$" s3)
  needs("_cluster_(burst_)?argo$" argo image)
  needs("_image$" image)
  needs("_image_all$" image_all)
  needs("_(notebook|sdk_wheel|sdk_kfp)$" wheel)
  needs("_sim_server$" sim)
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/build/venv/e2e/bin/python -m pytest -q -p no:cacheprovider ${program}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(
    ${name}
    PROPERTIES LABELS ${label}
               TIMEOUT 900
               FIXTURES_REQUIRED "${fixtures}"
               ENVIRONMENT "TRAINSTEP=${trainstep};TRAINSTEP_VENVS=${PROJECT_SOURCE_DIR}/build/venv")
  if(name MATCHES "^(flow_bad_input|flow_kill|e2e_cluster_cancel)$")  # these look at the time
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  elseif(name MATCHES "_(argo|notebook|samples)$")  # these keep two cores busy; most others mainly wait
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
  endif()
  if(name MATCHES "_(agent|argo|data|faults|matrix|notebook|objectstore|real|samples)$")  # minutes: the others go beside them
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
  if(name MATCHES "_(kill_points|burst_argo|burst_cuts|burst_lease|image_all)$")  # minutes, for little that others do not show: ./dev test --all
    set_tests_properties(${name} PROPERTIES LABELS "${label};long")
  endif()
endfunction()

# python_tests(LABEL PROGRAM): tests/LABEL/NAME_test.py on that file of trainstep.
function(python_tests label trainstep)
  file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${label}/*_test.py)
  foreach(program IN LISTS programs)
    get_filename_component(name ${program} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${label}_${name})
    python_test(${name} ${label} ${program} ${trainstep})
  endforeach()
endfunction()
