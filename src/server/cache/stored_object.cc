#include "server/cache/stored_object.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "api/select/selector.h"
#include "json/json.h"
#include "json/parse_without.h"
#include "server/cache/text_packer.h"

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

Result<std::shared_ptr<StoredObject>> StoredObject::Build(Bytes bytes, store::Revision revision,
                                                          const api::KindInfo& kind, const ReadForm& form) {
  auto value = form ? json::Parse(*bytes) : ParseForExtraction(*bytes, kind);
  if (!value) return Unexpected(InternalError("stored object is not JSON: " + value.error().message()));
  if (!(*value)["metadata"].is_object()) return Unexpected(InternalError("stored object has no metadata"));
  if (form && form(*value)) bytes = MakeBytes(json::Write(*value));
  return FromValue(*value, std::move(bytes), revision, kind);
}

std::shared_ptr<StoredObject> StoredObject::FromValue(const json::Value& value, Bytes bytes,
                                                      store::Revision revision, const api::KindInfo& kind) {
  auto object = std::make_shared<StoredObject>();
  object->bytes_ = std::move(bytes);
  object->size_ = static_cast<std::uint32_t>(object->bytes_->size());
  object->revision_ = revision;
  object->Extract(value, kind);
  object->Locate(value["metadata"]["uid"].string_or(""));
  return object;
}

struct StoredObject::ConvertedForm {
  std::string api_version;  // empty: what is kept is this object, parsed
  ObjectPtr object;
  json::Value value;
  ConvertedForm* next = nullptr;
};

StoredObject::~StoredObject() {
  for (ConvertedForm* form = forms_.load(); form != nullptr;) delete std::exchange(form, form->next);
}

bool StoredObject::IsOf(std::string_view api_version) const {
  constexpr std::string_view kStart = "{\"apiVersion\":\"";
  std::string own;
  if (packed()) own = UnpackedStart(std::min<std::size_t>(size_, kStart.size() + api_version.size() + 1));
  const std::string_view text = packed() ? own : *bytes_;
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
  auto form = std::make_unique<ConvertedForm>();
  form->api_version = api_version;
  form->object = std::move(object);
  Keep(std::move(form));
}

StoredObject::ConvertedForm& StoredObject::Keep(std::unique_ptr<ConvertedForm> form) const {
  ConvertedForm* kept = form.release();
  kept->next = forms_.load();
  while (!forms_.compare_exchange_weak(kept->next, kept, std::memory_order_release)) {
  }
  return *kept;
}

const json::Value& StoredObject::Parsed() const {
  for (const auto* form = forms_.load(std::memory_order_acquire); form != nullptr; form = form->next)
    if (form->api_version.empty()) return form->value;
  auto form = std::make_unique<ConvertedForm>();
  form->value = ToValue();
  return Keep(std::move(form)).value;
}

// Collects references to texts.
class StoredObject::Packer {
 public:
  // Texts are looked for in `bytes`; if that is empty, among those that came before.
  explicit Packer(std::string_view bytes) : bytes_(bytes) {}

  // Keeps a copy of the text.
  void AddOwn(std::string_view text) {
    AddRef(more_.size(), text.size(), false);
    more_ += text;
  }
  // Keeps a copy only if the text is not found.
  void Add(std::string_view text) {
    const bool searches = refs_.size() < kMaxSearches && bytes_.size() <= kSearched;
    const std::string_view searched = bytes_.empty() ? std::string_view(more_) : bytes_;
    const std::size_t at = searches ? searched.find(text) : std::string_view::npos;
    if (at == std::string_view::npos) return AddOwn(text);
    AddRef(at, text.size(), !bytes_.empty());
  }
  bool small() const {
    constexpr std::size_t kLargest = UINT16_MAX / 2;  // of an offset, and twice a size
    return std::max(bytes_.size(), more_.size()) <= kLargest;
  }
  std::unique_ptr<char[]> Pack() const { return small() ? PackAs<SmallRef>() : PackAs<LargeRef>(); }

 private:
  // Looking for a text costs time, having it twice costs its bytes: many are not looked for, nor any in large
  // objects.
  static constexpr std::size_t kSearched = 8192, kMaxSearches = 24;

  void AddRef(std::size_t at, std::size_t size, bool in_bytes) {
    refs_.push_back(
        {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(2 * size + (in_bytes ? 1 : 0))});
  }

  template <typename Ref>
  std::unique_ptr<char[]> PackAs() const {
    std::unique_ptr<char[]> packed(new char[refs_.size() * sizeof(Ref) + more_.size()]);
    char* to = packed.get();
    for (const LargeRef& ref : refs_) {
      const Ref narrow{static_cast<decltype(Ref::offset)>(ref.offset),
                       static_cast<decltype(Ref::offset)>(ref.size_and_place)};
      std::memcpy(to, &narrow, sizeof(Ref));
      to += sizeof(Ref);
    }
    std::memcpy(to, more_.data(), more_.size());
    return packed;
  }

  const std::string_view bytes_;
  std::vector<LargeRef> refs_;
  std::string more_;
};

void StoredObject::SetTexts(const Packer& packer) {
  texts_ = packer.Pack();
  small_ = packer.small();
}

void StoredObject::Extract(const json::Value& value, const api::KindInfo& kind) {
  const auto fields = api::SelectableValues(kind, value);
  Packer packer(*bytes_);
  field_count_ = static_cast<std::uint16_t>(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) i < 2 ? packer.AddOwn(fields[i]) : packer.Add(fields[i]);
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
  SetTexts(packer);
}

bool StoredObject::IsWorthPacking(const api::KindInfo& kind) {
  return kind.kind == "Event" && (kind.group.empty() || kind.group == "events.k8s.io");
}

void StoredObject::Pack() {
  if (packed()) return;
  Packer texts({});
  for (std::size_t i = 0; i < text_count(); ++i) texts.Add(Text(i));
  const std::string packed = EventPacker().Pack(*bytes_);
  packed_.reset(new char[packed.size()]);
  std::memcpy(packed_.get(), packed.data(), packed.size());
  packed_size_ = static_cast<std::uint32_t>(packed.size());
  SetTexts(texts);
  bytes_ = nullptr;
}

std::string StoredObject::UnpackedStart(std::size_t size) const {
  return EventPacker().Unpack({packed_.get(), packed_size_}, size);
}

std::string_view StoredObject::Json(std::string& own) const {
  if (!packed()) return *bytes_;
  own = Unpacked();
  return own;
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
  std::string own;
  return std::string(Json(own).substr(version_offset_ - 1 - uid_size_, uid_size_));
}

void StoredObject::AppendJson(std::string& out, Form form, store::Revision resource_version) const {
  std::string own;
  if (form == Form::kListItem) out += '{';
  AppendWithVersion(out, Json(own), form == Form::kListItem ? metadata_offset_ : 0, size_, resource_version);
}

void StoredObject::AppendMetadata(std::string& out, store::Revision resource_version) const {
  const std::size_t brace = metadata_offset_ + kMetadata.size() - 1;
  std::string own;
  const std::string_view text = Json(own);
  AppendWithVersion(out, text, brace, EndOfObject(text, brace), resource_version);
}

void StoredObject::AppendWithVersion(std::string& out, std::string_view text, std::size_t from,
                                     std::size_t to, store::Revision resource_version) const {
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
  text.reserve(size_ + 40);
  AppendJson(text, Form::kWhole, resource_version);
  return std::move(*json::Parse(text));
}

}  // namespace flyball::server
