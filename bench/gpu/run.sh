#!/usr/bin/env bash
# Builds and runs every GPU test and bench in one call, within ten minutes, without a network. Needs
# a machine with a GPU, the CUDA toolkit, CMake and a python3 whose PyTorch has CUDA.
# usage: bench/gpu/run.sh [OUTPUT_DIR]   (build/gpu_run/results)
# Writes test.log, sanitizer.log if compute-sanitizer is found, head.json and head.md.
set -euo pipefail
root=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
build=$root/build/gpu_run
output=${1:-$build/results}
PATH=$PATH:/usr/local/cuda/bin
mkdir -p "$output"
status=0

cmake -S "$root/bench/gpu" -B "$build" -DCMAKE_BUILD_TYPE=Release
cmake --build "$build" --parallel "$(nproc)"

timeout 150 "$build/cuda_device_test" 2>&1 | tee "$output/test.log" || status=1

if command -v compute-sanitizer >/dev/null; then
  : >"$output/sanitizer.log"
  for tool in memcheck racecheck initcheck; do
    echo "compute-sanitizer $tool" | tee -a "$output/sanitizer.log"
    SHORTLIST_CUDA_SMALL=1 timeout 60 compute-sanitizer --tool "$tool" --error-exitcode 1 \
      "$build/cuda_device_test" >>"$output/sanitizer.log" 2>&1 || {
      echo "compute-sanitizer $tool: failed or out of time, see $output/sanitizer.log"
      status=1
    }
  done
else
  echo "no compute-sanitizer: not run"
fi

if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  python3 "$root/bench/gpu/bench.py" --library "$build/libshortlist_cuda.so" --output "$output" \
    --seconds 180 || status=1
else
  echo "bench skipped: python3 has no PyTorch with a CUDA device"
fi
exit "$status"
