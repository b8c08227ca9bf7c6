// Packing of bundle states, and the worst violators of several bundles.
#include <cstdio>
#include <limits>
#include <vector>

#include "check.hpp"
#include "round_robin/bundle_state.hpp"
#include "round_robin/violators.hpp"

namespace {

using namespace multimargin;

template <class T>
void packs_and_unpacks(const PackingKernels<T>& kernels) {
  Random random(3);
  for (std::size_t size : {0, 1, 63, 64, 65, 1000}) {
    BundleState<T> state;
    state.w.reset(size);
    const auto some = [&] { return random.below(3) == 0 ? T(0.5) : T(0); };
    for (std::size_t k = 0; k < size; ++k) state.w[k] = some();
    for (std::size_t k = 0; k < size / 7; ++k) state.w_bias.push_back(some());
    for (std::size_t k = 0; k < size / 3; ++k) state.sum.push_back(some());
    for (std::size_t k = 0; k < size / 2; ++k) state.alpha.push_back(some());
    const Packed<T> packed = pack(state, kernels);
    for (T value : packed.values) CHECK(value != 0);
    const auto open = [&](const Packed<T>& p) {
      // As large as it is: a kernel that reads beyond the end is found out.
      const std::vector<T> values(p.values.begin(), p.values.end());
      return unpack(p.sizes.data(), p.mask.data(), p.mask.size(), values.data(), values.size(),
                    kernels);
    };
    const BundleState<T> back = open(packed);
    CHECK(back.w.size() == size && back.w_bias == state.w_bias && back.sum == state.sum &&
          back.alpha == state.alpha);
    for (std::size_t k = 0; k < size; ++k) CHECK(back.w[k] == state.w[k]);
    Packed<T> damaged = packed;
    damaged.sizes[1] = -1;
    CHECK_THROWS(invalid_argument, open(damaged));
    damaged = packed;
    damaged.sizes[0] += 64;
    CHECK_THROWS(invalid_argument, open(damaged));
    damaged = packed;
    damaged.values.push_back(T(1));
    CHECK_THROWS(invalid_argument, open(damaged));
    if (size % 64 != 0) {  // a bit beyond the end of the first part, and a value for it
      damaged.mask[size / 64] |= std::uint64_t{1} << 63;
      CHECK_THROWS(invalid_argument, open(damaged));
    }
  }
}

template <class T>
void worst_violators() {
  const T none = std::numeric_limits<T>::lowest();
  // Two samples; the first bundle counts from 10 on, as a part of a longer list does.
  const std::vector<std::int64_t> a{10, 13, 13}, b{0, 2, 3}, c{0, 0, 0};
  const std::vector<T> of_a{T(1), T(5), T(3)}, of_b{T(4), T(2), T(9)}, of_c;
  const std::vector<Violators<T>> all{
      {a.data(), of_a.data()}, {b.data(), of_b.data()}, {c.data(), of_c.data()}};
  CHECK(thresholds(all, 2, 5) == (std::vector<T>{none, none}));
  CHECK(thresholds(all, 2, 4) == (std::vector<T>{T(2), none}));
  CHECK(thresholds(all, 2, 1) == (std::vector<T>{T(5), none}));
  CHECK(thresholds(std::vector<Violators<T>>{}, 2, 1) == (std::vector<T>{none, none}));
}

}  // namespace

int main() {
  for (Isa isa : test::available_isas()) {
    packs_and_unpacks<float>(packing_kernels<float>(isa));
    packs_and_unpacks<double>(packing_kernels<double>(isa));
  }
  worst_violators<float>();
  worst_violators<double>();
  std::puts("test_bundle_state: ok");
}
