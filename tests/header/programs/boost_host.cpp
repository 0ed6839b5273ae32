// Boost's headers in host code beside a kernel.
#include <boost/algorithm/string.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/optional.hpp>
#include <boost/program_options/options_description.hpp>
#include <offloadc/offload.h>

#include "check.h"

__global__ void add(double *p, double value) { p[threadIdx.x] += value; }

int main() {
  boost::container::flat_map<int, double> map;
  map[1] = boost::math::cyl_bessel_j(0, 1.0);
  std::string text = " words ";
  boost::trim(text);
  boost::optional<int> none;
  offloadc::buffer<double> p({map[1]});
  offloadc::launch(add, 1, 1, p, 1.0);
  EXPECT(near(p.to_vector()[0], 1.7651976865579666, 1e-14) && text == "words" && !none);
  return passed();
}
