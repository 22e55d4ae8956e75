// Texts that are hard to read: deep, long, repeated; JSON, YAML and protobuf.
#include "attack.h"

namespace flyball::bench {
namespace {

std::string Times(long count, std::string_view text) {
  std::string out;
  out.reserve(static_cast<std::size_t>(count) * text.size());
  for (long i = 0; i < count; ++i) out += text;
  return out;
}

Attack Yaml(std::string name, std::string body) {
  return {std::move(name), MakeRequest("PATCH", kConfigMaps + "/y?fieldManager=m&dryRun=All", std::move(body),
                                       "application/apply-patch+yaml")};
}

Attack Json(std::string name, std::string body) {
  return {std::move(name), MakeRequest("POST", kConfigMaps + "?dryRun=All", std::move(body))};
}

// A protobuf envelope as kubectl sends it, around `raw`.
std::string Envelope(const std::string& raw) {
  const auto varint = [](std::size_t n) {
    std::string out;
    for (; n >= 128; n /= 128) out += static_cast<char>(n % 128 + 128);
    return out + static_cast<char>(n);
  };
  const std::string type =
      "\x0a\x02v1\x12\x09"
      "ConfigMap";
  return std::string("k8s\0", 4) + "\x0a" + varint(type.size()) + type + "\x12" + varint(raw.size()) + raw;
}

std::string YamlHead() {
  return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n";
}

std::string Laughs() {
  std::string out = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    out +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below + Times(8, "," + below) + "]\n";
  }
  return out;
}

}  // namespace

std::vector<Attack> TextAttacks() {
  const std::string deep_block = [] {
    std::string out = YamlHead();
    for (int i = 0; i < 2'000; ++i) out += std::string(static_cast<std::size_t>(i) % 1'000, ' ') + "a:\n";
    return out;
  }();
  return {
      Json("JSON of 1,400,000 open brackets", R"({"x":)" + Times(1'400'000, "[")),
      Json("JSON nested 9,900 deep", R"({"x":)" + Times(9'900, "[") + Times(9'900, "]") + "}"),
      Json("JSON objects nested 9,900 deep",
           R"({"x":)" + Times(9'900, R"({"a":)") + "1" + Times(9'900, "}") + "}"),
      Json("JSON of 700,000 empty objects", R"({"x":[)" + Times(950'000, "{},") + "{}]}"),
      Json("JSON of 1,400,000 numbers", R"({"x":[)" + Times(1'400'000, "1,") + "1]}"),
      Json("JSON of 500,000 long numbers", R"({"x":[)" + Times(130'000, "1.2345678901234567e-300,") + "1]}"),
      Json("JSON escapes of 2.9 MB", R"({"x":")" + Times(480'000, "\\u00e9") + "\"}"),
      Json("JSON that is all white space", Times(2'900'000, " ")),
      Yaml("YAML: billion laughs", YamlHead() + Laughs()),
      Yaml("YAML: 300,000 aliases", YamlHead() + "a: &a x\nb: [" + Times(700'000, "*a,") + "*a]\n"),
      Yaml("YAML: aliases of a large list",
           YamlHead() + "a: &a [" + Times(100'000, "x,") + "x]\nb: [" + Times(700'000, "*a,") + "*a]\n"),
      Yaml("YAML: flow nested deep", YamlHead() + "x: " + Times(1'400'000, "[")),
      Yaml("YAML: flow maps nested deep", YamlHead() + "x: " + Times(500'000, "{a: ")),
      Yaml("YAML: blocks nested deep", deep_block),
      Yaml("YAML: 500,000 dashes on a line", YamlHead() + "x:\n  " + Times(900'000, "- ") + "\n"),
      Yaml("YAML: 500,000 question marks", YamlHead() + "x:\n  " + Times(900'000, "? ") + "\n"),
      Yaml("YAML: one scalar of many lines", YamlHead() + "x: |\n" + Times(500'000, "  a\n")),
      Yaml("YAML: one plain scalar of many lines", YamlHead() + "x:\n" + Times(500'000, "  a\n")),
      Yaml("YAML: one quoted scalar of many lines",
           YamlHead() + "x: \"" + Times(700'000, "\\n\n  ") + "\"\n"),
      Yaml("YAML: 100,000 members",
           YamlHead() + "data:\n" +
               Repeated(
                   100'000, [](long i) { return "  k" + std::to_string(i) + ": v\n"; }, "")),
      Yaml("YAML: 200,000 members of one name", YamlHead() + "data:\n" + Times(300'000, "  same: v\n")),
      Yaml("YAML: 100,000 documents", YamlHead() + Times(400'000, "---\na\n")),
      Yaml("YAML: 100,000 comments", YamlHead() + Times(700'000, "# x\n")),
      Yaml("YAML: 100,000 merge keys",
           YamlHead() + "a: &a {b: c}\nx:\n" +
               Repeated(
                   100'000, [](long i) { return "  k" + std::to_string(i) + ": {<<: *a}\n"; }, "")),
      Yaml("YAML: tabs and colons", YamlHead() + "x: " + Times(1'400'000, ": ")),
      Yaml("YAML: tags", YamlHead() + "x: [" + Times(400'000, "!!str a,") + "a]\n"),
      {"protobuf of 700,000 empty data entries",
       MakeRequest("POST", kConfigMaps + "?dryRun=All",
                   Envelope(Times(1'400'000, std::string("\x12\x00", 2))),
                   "application/vnd.kubernetes.protobuf")},
      {"protobuf nested groups",
       MakeRequest("POST", kConfigMaps + "?dryRun=All", Envelope(Times(2'900'000, "\x0b")),
                   "application/vnd.kubernetes.protobuf")},
      {"protobuf of unknown fields",
       MakeRequest("POST", kConfigMaps + "?dryRun=All", Envelope(Times(700'000, "\xf8\x07\x01")),
                   "application/vnd.kubernetes.protobuf")},
  };
}

}  // namespace flyball::bench
