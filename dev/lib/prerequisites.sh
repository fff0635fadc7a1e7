# What a machine must have before anything here builds. Source it, then call require_prerequisites.
# Everything else (Maven plugins, Spark, formatters) the scripts fetch themselves.

readonly OLDEST_JAVA=17
readonly OLDEST_MAVEN=3.8
readonly OLDEST_CMAKE=3.18
readonly OLDEST_PYTHON=3.9

# Prints one line for each missing or too old tool, with the Debian package that brings it.
# Returns 1 when there is any; does not stop at the first.
require_prerequisites() {
  local missing=()
  check_jdk
  check_tool mvn maven "Maven $OLDEST_MAVEN or newer" "$OLDEST_MAVEN" maven_version
  check_tool cmake cmake "CMake $OLDEST_CMAKE or newer" "$OLDEST_CMAKE" cmake_version
  check_c_compiler
  if ! command -v make >/dev/null && ! command -v ninja >/dev/null; then
    missing+=("make or ninja: Debian package make")
  fi
  check_tool python3 python3 "Python $OLDEST_PYTHON or newer" "$OLDEST_PYTHON" python_version
  # A Debian python3 without python3-venv has the module venv, but not the ensurepip it needs.
  if command -v python3 >/dev/null && ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    missing+=("venv of python3: Debian package python3-venv")
  fi
  if ((${#missing[@]} > 0)); then
    printf 'missing: %s\n' "${missing[@]}" >&2
    return 1
  fi
}

# java and javac of one JDK: that of JAVA_HOME when it is set, as Maven does.
check_jdk() {
  local package="openjdk-$OLDEST_JAVA-jdk-headless" bin="" tool version
  local wanted="JDK $OLDEST_JAVA or newer"
  if [[ -n "${JAVA_HOME:-}" ]]; then
    bin="$JAVA_HOME/bin/"
  fi
  for tool in java javac; do
    if ! command -v "$bin$tool" >/dev/null; then
      missing+=("$bin$tool ($wanted): Debian package $package")
      continue
    fi
    version=$("$bin$tool" -version 2>&1 | sed -nE 's/^[^0-9]*([0-9]+).*/\1/p' | head -n 1)
    if ! at_least "$version" "$OLDEST_JAVA"; then
      missing+=("$bin$tool is version ${version:-unknown}, wanted $wanted: Debian package $package")
    fi
  done
}

# A compiler without the C library's headers compiles nothing, so a small program is compiled.
check_c_compiler() {
  local compiler="${CC:-cc}"
  if ! command -v "$compiler" >/dev/null; then
    missing+=("$compiler (C compiler): Debian package gcc")
  elif ! printf '#include <stdio.h>\nint main(void) { return 0; }\n' |
    "$compiler" -x c -o /dev/null - 2>/dev/null; then
    missing+=("headers of the C library for $compiler: Debian package libc6-dev")
  fi
}

# check_tool <command> <Debian package> <what is wanted> <oldest version> <function that prints its own>
check_tool() {
  if ! command -v "$1" >/dev/null; then
    missing+=("$1 ($3): Debian package $2")
    return
  fi
  local version
  version=$("$5" 2>/dev/null || true)
  if ! at_least "$version" "$4"; then
    missing+=("$1 is version ${version:-unknown}, wanted $3: Debian package $2")
  fi
}

maven_version() { mvn -B --version | first_number 'Apache Maven'; }
cmake_version() { cmake --version | first_number 'cmake version'; }
python_version() { python3 --version | first_number Python; }

# Prints the dotted number that follows the given words. Terminal colours may precede them.
first_number() { sed -nE "s/.*$1 ([0-9]+(\.[0-9]+)*).*/\1/p" | head -n 1; }

# at_least <version> <oldest>: whether the first dotted version is not older than the second.
at_least() { [[ -n "$1" && "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" == "$2" ]]; }
