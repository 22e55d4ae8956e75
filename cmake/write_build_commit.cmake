# Writes the source file that knows the commit (build_commit.cmake), if it is not as it should be.
function(ask_git ANSWER)
  execute_process(COMMAND git --no-optional-locks ${ARGN} WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE answer ERROR_QUIET
                  RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    set(answer "")
  endif()
  set(${ANSWER} "${answer}" PARENT_SCOPE)
endfunction()

set(ENV{TZ} UTC)
# Only a repository whose root this is: a source tree may lie within another one.
ask_git(above rev-parse --show-cdup)
ask_git(head rev-parse HEAD)
set(state "")
set(date "")
if(head AND above STREQUAL "")
  set(COMMIT ${head})
  ask_git(date show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ HEAD)
  ask_git(changes status --porcelain --untracked-files=no)
  set(state "clean")
  if(changes)
    set(state "dirty")
  endif()
endif()

file(CONFIGURE OUTPUT ${FILE} @ONLY CONTENT [[
#include "cli/build_commit.h"

namespace flyball::cli {

BuildInfo BuildOfProgram() {
  return {.commit = "@COMMIT@", .tree_state = "@state@", .date = "@date@", .type = "@TYPE@"};
}

}  // namespace flyball::cli
]])
