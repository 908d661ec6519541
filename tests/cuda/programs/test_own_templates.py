"""Programs that use the same templates as the checker: its own are not the program's, which are checked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cuda.programs.conftest import Command

# What the checker uses while a kernel runs: vectors of strings and numbers, maps, strings.
TEXT = """
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>
__global__ void sums(const int *x, int *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + x[i + BEYOND];  // here
}
template <class T> size_t filled(T one) {
  std::vector<T> all;
  for (int i = 0; i < 9; ++i) all.push_back(one), all.insert(all.begin(), one);
  return all.size();
}
int main() {
  std::unordered_map<unsigned long, unsigned> map{{1, 2}};
  std::unordered_map<unsigned long, std::unique_ptr<int>> owners;
  std::unordered_set<unsigned long> set{3};
  map[5] = 6, owners[7].reset(new int(8)), set.insert(9);
  std::string text = std::to_string(map.size());
  text += "abc", text.insert(2, "de"), text.append(40, 'f'), text.replace(1, 2, "gh"), text.resize(60, 'i');
  const size_t count = filled(text) + filled(1ul) + filled(2u) + filled('3') + set.size() + owners.size();
  int *x, *y, result[40];
  cudaMalloc(&x, sizeof result), cudaMalloc(&y, sizeof result);
  cudaMemset(x, 0, sizeof result);
  sums<<<2, 32>>>(x, y, 40);
  cudaMemcpy(result, y, sizeof result, cudaMemcpyDeviceToHost);
  printf("%zu %d\\n", count, result[39]);
}
"""
OPTIONS = [("-std=c++17", "-O2"), ("-std=c++20", "-O0")]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("beyond", [0, 1])
def test_the_checker_runs_its_own(
    command: Command, files: Callable[..., None], options: tuple[str, ...], beyond: int
) -> None:
    files(**{"main.cu": TEXT})
    ended = command("emulate", "--check", *options, f"-DBEYOND={beyond}", "main.cu")
    if beyond:
        assert ended.status == 70
        assert "main.cu:10: out of bounds read" in ended.err
    else:
        assert (ended.status, ended.out, ended.err) == (0, "75 0\n", "")
