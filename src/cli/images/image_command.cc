#include "cli/images/image_command.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>

#include "base/observe/progress.h"
#include "json/json.h"
#include "node/images/image_archive.h"
#include "node/images/image_builder.h"
#include "node/images/image_store.h"
#include "node/registry/image_puller.h"

namespace flyball::cli {
namespace {

struct ImageFlags {
  std::string data_dir = "flyball-data";
  std::string name;
  std::string registries = node::kRegistriesFile;
  std::vector<std::string> args;
};

using ImageVerb = Status (*)(node::ImageStore& store, const ImageFlags& flags);

Status LoadImages(node::ImageStore& store, const ImageFlags& flags) {
  for (const std::string& path : flags.args) {
    ProgressTicker ticker([&] { return "loading " + path; });
    FLYBALL_ASSIGN(const auto names, node::LoadImageArchive(store, path, flags.name));
    ticker.Print([&] {
      for (const std::string& name : names) std::cout << "loaded " << name << std::endl;
    });
  }
  return {};
}

Status BuildOne(node::ImageStore& store, const ImageFlags& flags) {
  if (flags.args.size() != 1) return Unexpected(BadRequest("say one folder"));
  FLYBALL_ASSIGN(const std::string id, node::BuildImage(store, flags.args[0], flags.name));
  FLYBALL_ASSIGN(const auto image, store.Find(id));
  std::cout << "built " << image.name << " " << id << "\n";
  return {};
}

// "[######......] 25 %  2 of 5 layers, 3.1 of 12.4 MB  docker.io/library/nginx:1".
std::string PullText(const node::PullProgress& progress, const std::string& name) {
  if (progress.layers == 0) return "looking for " + name;
  return ProgressBar(progress.bytes_fetched, progress.bytes) + "  " +
         std::to_string(progress.layers_fetched) + " of " + std::to_string(progress.layers) + " layers, " +
         SizeText(progress.bytes_fetched) + " of " + SizeText(progress.bytes) + "  " + name;
}

// "docker.io/library/busybox:1.36", and each layer as it arrives.
Status PullImages(node::ImageStore& store, const ImageFlags& flags) {
  ThreadPool timers("timers", 1);
  node::ImagePuller puller(store, timers, {.registries_file = flags.registries});
  for (const std::string& name : flags.args) {
    FLYBALL_ASSIGN(const auto reference, node::ImageReference::Parse(name));
    node::PullProgress progress;
    ProgressTicker ticker([&] { return PullText(progress, reference.Name()); });
    progress.on_layer = [&](const node::ContentDescriptor& layer) {
      ticker.Print([&] { std::cout << layer.digest << " " << layer.size << std::endl; });
    };
    FLYBALL_ASSIGN(const auto image, puller.Pull(reference, {}, &progress));
    ticker.Print([&] { std::cout << "pulled " << image.name << " " << image.digest << std::endl; });
  }
  return {};
}

Status ListImages(node::ImageStore& store, const ImageFlags&) {
  FLYBALL_ASSIGN(const auto images, store.List());
  std::size_t width = 4;
  for (const auto& image : images) width = std::max(width, image.name.size());
  std::cout << std::left << std::setw(static_cast<int>(width)) << "NAME"
            << "   ID             SIZE\n";
  constexpr std::size_t kShortId = 12;
  for (const auto& image : images)
    std::cout << std::setw(static_cast<int>(width)) << image.name << "   "
              << image.id.substr(image.id.find(':') + 1, kShortId) << "   " << image.size << "\n";
  return {};
}

Status RemoveImages(node::ImageStore& store, const ImageFlags& flags) {
  for (const std::string& name : flags.args) {
    FLYBALL_TRY(store.Remove(name));
    std::cout << "removed " << name << "\n";
  }
  return {};
}

Status InspectImages(node::ImageStore& store, const ImageFlags& flags) {
  for (const std::string& name : flags.args) {
    FLYBALL_ASSIGN(const auto image, store.Find(name));
    const auto list = [](const std::vector<std::string>& strings) {
      return json::Array(strings.begin(), strings.end());
    };
    std::cout << json::WritePretty(
                     json::Object{{"name", image.name},
                                  {"id", image.id},
                                  {"manifest", image.manifest_digest},
                                  {"size", image.size},
                                  {"platform", image.config.os + "/" + image.config.architecture},
                                  {"user", image.config.user},
                                  {"env", list(image.config.env)},
                                  {"entrypoint", list(image.config.entrypoint)},
                                  {"cmd", list(image.config.cmd)},
                                  {"workingDir", image.config.working_dir},
                                  {"stopSignal", image.config.stop_signal},
                                  {"diffIds", list(image.config.diff_ids)},
                                  {"layers", list(image.layers)}})
              << "\n";
  }
  return {};
}

int RunImageVerb(const ImageFlags& flags, ImageVerb verb) {
  auto store = node::ImageStore::Open(flags.data_dir + "/node/images");
  const Status done = store ? verb(*store, flags) : Status(Unexpected(store.error()));
  if (done) return 0;
  std::cerr << "error: " << done.error().message() << "\n";
  return 1;
}

std::shared_ptr<ImageFlags> AddImageVerb(const Command& image, const char* name, const char* summary,
                                         const char* example, ImageVerb verb, const char* argument) {
  auto flags = std::make_shared<ImageFlags>();
  const Command command = image.Sub(name, summary, example);
  command.Option("--data-dir", &flags->data_dir, "The data folder of `flyball up` or `flyball node`");
  if (std::string(name) == "build")
    command.Option("-t,--tag", &flags->name, "The image's name").Required("--tag");
  if (std::string(name) == "load")
    command.Option("--name", &flags->name, "The name of an image that has none in the archive");
  if (std::string(name) == "pull")
    command.Option("--registries", &flags->registries, "Mirrors, and how registries are spoken to");
  if (*argument) {
    command.Args(argument, &flags->args, "");
    command.Required(argument);
  }
  command.RunLocal([flags, verb] { return RunImageVerb(*flags, verb); });
  return flags;
}

}  // namespace

void AddImageCommand(const Command& root) {
  const Command image = root.Sub("image", "Look after the images of a node",
                                 "flyball image load busybox.tar --data-dir flyball-data");
  image.RequireSub();
  AddImageVerb(image, "pull", "Fetch an image from its registry", "flyball image pull localhost:5000/web:1",
               &PullImages, "NAME");
  AddImageVerb(image, "load", "Add the images of an archive (docker save, OCI layout)",
               "flyball image load busybox.tar", &LoadImages, "FILE");
  AddImageVerb(image, "build", "Make an image from a folder, or from the Dockerfile in it",
               "flyball image build -t web:1 ./web", &BuildOne, "DIR");
  AddImageVerb(image, "list,ls", "List the images", "flyball image list", &ListImages, "");
  AddImageVerb(image, "inspect", "Say what an image is made of", "flyball image inspect web:1",
               &InspectImages, "NAME");
  AddImageVerb(image, "rm", "Remove an image and what only it needs", "flyball image rm web:1", &RemoveImages,
               "NAME");
}

}  // namespace flyball::cli
