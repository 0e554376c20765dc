// SPDX-License-Identifier: Apache-2.0
// C1: what it costs the whole grid to meet. C8: what a warm dispatch costs.
#include <atomic>
#include <barrier>
#include <thread>

#include "api.hpp"
#include "host.hpp"
#include "rows.hpp"
#include "sides.hpp"

namespace vyre::bench {
namespace {

uint32_t cores() {
  return std::max(1u, std::thread::hardware_concurrency());
}

// Threads that burn time beside the measurement, for as long as they live.
class Busy {
 public:
  explicit Busy(uint32_t threads) {
    for (uint32_t i = 0; i < threads; ++i)
      threads_.emplace_back([](const std::stop_token& stop) {
        std::atomic<uint64_t> work = 0;
        while (!stop.stop_requested()) work.fetch_add(1, std::memory_order_relaxed);
      });
  }

 private:
  std::vector<std::jthread> threads_;
};

void standard_barriers(uint32_t passes) {
  std::barrier<> barrier(cores());
  std::vector<std::jthread> threads;
  const auto loop = [&] {
    for (uint32_t k = 0; k < passes; ++k) barrier.arrive_and_wait();
  };
  for (uint32_t i = 1; i < cores(); ++i) threads.emplace_back(loop);
  loop();
}

Case barrier_case(const Bench& bench, const char* program, uint32_t passes, double at_least) {
  auto ours = std::make_shared<Ours>(bench, program);
  ours->grid(cores())
      .input("passes", std::vector<uint32_t>{passes})
      .input("x", std::vector<uint32_t>(64 * size_t{cores()}));
  Case c{.per = static_cast<double>(passes), .ours = [ours] { ours->run(); }};
  // Barriers have no results; what can be seen is that ours went through all passes.
  const auto compare = [ours, passes] {
    return equal_values<uint32_t>({ours->read<uint32_t>("x").data(), 1}, {&passes, 1});
  };
  // The best of two runtimes is the peer.
  const std::string name = "best OpenMP barrier";
  const Goal goal = at_least > 0 ? Goal::ratio(at_least) : Goal{};
  if (omp_passes().empty()) {
    c.peers.push_back(missing(name, goal, "no OpenMP when the build was configured"));
  } else {
    const OmpPasses* table = omp_passes()[0];
    c.peers.push_back({.name = name,
                       .variant = "libgomp",
                       .goal = goal,
                       .run = [table, passes] { table->barriers(passes); },
                       .compare = compare});
  }
  const char* why = "";
  if (const BarrierLoop loop = libomp_barriers(&why))
    c.peers.push_back({.name = name,
                       .variant = "libomp",
                       .goal = goal,
                       .run = [loop, passes] { loop(passes); },
                       .compare = compare});
  else
    c.peers.push_back(missing("libomp", {}, why));
  return c;
}

// An empty kernel again and again: as one recorded list with barriers, or one submission per pass.
void add_redispatch(Case& c, ApiFamily family, uint32_t passes) {
  const Goal goal = family == ApiFamily::Vulkan ? Goal::ratio(200) : Goal{};
  const std::string name = std::string(name_of(family)) + " re-dispatch";
  std::string why;
  std::shared_ptr<Api> api = open_api(family, &why);
  if (api == nullptr) {
    c.peers.push_back(missing(name, goal, why));
    return;
  }
  const size_t x = api->buffer(size_t{256} * cores());
  const size_t kernel = api->kernel("empty");
  const Launch launch{kernel, {x}, {0}, {cores(), 1, 1}, {64, 1, 1}};
  const size_t all = api->record(std::vector<Launch>(passes, launch));
  const size_t one = api->record({launch});
  c.peers.push_back(
      {.name = name, .variant = "recorded", .goal = goal, .run = [api, all] { api->run(all); }});
  c.peers.push_back(
      {.name = name, .variant = "one submission each", .goal = goal, .run = [api, one, passes] {
         for (uint32_t k = 0; k < passes; ++k) api->run(one);
       }});
}

}  // namespace

void barrier_rows(Bench& bench) {
  const uint32_t passes = bench.size<uint32_t>(10'000, 20);
  const char* loop = "bench/cpu/programs/barrier_loop.vyre";
  const char* fixpoint = "bench/cpu/programs/barrier_fixpoint.vyre";
  bench.run("C1", "empty grid-barrier pass", [&] {
    Case c = barrier_case(bench, loop, passes, 2);
    c.peers.push_back({.name = "std::barrier", .variant = "with its threads", .run = [passes] {
                         standard_barriers(passes);
                       }});
    return c;
  });
  bench.run("C1", "fixpoint pass that changes one element",
            [&] { return barrier_case(bench, fixpoint, passes, 0); });
  {
    const Busy busy(2);
    bench.run("C1", "empty grid-barrier pass, two busy loops beside", [&] {
      // A barrier may take a time slice, so a call has few of them.
      Case c = barrier_case(bench, loop, bench.size<uint32_t>(200, 20), 1);
      // Many time slices: in a single one both threads may run undisturbed by luck.
      c.sample_ns = 1e8;
      c.repetitions = 9;
      return c;
    });
  }
  const uint32_t few = bench.size<uint32_t>(500, 5);
  for (const ApiFamily family : {ApiFamily::Vulkan, ApiFamily::OpenCl})
    bench.run("C1", "empty grid-barrier pass, against a dispatch each", [&] {
      Case c = barrier_case(bench, loop, few, 0);
      c.peers.clear();
      add_redispatch(c, family, few);
      return c;
    });
}

namespace {

void dispatch_row(Bench& bench, const std::string& what, size_t n, bool threads, double over_ns) {
  bench.run("C8", what, [&] {
    struct Data {
      HostArray<uint32_t> a, b, o;
      Ours ours;
    };
    auto data = std::make_shared<Data>(
        Data{HostArray<uint32_t>(random_words(n, 8)), HostArray<uint32_t>(random_words(n, 9)),
             HostArray<uint32_t>(n), Ours(bench, "bench/cpu/programs/scale_add.vyre")});
    data->ours.input("a", data->a.span()).input("b", data->b.span()).input("o", data->o.span());
    Case c{.ours = [data] { data->ours.run(); }};
    add_tables(
        c, threads ? "g++ OpenMP region" : "direct call", Goal::over(over_ns), omp_kernels(),
        [data, n, threads](const OmpKernels& peer) {
          const auto call = threads ? peer.scale_add : peer.direct;
          call(data->a.data(), data->b.data(), data->o.data(), n);
        },
        [data] { return equal_values<uint32_t>(data->ours.read<uint32_t>("o"), data->o.span()); },
        "no OpenMP when the build was configured");
    return c;
  });
}

}  // namespace

void dispatch_rows(Bench& bench) {
  dispatch_row(bench, "warm dispatch, 1 workgroup of 256 lanes", 256, false, 500);
  const size_t n = bench.size<size_t>(size_t{256} << 10, 2048);
  dispatch_row(bench, "warm dispatch, " + std::to_string(n / 256) + " workgroups, pool awake", n,
               true, 1000);
}

}  // namespace vyre::bench
