#!/usr/bin/env bash
# Installs what offloadc needs: the system's packages (Debian and Ubuntu), then .venv.
#
#   scripts/setup.sh [--tests] [--dry-run]
#
#   --tests    also what only the tests need
#   --dry-run  print what would be done, change nothing
#
# Runs again in well under a second when there is nothing to do. Elsewhere than on Debian and
# Ubuntu it installs no system package: it lists what is missing and how that system gets it.
#
# Environment: PYTHON (interpreter for .venv), OFFLOADC_LLVM (LLVM 22 prefix, on other systems),
# OFFLOADC_OS_RELEASE (in place of /etc/os-release, for the tests of this script).
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LLVM_MAJOR=22
EXTRAS=nvidia,zstd,dev
STAMP=$ROOT/.venv/offloadc-setup.stamp

# Without these nothing can be built. clang-22 brings libclang, the C and C++ headers and binutils.
NEEDED=("clang-$LLVM_MAJOR" "lld-$LLVM_MAJOR" "llvm-$LLVM_MAJOR" make)
# Each adds something; a release that lacks one does without it, and `offloadc doctor` says what that costs.
WANTED=("liboffload-$LLVM_MAJOR" "clang-tools-$LLVM_MAJOR" "libclang-rt-$LLVM_MAJOR-dev" rocm-device-libs)
# A second compiler, a debugger, third-party headers, the header that the launch stub is checked against.
FOR_TESTS=(g++ gdb ccache shellcheck libeigen3-dev libfmt-dev libboost-dev "liboffload-$LLVM_MAJOR-dev"
  "libclc-$LLVM_MAJOR")

tests=no
dry_run=no

say() { printf 'setup: %s\n' "$*"; }
die() {
  printf 'setup: error: %s\n' "$1" >&2
  shift
  if (($# > 0)); then printf 'setup: %s\n' "$@" >&2; fi
  exit 1
}

usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

parse_arguments() {
  local argument
  for argument in "$@"; do
    case $argument in
      --tests) tests=yes ;;
      --dry-run) dry_run=yes ;;
      -h | --help) usage && exit 0 ;;
      *) die "unknown argument '$argument'" "see scripts/setup.sh --help" ;;
    esac
  done
}

# --------------------------------------------------------------------------- which system
os_value() { # KEY: its value in os-release, without quotes
  local file=${OFFLOADC_OS_RELEASE:-/etc/os-release}
  [[ -r $file ]] || return 0
  sed -n "s/^$1=//p" "$file" | head -n 1 | tr -d "\"'"
}

system_family() {
  local word
  for word in $(os_value ID) $(os_value ID_LIKE); do
    case $word in
      debian | ubuntu) echo apt && return ;;
      fedora | rhel | centos) echo dnf && return ;;
      arch | archlinux) echo pacman && return ;;
      suse | opensuse | opensuse-*) echo zypper && return ;;
      alpine) echo apk && return ;;
    esac
  done
  if [[ $(uname -s) == Darwin ]]; then echo brew; else echo unknown; fi
}

# --------------------------------------------------------------------------- Python
# Prints the interpreter that can make .venv: 3.10 or newer, with venv and ensurepip.
find_python() {
  local candidate
  local -a candidates=(python3 /usr/bin/python3 python3.{14,13,12,11,10})
  if [[ -n ${PYTHON:-} ]]; then candidates=("$PYTHON"); fi
  for candidate in "${candidates[@]}"; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# --------------------------------------------------------------------------- Debian and Ubuntu
apt_wanted() {
  printf '%s\n' "${NEEDED[@]}" "${WANTED[@]}"
  # Asking Python takes longer than all the rest of a second run: .venv is the answer when it is there.
  if [[ ! -e $STAMP ]] && ! find_python >/dev/null; then printf '%s\n' python3 python3-venv; fi
  if [[ $tests == yes ]]; then printf '%s\n' "${FOR_TESTS[@]}"; fi
}

# Of the packages on standard input, those that are not installed.
not_installed() {
  local -A status=()
  local name state
  local -a names
  mapfile -t names
  while read -r name state; do status[$name]=$state; done < <(
    dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${names[@]}" 2>/dev/null
  )
  for name in "${names[@]}"; do
    if [[ ${status[$name]:-} != installed ]]; then printf '%s\n' "$name"; fi
  done
}

has_candidate() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

# Prints the packages among the arguments that no configured archive has.
without_candidate() {
  local name
  for name in "$@"; do has_candidate "$name" || printf '%s\n' "$name"; done
}

is_wanted_only() {
  local name
  for name in "${WANTED[@]}"; do if [[ $name == "$1" ]]; then return 0; fi; done
  return 1
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif ! command -v sudo >/dev/null; then
    die "not root, and there is no sudo" "run as root: $*"
  elif [[ -t 0 ]]; then
    sudo "$@"
  else
    sudo -n "$@" || die "sudo wants a password and there is no terminal" "run as root: $*"
  fi
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}

apt_update() {
  say "reading the package lists"
  # An error may be another archive's: whether the packages can be had shows afterwards.
  apt_get update || say "apt-get update reported errors (above), going on with the lists that are there"
}

apt_install() {
  apt_get install --no-install-recommends "$@"
}

refuse_missing_archive() {
  die "no package archive of this system has: $*" \
    "$(os_value PRETTY_NAME) does not ship LLVM $LLVM_MAJOR, or its security archive is switched off;" \
    "LLVM's own Debian and Ubuntu archive has it (llvm.org links to it); add it and run this again (docs/install.md)"
}

setup_apt() {
  local -a missing absent required=() install=()
  mapfile -t missing < <(apt_wanted | not_installed)
  if ((${#missing[@]} == 0)); then return; fi
  if [[ $dry_run == yes ]]; then
    say "would install with apt-get: ${missing[*]}"
    return
  fi
  mapfile -t absent < <(without_candidate "${missing[@]}")
  if ((${#absent[@]} > 0)); then
    # A fresh machine has no lists at all; one that merely lacks an optional package is not asked each time.
    if only_wanted "${absent[@]}" && ((${#absent[@]} == ${#missing[@]})) && [[ -e $STAMP ]]; then return; fi
    apt_update
    mapfile -t absent < <(without_candidate "${missing[@]}")
  fi
  local name
  for name in "${missing[@]}"; do
    if [[ " ${absent[*]} " != *" $name "* ]]; then
      install+=("$name")
    elif is_wanted_only "$name"; then
      say "not to be had here, going on without: $name (docs/install.md says what it adds)"
    else
      required+=("$name")
    fi
  done
  if ((${#required[@]} > 0)); then refuse_missing_archive "${required[@]}"; fi
  if ((${#install[@]} == 0)); then return; fi
  say "installing with apt-get: ${install[*]}"
  # Old lists name versions that the mirror has dropped: read them anew once.
  apt_install "${install[@]}" || { apt_update && apt_install "${install[@]}"; } ||
    die "apt-get could not install: ${install[*]}" "its own messages are above"
}

only_wanted() {
  local name
  for name in "$@"; do is_wanted_only "$name" || return 1; done
}

# --------------------------------------------------------------------------- other systems
llvm_prefix() {
  local prefix clang
  for prefix in ${OFFLOADC_LLVM:+"$OFFLOADC_LLVM"} \
    /usr/lib/llvm-$LLVM_MAJOR /usr/lib64/llvm$LLVM_MAJOR /opt/llvm-$LLVM_MAJOR; do
    if [[ -x $prefix/bin/clang++ || $prefix == "${OFFLOADC_LLVM:-}" ]]; then echo "$prefix" && return; fi
  done
  clang=$(command -v clang++-$LLVM_MAJOR || command -v clang++ || true)
  if [[ -n $clang ]]; then dirname "$(dirname "$(readlink -f "$clang")")"; fi
}

is_llvm_tool() { # PATH: whether it runs and is of the right major version
  [[ -x $1 && "$("$1" --version 2>/dev/null)" =~ (version|LLD)\ $LLVM_MAJOR\. ]]
}

any_file() { # PATTERN...: whether one matches a file
  compgen -G "$1" >/dev/null || { (($# > 1)) && any_file "${@:2}"; }
}

# What is missing, one thing a line.
missing_things() { # FAMILY
  local prefix
  prefix=$(llvm_prefix)
  is_llvm_tool "$prefix/bin/clang++" || echo "clang $LLVM_MAJOR"
  is_llvm_tool "$prefix/bin/ld.lld" || echo "lld $LLVM_MAJOR"
  is_llvm_tool "$prefix/bin/llvm-objcopy" || echo "llvm $LLVM_MAJOR (llvm-objcopy)"
  any_file "$prefix/lib/libclang*.so*" "$prefix/lib64/libclang*.so*" /usr/lib64/libclang.so* /usr/lib/libclang.so* ||
    echo "libclang $LLVM_MAJOR"
  if [[ $1 == apk ]]; then echo "glibc"; fi
  if [[ $(uname -s) != Linux ]]; then echo "Linux (programs are ELF executables; a Linux container does)"; fi
  command -v make >/dev/null || echo "make"
  find_python >/dev/null || echo "Python 3.10 or newer with venv"
}

how_to_get() {
  case $1 in
    dnf) cat <<'TEXT' ;;
sudo dnf install clang lld llvm clang-libs compiler-rt gcc-c++ make python3
optional: sudo dnf install rocm-device-libs
clang has to be version 22; a release that ships another one: LLVM's own build, below
TEXT
    pacman) cat <<'TEXT' ;;
sudo pacman -S --needed clang lld llvm compiler-rt gcc make python
optional: sudo pacman -S --needed rocm-device-libs
clang has to be version 22; while Arch ships another one: LLVM's own build, below
TEXT
    zypper) cat <<'TEXT' ;;
sudo zypper install clang22 lld22 llvm22 libclang13 gcc-c++ make python3
clang has to be version 22; a release that ships another one: LLVM's own build, below
TEXT
    apk) echo "musl is not supported: use a Debian container" ;;
    brew) echo "macOS is not supported as a host: use a Debian container" ;;
    *) echo "this system's package manager is not known here: install the list above with it" ;;
  esac
  cat <<'TEXT'
LLVM's own build: https://github.com/llvm/llvm-project/releases (22.1), unpacked to /opt/llvm-22 or named by OFFLOADC_LLVM
everything else about by-hand installs: docs/install.md
TEXT
}

setup_by_hand() {
  local -a missing how
  mapfile -t missing < <(missing_things "$1")
  if ((${#missing[@]} == 0)); then return; fi
  mapfile -t how < <(how_to_get "$1")
  die "missing on this system ($(os_value PRETTY_NAME)):" "${missing[@]/#/  }" "how to get it:" "${how[@]/#/  }"
}

# --------------------------------------------------------------------------- .venv
# Everything that decides what .venv holds.
venv_key() { # PYTHON
  {
    cat "$ROOT/pyproject.toml" "${BASH_SOURCE[0]}"
    printf '%s\n%s\n' "$ROOT" "$EXTRAS"
    "$1" -I -S -c 'import sys; print(sys.version, sys.base_prefix)'
  } | sha256sum | cut -d ' ' -f 1
}

pip_install() {
  "$ROOT/.venv/bin/python" -m pip --disable-pip-version-check install --quiet "$@" --editable "${ROOT}[$EXTRAS]"
}

setup_venv() {
  local python key
  if [[ -x $ROOT/.venv/bin/python && -r $STAMP ]]; then
    if [[ $(<"$STAMP") == "$(venv_key "$ROOT/.venv/bin/python")" ]]; then return; fi
  fi
  if [[ $dry_run == yes ]]; then
    say "would make .venv with $(find_python || echo python3) and pip install --editable .[$EXTRAS]"
    return
  fi
  if ! "$ROOT/.venv/bin/python" -m pip --version >/dev/null 2>&1; then
    python=$(find_python) || die "${PYTHON:-Python} is not a Python 3.10 or newer with venv and ensurepip" \
      "set PYTHON to one that is"
    say "making .venv with $python"
    "$python" -m venv --clear "$ROOT/.venv"
  fi
  rm -f "$STAMP"
  # What is there already may be enough: then no network is needed.
  if ! pip_install --no-index --no-build-isolation >/dev/null 2>&1; then
    say "installing Python packages into .venv"
    pip_install || die "pip could not install offloadc's requirements" "look at the network and at pip's configuration"
  fi
  key=$(venv_key "$ROOT/.venv/bin/python")
  printf '%s\n' "$key" >"$STAMP.$$"
  mv "$STAMP.$$" "$STAMP"
}

# --------------------------------------------------------------------------- all of it
main() {
  local family
  parse_arguments "$@"
  family=$(system_family)
  if [[ $family == apt ]]; then setup_apt; else setup_by_hand "$family"; fi
  setup_venv
  if [[ $dry_run == yes ]]; then say "dry run: nothing was changed"; fi
}

main "$@"
