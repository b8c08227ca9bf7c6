// For all test programs: a check that says where it failed, and seeded problems.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "common/csr.hpp"
#include "common/random.hpp"
#include "common/samples.hpp"
#include "simd/isa.hpp"

// Ends the program: what follows a failed check would only repeat it.
#define CHECK(...)                                                                         \
  do {                                                                                     \
    if (!(__VA_ARGS__)) {                                                                  \
      std::fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #__VA_ARGS__); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (false)

// Checks that the statement throws std::Type.
#define CHECK_THROWS(Type, ...)  \
  do {                           \
    bool thrown_##Type = false;  \
    try {                        \
      __VA_ARGS__;               \
    } catch (const std::Type&) { \
      thrown_##Type = true;      \
    }                            \
    CHECK(thrown_##Type);        \
  } while (false)

namespace multimargin::test {

inline double uniform(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

inline std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512})
    if (isa_available(isa)) isas.push_back(isa);
  return isas;
}

// Sparse rows with exact-size arrays, so that a read past their end is seen.
template <class T, class I>
struct Matrix {
  std::vector<I> indptr{0};
  std::vector<I> indices;
  std::vector<T> data;
  std::int64_t cols = 0;

  void end_row() { indptr.push_back(static_cast<I>(indices.size())); }
  Csr<T, I> view() const {
    return {data.data(), indices.data(), indptr.data(),
            static_cast<std::int64_t>(indptr.size()) - 1, cols};
  }
};

template <class T>
struct Matrix<T, Dense> {
  std::vector<T> data;
  std::int64_t rows = 0, cols = 0;

  void end_row() { data.resize(static_cast<std::size_t>(++rows * cols)); }
  Csr<T, Dense> view() const { return {data.data(), rows, cols}; }
};

// Each row takes a feature with probability `density`; every 16th row has no entries.
template <class T, class I>
Matrix<T, I> random_matrix(std::int64_t rows, std::int64_t cols, double density,
                           std::uint64_t seed) {
  Random random(seed);
  Matrix<T, I> m;
  m.cols = cols;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols && i % 16 != 7; ++j)
      if (uniform(random) < density) {
        m.indices.push_back(static_cast<I>(j));
        m.data.push_back(static_cast<T>(2 * uniform(random) - 1));
      }
    m.end_row();
  }
  m.indices.shrink_to_fit();
  m.data.shrink_to_fit();
  return m;
}

template <class T, class I>
struct Problem {
  Matrix<T, I> X;
  std::vector<std::int32_t> y;
  std::vector<T> box;
  std::int32_t n_classes = 0;

  Samples<T, I> samples(T bias = T(0.5)) const {
    return {X.view(), y.data(), box.data(), n_classes, bias};
  }
};

// The same problem with dense rows.
template <class T>
Problem<T, Dense> densified(const Problem<T, std::int32_t>& p) {
  const Csr<T, std::int32_t> X = p.X.view();
  Problem<T, Dense> dense{{}, p.y, p.box, p.n_classes};
  dense.X.cols = X.cols;
  for (std::int64_t i = 0; i < X.rows; ++i) {
    dense.X.end_row();
    for (std::int64_t t = X.begin(i); t < X.end(i); ++t)
      dense.X.data[i * X.cols + X.indices[t]] = X.data[t];
  }
  return dense;
}

// Classes with a few features of their own among common ones: some samples are easy, some lie
// between classes, and the boxes differ. The first class has a third of the samples; the last
// one has none, as when a class is only known from elsewhere.
template <class T, class I>
Problem<T, I> random_problem(std::int64_t rows, std::int32_t n_classes, std::uint64_t seed) {
  if constexpr (is_dense<I>) {
    return densified(random_problem<T, std::int32_t>(rows, n_classes, seed));
  } else {
    Random random(seed);
    Problem<T, I> p;
    p.n_classes = n_classes;
    p.X.cols = 3 * n_classes + 20;
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::uint32_t named = static_cast<std::uint32_t>(n_classes - 1);
      const std::uint32_t c = random.below(3) == 0 ? 0 : random.below(named);
      p.y.push_back(static_cast<std::int32_t>(c));
      p.box.push_back(static_cast<T>(0.25 + uniform(random)));
      const std::uint32_t topic = random.below(8) == 0 ? random.below(named) : c;
      for (std::int64_t j = 0; j < p.X.cols && i % 16 != 7; ++j) {
        const bool mine = j >= 20 && (j - 20) / 3 == static_cast<std::int64_t>(topic);
        if (uniform(random) >= (mine ? 0.7 : j < 20 ? 0.2 : 0.02)) continue;
        p.X.indices.push_back(static_cast<I>(j));
        p.X.data.push_back(static_cast<T>(0.1 + 0.5 * uniform(random)));
      }
      p.X.end_row();
    }
    p.X.indices.shrink_to_fit();
    p.X.data.shrink_to_fit();
    return p;
  }
}

}  // namespace multimargin::test
