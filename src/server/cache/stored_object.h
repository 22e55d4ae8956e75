// StoredObject: one object as the server holds it: its final JSON bytes, shared with the store, and the few
// facts that lists and watches filter by. Nothing is re-encoded to send it: the resourceVersion, which the
// stored bytes do not contain (the store's revision is its only source), is spliced in while copying to the
// wire.
//
// Immutable once shared: thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/schema/schema.h"
#include "base/values/bytes.h"
#include "base/values/result.h"
#include "json/value.h"
#include "store/store.h"

namespace flyball::server {

using LabelList = std::vector<std::pair<std::string, std::string>>;  // sorted by key

class StoredObject {
 public:
  // Brings what was stored to the form it has today (custom kinds: by their present schema). True if that
  // changed it.
  using ReadForm = std::function<bool(json::Value&)>;

  StoredObject() = default;
  ~StoredObject();
  StoredObject(const StoredObject&) = delete;
  StoredObject& operator=(const StoredObject&) = delete;

  // From the stored bytes of an object. InternalError if the bytes are no JSON object with metadata.
  static Result<std::shared_ptr<const StoredObject>> Build(Bytes bytes, store::Revision revision,
                                                           const api::KindInfo& kind,
                                                           const ReadForm& form = {});
  // The same, from a value that was just encoded to `bytes`. Not shared with anyone yet, so its revision may
  // still be set.
  static std::shared_ptr<StoredObject> FromValue(const json::Value& value, Bytes bytes,
                                                 store::Revision revision, const api::KindInfo& kind);

  const std::string& name() const { return name_; }
  const std::string& namespace_name() const { return namespace_; }
  std::string uid() const;
  store::Revision revision() const { return revision_; }
  // Before the object is shared.
  void set_revision(store::Revision revision) { revision_ = revision; }
  const Bytes& bytes() const { return bytes_; }
  // Whether its bytes begin with this apiVersion, as those this server writes do.
  bool IsOf(std::string_view api_version) const;

  // The same object as another version of its kind, once somebody has converted it; null before. What is kept
  // lives as long as this object.
  std::shared_ptr<const StoredObject> FormOf(std::string_view api_version) const;
  void KeepForm(std::string_view api_version, std::shared_ptr<const StoredObject> form) const;
  // A copy; what filters uses the two below.
  LabelList labels() const;
  std::size_t label_count() const { return label_count_; }
  // Key and value; by number in the order of keys.
  std::pair<std::string_view, std::string_view> label(std::size_t i) const {
    return {Text(field_count_ + 2 * i), Text(field_count_ + 2 * i + 1)};
  }
  // As api::SelectableValues numbers them: name, namespace, then the kind's own. Absent ones are "".
  std::string_view field(std::size_t i) const {
    if (i == 0) return name_;
    if (i == 1) return namespace_;
    return i - 2 < field_count_ ? Text(i - 2) : std::string_view();
  }

  // Appends the object with the given resourceVersion (0: none, it is not stored). kListItem leaves
  // apiVersion and kind out, as lists of built-in kinds do.
  enum class Form { kWhole, kListItem };
  void AppendJson(std::string& out, Form form, store::Revision resource_version) const;
  void AppendJson(std::string& out, Form form = Form::kWhole) const { AppendJson(out, form, revision_); }
  // Appends the metadata alone, an object of its own, with the given resourceVersion.
  void AppendMetadata(std::string& out, store::Revision resource_version) const;
  // The object as a value, metadata.resourceVersion included.
  json::Value ToValue() const { return ToValue(revision_); }
  json::Value ToValue(store::Revision resource_version) const;

 private:
  void Locate(std::string_view uid);
  // Copies [from, to) of the bytes; the place of the resourceVersion must be in it.
  void AppendWithVersion(std::string& out, std::size_t from, std::size_t to,
                         store::Revision resource_version) const;
  void Extract(const json::Value& value, const api::KindInfo& kind);

  // A text: in the object's bytes, or behind the references, in the same allocation. Events have a dozen
  // selectable fields, and are many: as strings those would take half the memory of one.
  struct TextRef {
    std::uint32_t offset;
    std::uint32_t size_and_place;  // twice the size, and one more if it is in the bytes

    std::size_t size() const { return size_and_place / 2; }
    bool in_bytes() const { return size_and_place % 2 == 1; }
  };
  class Packer;
  std::size_t text_count() const { return field_count_ + 2 * std::size_t{label_count_}; }
  std::string_view Text(std::size_t i) const {
    const TextRef ref = texts_[i];
    const char* from = ref.in_bytes() ? bytes_->data() : reinterpret_cast<const char*>(&texts_[text_count()]);
    return {from + ref.offset, ref.size()};
  }

  Bytes bytes_;
  store::Revision revision_ = 0;
  std::uint32_t metadata_offset_ = 0;  // of `"metadata":`
  std::uint32_t version_offset_ = 0;   // where `,"resourceVersion":"N"` goes: after the uid; 0: there is none
  std::uint32_t uid_size_ = 0;
  std::uint32_t label_count_ = 0, field_count_ = 0;  // fields besides name and namespace
  std::unique_ptr<TextRef[]> texts_;                 // the fields, then keys and values of the labels
  std::string name_, namespace_;
  struct ConvertedForm;
  mutable std::atomic<ConvertedForm*> forms_{nullptr};  // a list that only grows
};

using ObjectPtr = std::shared_ptr<const StoredObject>;

}  // namespace flyball::server
