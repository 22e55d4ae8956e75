#include "cli/kubectl/print/path_template.h"

#include "base/values/ascii.h"
#include "cli/kubectl/print/printers.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

// Returns the position of the brace that closes an action; quoted braces do not count.
std::size_t FindClose(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (quote) {
      if (text[i] == quote) quote = 0;
    } else if (text[i] == '"' || text[i] == '\'') {
      quote = text[i];
    } else if (text[i] == '}') {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string Unquote(std::string_view quoted) {
  std::string out;
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      out.push_back(quoted[i]);
      continue;
    }
    const char c = quoted[++i];
    out.push_back(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
  }
  return out;
}

}  // namespace

std::string PathText(const json::Value& value) {
  if (value.is_string()) return std::string(value.as_string());
  json::Value sorted = value;
  SortKeysDeep(sorted);
  return json::Write(sorted);
}

Result<PathTemplate> PathTemplate::Parse(std::string_view text) {
  PathTemplate result;
  FLYBALL_ASSIGN(result.parts_, ParseParts(text, false));
  return result;
}

Result<std::vector<PathTemplate::Part>> PathTemplate::ParseParts(std::string_view& text, bool in_range) {
  std::vector<Part> parts;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    if (open != 0) {
      Part part;
      part.text = text.substr(0, open);
      parts.push_back(std::move(part));
      text.remove_prefix(open == std::string_view::npos ? text.size() : open);
      continue;
    }
    const std::size_t close = FindClose(text);
    if (close == std::string_view::npos) return Unexpected(BadRequest("unclosed action"));
    const std::string_view action = Trimmed(text.substr(1, close - 1), " ");
    text.remove_prefix(close + 1);
    if (action == "end") {
      if (!in_range) return Unexpected(BadRequest("not in range, nothing to end"));
      return parts;
    }
    FLYBALL_TRY(ParseAction(action, text, &parts));
  }
  if (in_range) return Unexpected(BadRequest("unterminated range"));
  return parts;
}

Status PathTemplate::ParseAction(std::string_view action, std::string_view& rest, std::vector<Part>* parts) {
  Part part;
  if (!action.empty() && (action.front() == '"' || action.front() == '\'')) {
    part.text = Unquote(action);
  } else if (action.substr(0, 6) == "range ") {
    part.is_range = true;
    FLYBALL_ASSIGN(part.path, api::JsonPath::Parse(Trimmed(action.substr(6), " ")));
    FLYBALL_ASSIGN(part.body, ParseParts(rest, true));
  } else {
    part.is_path = true;
    if (action.substr(0, 1) == "@") action.remove_prefix(1);
    FLYBALL_ASSIGN(part.path, api::JsonPath::Parse(action));
  }
  parts->push_back(std::move(part));
  return {};
}

Status PathTemplate::RenderParts(const std::vector<Part>& parts, const json::Value& at, bool strict,
                                 std::string& out) {
  for (const Part& part : parts) {
    if (!part.is_range && !part.is_path) {
      out += part.text;
      continue;
    }
    if (const auto missing = strict ? part.path.MissingField(at) : std::nullopt)
      return Unexpected(BadRequest(*missing + " is not found"));
    bool first = true;
    for (const json::Value* value : part.path.Evaluate(at)) {
      if (part.is_path) {
        out += std::string(std::exchange(first, false) ? "" : " ") + PathText(*value);
      } else if (value->is_array()) {  // a list given as a whole is iterated too
        for (const json::Value& item : value->as_array())
          FLYBALL_TRY(RenderParts(part.body, item, strict, out));
      } else {
        FLYBALL_TRY(RenderParts(part.body, *value, strict, out));
      }
    }
  }
  return {};
}

std::string PathTemplate::Render(const json::Value& root) const {
  std::string out;
  (void)RenderParts(parts_, root, false, out);  // only missing fields can fail
  return out;
}

Result<std::string> PathTemplate::RenderStrictly(const json::Value& root) const {
  std::string out;
  FLYBALL_TRY(RenderParts(parts_, root, true, out));
  return out;
}

}  // namespace flyball::cli
