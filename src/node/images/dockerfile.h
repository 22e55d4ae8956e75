// The part of Dockerfile that needs no container: FROM, COPY, ENV, WORKDIR, USER, ENTRYPOINT, CMD, LABEL,
// EXPOSE, STOPSIGNAL. Everything else is refused by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::node {

struct DockerfileStep {
  int line = 0;
  std::string instruction;             // upper case
  std::vector<std::string> arguments;  // words; of ENTRYPOINT and CMD in shell form: "/bin/sh", "-c", text
};

// BadRequest naming the line if an instruction is not known or has not the arguments it needs.
Result<std::vector<DockerfileStep>> ParseDockerfile(std::string_view text);

}  // namespace flyball::node
