// Starting candidates: for each sample the classes whose centroids are nearest.
//
// Found through lists of classes per feature, rarest feature first and only until
// `budget` list entries have been read: frequent words add mostly noise, and any start is exact in
// the end. Much better than starting from W = 0, where every class violates and one pass would make
// W dense (measured: 6.6% instead of 1.7%).
#pragma once

#include <cstdint>
#include <vector>

#include "common/csr.hpp"
#include "common/team.hpp"
#include "simd/isa.hpp"

namespace multimargin {

// How many entries the list of each feature has.
inline std::vector<std::int64_t> list_lengths(const std::vector<std::int64_t>& begin) {
  std::vector<std::int64_t> length(begin.size() - 1);
  for (std::size_t j = 0; j < length.size(); ++j) length[j] = begin[j + 1] - begin[j];
  return length;
}

// The slots of samples: their own class, then candidates.
struct SlotLists {
  std::vector<std::int64_t> slot_begin;  // [samples+1]
  std::vector<std::int32_t> cls;
};

// For each feature the classes that have it in their centroid.
template <class T>
struct Postings {
  std::vector<std::int64_t> begin;  // [d+1]
  std::vector<std::int32_t> cls;
  std::vector<T> weight;
};

// Of the classes of some samples, which are in the order of their classes.
template <class T, class I>
Postings<T> make_postings(const Csr<T, I>& X, const std::int32_t* y,
                          const std::vector<std::int32_t>& by_class);

// Finds the candidates of samples [from, to) among the classes of the postings, and returns how
// many each sample has. `length`: of each feature's list in the postings of all classes. `found`
// and, if it is given, `score` have room for `candidates` of each sample.
template <class T, class I>
std::vector<std::int32_t> rank_samples(const Csr<T, I>& X, const std::int32_t* y,
                                       std::int32_t n_classes, const Postings<T>& postings,
                                       const std::vector<std::int64_t>& length,
                                       std::int32_t candidates, std::int64_t budget,
                                       std::int64_t from, std::int64_t to, Team& team,
                                       std::int32_t* found, T* score = nullptr);

// Of samples [from, to). Dense rows have few features: these are all looked at, by a product.
template <class T, class I>
SlotLists nearest_centroids(const Csr<T, I>& X, const std::int32_t* y, std::int32_t n_classes,
                            std::int32_t candidates, std::int64_t budget, std::int64_t from,
                            std::int64_t to, Isa isa, Team& team);

}  // namespace multimargin
