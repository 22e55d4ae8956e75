#include "server/cache/stored_object.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "api/select/selector.h"
#include "json/json.h"
#include "json/parse_without.h"

namespace flyball::server {
namespace {

constexpr std::string_view kMetadata = "\"metadata\":{";

// Behind the bracket that closes the one at `open`. Requires valid JSON.
std::size_t EndOfObject(std::string_view text, std::size_t open) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return text.size();
}

}  // namespace

namespace {

// Only what is extracted is made into values.
Result<json::Value> ParseForExtraction(std::string_view text, const api::KindInfo& kind) {
  static constexpr std::array<std::string_view, 4> kNotExtracted = {"metadata.managedFields", "spec",
                                                                    "status", "data"};
  const std::span<const std::string_view> all(kNotExtracted);
  return json::ParseWithout(kind.selectable_fields.empty() ? all : all.first(1), text);
}

}  // namespace

Result<ObjectPtr> StoredObject::Build(Bytes bytes, store::Revision revision, const api::KindInfo& kind,
                                      const ReadForm& form) {
  auto value = form ? json::Parse(*bytes) : ParseForExtraction(*bytes, kind);
  if (!value) return Unexpected(InternalError("stored object is not JSON: " + value.error().message()));
  if (!(*value)["metadata"].is_object()) return Unexpected(InternalError("stored object has no metadata"));
  if (form && form(*value)) bytes = MakeBytes(json::Write(*value));
  return ObjectPtr(FromValue(*value, std::move(bytes), revision, kind));
}

std::shared_ptr<StoredObject> StoredObject::FromValue(const json::Value& value, Bytes bytes,
                                                      store::Revision revision, const api::KindInfo& kind) {
  auto object = std::make_shared<StoredObject>();
  object->bytes_ = std::move(bytes);
  object->revision_ = revision;
  object->Extract(value, kind);
  object->Locate(value["metadata"]["uid"].string_or(""));
  return object;
}

struct StoredObject::ConvertedForm {
  std::string api_version;
  ObjectPtr object;
  ConvertedForm* next;
};

StoredObject::~StoredObject() {
  for (ConvertedForm* form = forms_.load(); form != nullptr;) delete std::exchange(form, form->next);
}

bool StoredObject::IsOf(std::string_view api_version) const {
  constexpr std::string_view kStart = "{\"apiVersion\":\"";
  const std::string_view text = *bytes_;
  return text.starts_with(kStart) && text.substr(kStart.size()).starts_with(api_version) &&
         text.substr(kStart.size() + api_version.size()).starts_with('"');
}

ObjectPtr StoredObject::FormOf(std::string_view api_version) const {
  for (const auto* form = forms_.load(std::memory_order_acquire); form != nullptr; form = form->next)
    if (form->api_version == api_version) return form->object;
  return nullptr;
}

void StoredObject::KeepForm(std::string_view api_version, ObjectPtr object) const {
  if (FormOf(api_version)) return;
  auto* form = new ConvertedForm{std::string(api_version), std::move(object), forms_.load()};
  while (!forms_.compare_exchange_weak(form->next, form, std::memory_order_release)) {
  }
}

// Collects references to texts.
class StoredObject::Packer {
 public:
  explicit Packer(std::string_view bytes) : bytes_(bytes) {}

  void Add(std::string_view text) {
    std::size_t at = std::string_view::npos;
    if (text.size() > kShort && bytes_.size() <= kSearched && refs_.size() < kMaxSearches)
      at = bytes_.find(text);
    const bool found = at != std::string_view::npos;
    if (!found) {
      at = more_.size();
      more_ += text;
    }
    refs_.push_back(
        {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(2 * text.size() + (found ? 1 : 0))});
  }
  // The references, and behind them what they could not find in the bytes.
  std::unique_ptr<TextRef[]> Pack() const {
    if (refs_.empty()) return nullptr;
    const std::size_t extra = (more_.size() + sizeof(TextRef) - 1) / sizeof(TextRef);
    auto packed = std::make_unique<TextRef[]>(refs_.size() + extra);
    std::copy(refs_.begin(), refs_.end(), packed.get());
    std::memcpy(static_cast<void*>(packed.get() + refs_.size()), more_.data(), more_.size());
    return packed;
  }

 private:
  // Looking for a text costs time, having it twice costs its bytes: short ones are not looked for, nor many,
  // nor in large objects.
  static constexpr std::size_t kShort = 12, kSearched = 8192, kMaxSearches = 24;

  const std::string_view bytes_;
  std::vector<TextRef> refs_;
  std::string more_;
};

void StoredObject::Extract(const json::Value& value, const api::KindInfo& kind) {
  auto fields = api::SelectableValues(kind, value);
  name_ = std::move(fields[0]);
  namespace_ = std::move(fields[1]);
  Packer packer(*bytes_);
  field_count_ = static_cast<std::uint32_t>(fields.size() - 2);
  for (std::size_t i = 2; i < fields.size(); ++i) packer.Add(fields[i]);
  if (const auto& labels = value["metadata"]["labels"]; labels.is_object()) {
    std::vector<std::pair<std::string_view, std::string_view>> sorted;
    sorted.reserve(labels.size());
    for (const auto& [key, label] : labels.as_object()) sorted.emplace_back(key, label.string_or(""));
    std::sort(sorted.begin(), sorted.end());
    label_count_ = static_cast<std::uint32_t>(sorted.size());
    for (const auto& [key, label] : sorted) {
      packer.Add(key);
      packer.Add(label);
    }
  }
  texts_ = packer.Pack();
}

LabelList StoredObject::labels() const {
  LabelList out;
  out.reserve(label_count_);
  for (std::size_t i = 0; i < label_count_; ++i) out.emplace_back(label(i));
  return out;
}

// The first "metadata" member is the object's own: only apiVersion and kind come before it.
void StoredObject::Locate(std::string_view uid) {
  const auto metadata = bytes_->find(kMetadata);
  metadata_offset_ = static_cast<std::uint32_t>(metadata);
  if (uid.empty()) return;
  const std::string member = "\"uid\":\"" + std::string(uid) + "\"";
  const auto at = bytes_->find(member, metadata);
  if (at == std::string::npos) return;
  version_offset_ = static_cast<std::uint32_t>(at + member.size());
  uid_size_ = static_cast<std::uint32_t>(uid.size());
}

std::string StoredObject::uid() const {
  if (version_offset_ == 0) return {};
  return bytes_->substr(version_offset_ - 1 - uid_size_, uid_size_);
}

void StoredObject::AppendJson(std::string& out, Form form, store::Revision resource_version) const {
  if (form == Form::kListItem) out += '{';
  AppendWithVersion(out, form == Form::kListItem ? metadata_offset_ : 0, bytes_->size(), resource_version);
}

void StoredObject::AppendMetadata(std::string& out, store::Revision resource_version) const {
  const std::size_t brace = metadata_offset_ + kMetadata.size() - 1;
  AppendWithVersion(out, brace, EndOfObject(*bytes_, brace), resource_version);
}

void StoredObject::AppendWithVersion(std::string& out, std::size_t from, std::size_t to,
                                     store::Revision resource_version) const {
  const std::string_view text = *bytes_;
  if (resource_version == 0) {
    out += text.substr(from, to - from);
    return;
  }
  if (version_offset_ != 0) {
    out += text.substr(from, version_offset_ - from);
    out += ",\"resourceVersion\":\"";
    out += std::to_string(resource_version);
    out += '"';
    out += text.substr(version_offset_, to - version_offset_);
    return;
  }
  // No uid to follow (objects written by others): first in metadata.
  const auto after_brace = metadata_offset_ + kMetadata.size();
  out += text.substr(from, after_brace - from);
  out += "\"resourceVersion\":\"";
  out += std::to_string(resource_version);
  out += text[after_brace] == '}' ? "\"" : "\",";
  out += text.substr(after_brace, to - after_brace);
}

json::Value StoredObject::ToValue(store::Revision resource_version) const {
  std::string text;
  text.reserve(bytes_->size() + 40);
  AppendJson(text, Form::kWhole, resource_version);
  return std::move(*json::Parse(text));
}

}  // namespace flyball::server
