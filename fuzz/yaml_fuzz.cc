// Whatever ParseYaml accepts must be JSON, and must survive being written as YAML and read back.
#include <cstdlib>
#include <string>

#include "json/json.h"
#include "json/yaml/yaml.h"

using namespace flyball::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> duplicates;
  (void)ParseYamlStream(text).has_value();
  const auto value = ParseYaml(text, &duplicates);
  if (!value) return 0;
  const auto json = Parse(Write(*value));
  if (!json) std::abort();
  const std::string written = WriteYaml(*value);
  // A key << is written plain, as go-yaml does it, and read as a merge: it does not come back.
  if (written.find("<<:") != std::string::npos) return 0;
  const auto again = ParseYaml(written);
  // Deep trees are written by hand but read by yaml-cpp, which stops at 500 levels.
  if (!again && again.error().message().find("depth") == std::string::npos) std::abort();
  if (again && Write(*again).size() != 0 && !(*ParseYaml(WriteYaml(*again)) == *again)) std::abort();
  return 0;
}
