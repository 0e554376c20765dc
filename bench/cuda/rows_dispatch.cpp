// SPDX-License-Identifier: Apache-2.0
// G4: what a dispatch costs. G5: what one of many small programs costs.
#include "rows.hpp"

namespace vyre::bench {
namespace {

constexpr const char* kSmall = "bench/cuda/programs/small.vyre";

std::shared_ptr<Ours> small_program(const Bench& bench) {
  auto ours = std::make_shared<Ours>(bench, kSmall);
  ours->input("d", std::vector<uint32_t>(64));
  return ours;
}

// Another argument each time, of so many.
void changing_row(Bench& bench, uint32_t count) {
  bench.run(
      "G4", "warm dispatch and wait, another of " + std::to_string(count) + " arguments", [&] {
        auto ours = small_program(bench);
        struct Changing {
          std::vector<Buffer> buffers;
          std::vector<std::vector<Argument>> arguments;
          Outputs slots;
          size_t next = 0;
        };
        auto all = std::make_shared<Changing>();
        all->buffers.reserve(count);
        for (uint32_t i = 1; i < count; ++i)
          all->buffers.push_back(must(bench.device().upload(as_bytes(std::vector<uint32_t>(64)))));
        all->arguments.push_back({Argument(ours->buffer("d"))});
        for (const Buffer& buffer : all->buffers) all->arguments.push_back({Argument(buffer)});
        Case c{.ours = [ours, all] {
          const auto& inputs = all->arguments[all->next++ % all->arguments.size()];
          (void)must(ours->pipeline().dispatch_into({.inputs = inputs}, all->slots));
        }};
        std::vector<PeerMemory> rooms;
        for (uint32_t i = 0; i < count; ++i) rooms.push_back(peer_room(256));
        add_peer(c, "launch and synchronize", "driver API", Goal::ratio(1 / 0.95),
                 {"launch_other", rooms, {count}, false}, same<uint32_t>(ours, "d", rooms[0], 64));
        return c;
      });
}

void sequence_row(Bench& bench, uint32_t count, uint32_t repeats) {
  const std::string what =
      "sequence of " + std::to_string(count) + " small programs, " +
      (repeats == 1 ? std::string("once") : std::to_string(repeats) + " times");
  bench.run("G5", what + ", each", [&] {
    struct Sequence {
      Device device;
      Pipeline pipeline;
      Buffer d;
      std::vector<Argument> inputs{};
      std::vector<SequenceItem> items{};
    };
    auto s = std::make_shared<Sequence>();
    s->device = bench.device();
    s->pipeline =
        must(s->device.compile(must(parse_checked(source_text(kSmall), kSmall)))).pipeline;
    s->d = must(s->device.upload(as_bytes(std::vector<uint32_t>(64))));
    s->inputs.emplace_back(s->d);
    for (uint32_t i = 0; i < count; ++i)
      s->items.push_back({.pipeline = s->pipeline, .arguments = {.inputs = s->inputs}});
    Case c{.per = static_cast<double>(count) * repeats,
           .ours = [s, repeats] { (void)must(s->device.run_sequence(s->items, repeats)); }};
    const PeerMemory d = peer_room(256);
    add_peer(c, "CUDA graph by hand", std::to_string(count) + " kernels", Goal::ratio(1 / 1.05),
             {"graph_many", {d}, {count, repeats}}, [s, d] {
               return equal_values<uint32_t>(to_vector<uint32_t>(must(s->device.read(s->d))),
                                             d->read<uint32_t>(64));
             });
    add_absolute(c, Goal::at_most(600));
    return c;
  });
}

}  // namespace

void dispatch_rows(Bench& bench) {
  bench.run("G4", "warm dispatch and wait, same argument", [&] {
    auto ours = small_program(bench);
    Case c = case_of(ours);
    const PeerMemory d = peer_room(256);
    const auto equal = same<uint32_t>(ours, "d", d, 64);
    add_peer(c, "launch and synchronize", "driver API", Goal::ratio(1 / 0.75),
             {"launch_driver", {d}, {}, false}, equal);
    add_peer(c, "launch and synchronize", "runtime API", Goal::ratio(1 / 0.75),
             {"launch", {peer_room(256)}});
    return c;
  });
  // A few have a graph each; of many, one graph is patched each time.
  changing_row(bench, 2);
  changing_row(bench, 16);
  bench.run("G4", "dispatch without a wait, 100 in a row, each", [&] {
    auto ours = small_program(bench);
    auto inputs = std::make_shared<std::vector<Argument>>();
    inputs->emplace_back(ours->buffer("d"));
    Case c{.per = 100, .ours = [ours, inputs] {
             std::vector<Pending> pending;
             pending.reserve(100);
             for (int i = 0; i < 100; ++i)
               pending.push_back(must(ours->pipeline().dispatch_async({.inputs = *inputs})));
             for (Pending& p : pending) (void)must(p.wait());
           }};
    const PeerMemory d = peer_room(256);
    add_peer(c, "launches, one synchronize", "driver API", Goal::ratio(1 / 1.1),
             {"launch_many", {d}, {100}, false}, same<uint32_t>(ours, "d", d, 64));
    return c;
  });
  bench.run("G4", "256 bytes up, dispatch, 256 bytes back", [&] {
    struct Bytes {
      Pipeline pipeline;
      std::vector<uint32_t> d = std::vector<uint32_t>(64);
      std::vector<Argument> inputs{};
      Outputs slots{};
    };
    auto b = std::make_shared<Bytes>();
    b->pipeline =
        must(bench.device().compile(must(parse_checked(source_text(kSmall), kSmall)))).pipeline;
    b->inputs.emplace_back(b->d);
    Case c{.ours = [b] { (void)must(b->pipeline.dispatch_into({.inputs = b->inputs}, b->slots)); }};
    const PeerMemory d = peer_room(256);
    add_peer(c, "copies, launch and synchronize", "pinned memory", {},
             {"launch_bytes", {d}, {}, false}, [b, d] {
               return equal_values<uint32_t>(to_vector<uint32_t>(b->slots[0]),
                                             d->read<uint32_t>(64));
             });
    add_absolute(c, Goal::at_most(9000));
    return c;
  });
}

void sequence_rows(Bench& bench) {
  if (bench.quick()) return sequence_row(bench, 10, 2);
  sequence_row(bench, 100, 1);
  sequence_row(bench, 100, 100);
}

}  // namespace vyre::bench
