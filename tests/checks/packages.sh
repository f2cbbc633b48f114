#!/bin/sh
# packages.sh DIR   uses the packages as a stranger would: make install and pkg-config, CMake (a subfolder, FetchContent, an installed
# package), the shared library, odvgp.py, and the sketch of the Arduino and PlatformIO libraries (compiled for this machine with a
# stand-in for Arduino.h, and for a Cortex-M4 where there is a compiler). Skips what is not installed and says so.
# Variables CC, CXX, MAKE, PYTHON, CMAKE, ARM.
dir=$1
: "${CC:=cc}" "${CXX:=c++}" "${MAKE:=make}" "${PYTHON:=python3}" "${CMAKE:=cmake}" "${ARM:=arm-none-eabi-g++}"
rm -rf "$dir" && mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
root=$PWD
. tests/checks/counts.sh
there() { command -v "$1" >/dev/null; }

# A program that any of the packages must be able to compile; without optimisation, in a third of the time.
cat >"$dir/main.c" <<'END'
#define ODVGP_USE_PTHREADS
#define ODVGP_IMPLEMENTATION
#include <odvgp.h>
#include <stdio.h>
int main(void)
{
    double X[40], y[40], x = 1.5, mean, var;
    for (int i = 0; i < 40; i++) X[i] = 0.15 * i, y[i] = sin(X[i]);
    odvgp_config cfg = odvgp_config_defaults(40, 1, 1, 8, 0);
    odvgp_model *gp;
    if (odvgp_model_create(&gp, &cfg, X, y, NULL, NULL) || odvgp_fit(gp, X, y, 500, NULL, NULL) ||
            odvgp_predict_once(gp, &x, 1, &mean, &var, NULL, NULL))
        return 1;
    printf("%d %.3f\n", ODVGP_VERSION, mean);
    odvgp_model_free(gp);
    return fabs(mean - sin(x)) > 0.05 || odvgp_pool_size(2, NULL) == 0;
}
END

# ---- make install, pkg-config ----
prefix=/opt/gp
ok "make install" $MAKE install DESTDIR="$dir/stage" PREFIX=$prefix
for file in include/odvgp.h lib/pkgconfig/odvgp.pc; do ok "make install: $file" test -s "$dir/stage$prefix/$file"; done
ok "make install: the tool" "$dir/stage$prefix/bin/odvgp" --version
if there pkg-config; then
    flags() { PKG_CONFIG_PATH="$dir/stage$prefix/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$dir/stage" pkg-config "$@" odvgp; }
    version=$(awk '/define ODVGP_VERSION / { printf "%d.%d.%d", $3 / 10000, $3 / 100 % 100, $3 % 100 }' odvgp.h)
    ok "pkg-config: the version" test "$(flags --modversion)" = "$version"
    ok "pkg-config: a program" $CC -O0 "$dir/main.c" -o "$dir/by-pkg-config" $(flags --cflags --libs)
    ok "pkg-config: the program runs" "$dir/by-pkg-config"
else skip "pkg-config is not installed"; fi

# ---- CMake ----
project() { # name, what finds the package; options of cmake
    name=$1 find=$2
    shift 2
    mkdir -p "$dir/$name"
    cp "$dir/main.c" "$dir/$name/"
    printf 'cmake_minimum_required(VERSION 3.18)\nproject(%s C)\n%s\nadd_executable(main main.c)\ntarget_link_libraries(main odvgp::odvgp)\n' \
        "$name" "$find" >"$dir/$name/CMakeLists.txt"
    ok "$name: configure" "$CMAKE" -S "$dir/$name" -B "$dir/$name/build" -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS=-O0 "$@"
    ok "$name: build" "$CMAKE" --build "$dir/$name/build"
    ok "$name: run" "$dir/$name/build/main"
}
if there "$CMAKE"; then
    project subfolder "add_subdirectory($root/examples/packaging odvgp)"
    # The folder stands for what would be downloaded.
    project fetch "include(FetchContent)
FetchContent_Declare(odvgp GIT_REPOSITORY nowhere SOURCE_SUBDIR examples/packaging)
FetchContent_MakeAvailable(odvgp)" -DFETCHCONTENT_SOURCE_DIR_ODVGP="$root"
    ok "cmake: configure the package" "$CMAKE" -S examples/packaging -B "$dir/cmake"
    ok "cmake: install it" "$CMAKE" --install "$dir/cmake" --prefix "$dir/installed"
    project installed "find_package(odvgp 0.1 REQUIRED)" -DCMAKE_PREFIX_PATH="$dir/installed"
else skip "cmake is not installed"; fi

# ---- the shared library, Python ----
if there nm; then
    nm -D --defined-only build/libodvgp.so | awk '{ print $3 }' >"$dir/symbols"
    ok "libodvgp.so defines odvgp_predict" grep -qx odvgp_predict "$dir/symbols"
    ok "libodvgp.so defines nothing but the interface" sh -c '! grep -v "^odvgp_[a-z]" "$1"' sh "$dir/symbols"
else skip "nm is not installed"; fi
ok "odvgp.py has at most 300 lines" awk 'END { exit NR > 300 }' examples/packaging/odvgp.py
if "$PYTHON" -c 'import numpy' 2>/dev/null; then
    ok "odvgp.py" env PYTHONDONTWRITEBYTECODE=1 "$PYTHON" tests/checks/packages.py "$dir"
    tail -n 1 "$dir/log"
else skip "odvgp.py: $PYTHON has no NumPy"; fi

# ---- the sketch ----
ok "make dist-arduino dist-platformio" $MAKE dist-arduino dist-platformio
# What a board's Arduino.h brings, with the macros that headers run into.
mkdir -p "$dir/board"
cat >"$dir/board/Arduino.h" <<'END'
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define abs(x) ((x) > 0 ? (x) : -(x))
#define round(x) ((x) >= 0 ? (long)((x) + 0.5) : (long)((x)-0.5))
#define sq(x) ((x) * (x))
#define bit(b) (1UL << (b))
#define F(text) (text)
#define PI 3.1415926535897932384626433832795
#define DEFAULT 1
#define INPUT 0
#define OUTPUT 1
#define B0 0
#define B1 1
#define B01 1
#define B10 2
struct Port {
    void begin(long) {}
    void print(const char *s) { fputs(s, stdout); }
    void print(double v) { printf("%.2f", v); }
    void println(const char *s) { puts(s); }
    void println(double v) { printf("%.2f\n", v); }
};
static Port Serial;
static int delays;
static inline void delay(unsigned long) { if (++delays == 7) exit(0); }
END
cat >"$dir/board/main.cpp" <<'END'
void setup();
void loop();
#include <Arduino.h>
#include "predict.ino"
int main() { setup(); for (;;) loop(); }
END
for kind in arduino platformio; do
    library=build/dist/$kind/odvgp sketch=build/dist/$kind/odvgp/examples/predict
    if [ $kind = platformio ]; then
        ok "platformio: header and sketch are those of arduino" sh -c 'diff -r "$1/src" "$2/src" && diff -r "$1/examples" "$2/examples"' sh $library build/dist/arduino/odvgp
        continue
    fi
    ok "$kind: the sketch's code" $CC -Os -Wall -Wextra -Werror -I$library/src -c $sketch/gp.c -o "$dir/gp.o"
    ok "$kind: the sketch" $CXX -Os -Wall -Wextra -Werror -I"$dir/board" -I$library/src -I$sketch "$dir/board/main.cpp" "$dir/gp.o" -o "$dir/sketch" -lm
    ok "$kind: the sketch runs" sh -c '"$1" | tee "$2" | awk "/ Nm / { n++ } END { exit n != 7 }"' sh "$dir/sketch" "$dir/sketch.txt"
done
# 9.81 * 0.4 * 2.2 sin(0.4) is 3.36.
ok "the sketch predicts" grep -q '^0.40 rad: 3.[34]' "$dir/sketch.txt"
ok "library.properties has its version" grep -q '^version=[0-9]*\.[0-9]*\.[0-9]*$' build/dist/arduino/odvgp/library.properties
if there "$PYTHON"; then ok "library.json is JSON" "$PYTHON" -m json.tool build/dist/platformio/odvgp/library.json
else skip "library.json: no python3"; fi
if there "$ARM" && echo '#include <math.h>' | "$ARM" -x c++ -fsyntax-only - 2>/dev/null; then
    cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Os -ffunction-sections"
    ok "Cortex-M4: the sketch's code" "${ARM%++}cc" $cpu -I$library/src -c $sketch/gp.c -o "$dir/gp-m4.o"
    ok "Cortex-M4: the sketch" "$ARM" $cpu -fno-exceptions -I"$dir/board" -I$library/src -I$sketch -c "$dir/board/main.cpp" -o "$dir/main-m4.o"
else skip "Cortex-M4: no $ARM"; fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
