// sim_data [--first SEED] [--seeds N] [--until-violated] | --seed SEED: the data of a job against a simulated store, network and kubelet.
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "sim/data/world.h"
#include "sim/seeds.h"

using namespace trainstep::sim;

namespace {

// In memory where the machine has such a place.
std::filesystem::path some_folder() {
  const auto root = std::filesystem::is_directory("/dev/shm") ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
  return root / ("trainstep-sim-data-" + std::to_string(::getpid()));
}

}  // namespace

int main(int argc, char** argv) {
  const auto folder = some_folder();
  const Live live = [&folder](std::uint64_t seed, bool trace) {
    data::World world(seed, folder, trace);
    auto violations = world.run();
    return Lived{std::move(violations), world.trace()};
  };
  return run_seeds({argv + 1, argv + argc}, live, "tools/sim.sh --data");
}
