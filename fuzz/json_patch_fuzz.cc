// The input is an array [document, patch]: the patch is tried as a JSON Patch and as a Merge Patch.
#include <cstdlib>
#include <string>

#include "json/json.h"
#include "json/patch.h"

using namespace flyball::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = Parse({reinterpret_cast<const char*>(data), size}, {.max_depth = 100});
  if (!input || !input->is_array() || input->size() < 2) return 0;
  const Value& document = input->as_array()[0];
  const Value& patch = input->as_array()[1];
  if (const auto patched = ApplyJsonPatch(document, patch)) {
    if (!Parse(Write(*patched))) std::abort();
  }
  const Value merged = ApplyMergePatch(document, patch);
  if (!Parse(Write(merged))) std::abort();
  const Value created = CreateMergePatch(document, merged);
  if (document.is_object() && merged.is_object()) {
    // Nulls that were in the document before cannot be told from deletions; everything else must come out the
    // same.
    const Value again = ApplyMergePatch(document, created);
    if (!(ApplyMergePatch(again, created) == again)) std::abort();
  }
  return 0;
}
