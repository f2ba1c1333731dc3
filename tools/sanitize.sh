#!/usr/bin/env bash
# The C kernels under AddressSanitizer and UndefinedBehaviorSanitizer: builds them into a folder of their own, and runs the tests
# that call them. Usage: tools/sanitize.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r src "$folder/src"
rm -f "$folder"/src/scorebars/engines/*.so
flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1 -fopenmp-simd"
include=$("$python" -c "import sysconfig; print(sysconfig.get_paths()['include'])")
for name in _kernel _bins _scores; do
    gcc $flags -shared -fPIC -DPy_LIMITED_API=0x030B0000 -I"$include" "src/scorebars/engines/$name.c" \
        -o "$folder/src/scorebars/engines/$name.abi3.so"
done
# leaks are those of Python itself; the loops are built once for each processor, which needs the sanitizer before all else
export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
export UBSAN_OPTIONS=print_stacktrace=1
export LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
export PYTHONPATH="$folder/src"
"$python" -m pytest -q -p no:cacheprovider -p no:randomly tests/engines/test_kernel_arguments.py tests/engines/test_normal_sums.py \
    tests/engines/test_extreme_values.py tests/engines/test_memory_layout.py tests/accumulate/test_bins.py
