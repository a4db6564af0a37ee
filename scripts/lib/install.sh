# Sourced by the scripts beside it: finds out what a machine lacks, says so, and installs it.
# Callers collect Debian packages with `need`, then call `install_missing`.

packages=()
assume_yes=false

say() { printf '== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

parse_arguments() {
  for argument in "$@"; do
    case $argument in
      -y | --yes) assume_yes=true ;;
      -h | --help) usage; exit 0 ;;
      *) usage >&2; exit 2 ;;
    esac
  done
}

# need COMMAND PACKAGE: the package is wanted if the command is missing.
need() {
  command -v "$1" >/dev/null 2>&1 || packages+=("$2")
}

need_rust() {
  [ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
  if ! command -v cargo >/dev/null 2>&1; then
    need rustup rustup
  fi
  need cc gcc
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

confirm() {
  $assume_yes && return 0
  [ -t 0 ] || return 0
  read -r -p "$1 [Y/n] " answer
  case $answer in '' | [yYjJ]*) return 0 ;; *) return 1 ;; esac
}

install_missing() {
  if [ ${#packages[@]} -gt 0 ]; then
    command -v apt-get >/dev/null 2>&1 ||
      die "please install with your system's package manager: ${packages[*]}"
    say "going to install with apt-get: ${packages[*]}"
    confirm "Install them?" || die "nothing was installed; these are needed: ${packages[*]}"
    as_root apt-get update -q >/dev/null || true
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "${packages[@]}" >/dev/null ||
      die "apt-get could not install: ${packages[*]}"
  fi
  if ! command -v cargo >/dev/null 2>&1; then
    say "going to install the stable Rust toolchain with rustup"
    rustup default stable || die "please install Rust 1.88 or later: https://rustup.rs"
  fi
  [ -c /dev/fuse ] || as_root modprobe fuse 2>/dev/null || true
  [ -c /dev/fuse ] || die "there is no /dev/fuse: load the module with 'modprobe fuse'; in Docker add --device /dev/fuse --cap-add SYS_ADMIN"
}
