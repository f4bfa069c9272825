# The imported target hcomm::standin: headers and shared library of the CPU stand-in (docs/stand-in.md). Works in the
# directory that `cargo run -p hcomm-abi -- --out DIR` makes:
#
#   find_package(hcomm-standin REQUIRED CONFIG PATHS "${HCOMM_STANDIN}" NO_DEFAULT_PATH)
#   target_link_libraries(my_operator PRIVATE hcomm::standin)
get_filename_component(HCOMM_STANDIN_ROOT "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)
set(HCOMM_STANDIN_LIBRARY "${HCOMM_STANDIN_ROOT}/lib/libhcomm_standin.so")
if(NOT EXISTS "${HCOMM_STANDIN_LIBRARY}")
    set(hcomm-standin_FOUND FALSE)
    set(hcomm-standin_NOT_FOUND_MESSAGE
        "${HCOMM_STANDIN_LIBRARY} is not there: make the directory with `cargo run --release -p hcomm-abi -- --out DIR`")
    return()
endif()
if(NOT TARGET hcomm::standin)
    add_library(hcomm::standin SHARED IMPORTED)
    set_target_properties(hcomm::standin PROPERTIES
        IMPORTED_LOCATION "${HCOMM_STANDIN_LIBRARY}"
        IMPORTED_NO_SONAME TRUE
        INTERFACE_INCLUDE_DIRECTORIES "${HCOMM_STANDIN_ROOT}/include")
endif()
