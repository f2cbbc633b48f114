# counts.sh   sourced by scripts of tests: commands that must succeed, with their output in $dir/log, and what is skipped.
passed=0 failed=0 skipped=0
ok() { # what it is, command...
    what=$1
    shift
    if "$@" >"$dir/log" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL  $what: $*"
        tail -n 20 "$dir/log"
    fi
}
skip() {
    echo "skip  $1"
    skipped=$((skipped + 1))
}
