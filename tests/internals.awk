# internals.awk   derives from odvgp.h what tests of its internals compile, so that its code is compiled once for all of them:
#   awk -v part=declarations -f tests/internals.awk odvgp.h   the header with a prototype in place of each function's definition
#   awk -v part=definitions  -f tests/internals.awk odvgp.h   the header with external linkage for the same functions
# Behind >>impl a definition begins in column 0 with its linkage; the line of its arguments' end, or the next one, ends with "{", and its
# body with "}" in column 0. Functions on one line, inline functions, tables, and functions that macros generate stay static in both:
# each program has copies of those that it uses. Lines keep their numbers.
function external(line) {
    sub(/^(static|GP__TRAINING|GP__UNUSED static) /, "extern ", line)
    return line
}

BEGIN { print "#line 1 \"odvgp.h\"" }
/^\/\* ---- >>impl / { code = 1 }
!code { print; next }

# Macros. What must not be inlined must not be here, either.
/^#define GP__NOINLINE / { sub(/static/, "extern") }
macro || /^#/ { macro = /\\$/; print; next }

body {
    body = !/^}/
    print part == "definitions" ? $0 : ""
    next
}

# Public functions on one line.
/^ODVGP_API .*\{.*\}$/ {
    if (part == "declarations") sub(/ *\{.*\}$/, ";")
    print
    next
}

!head && /^(static|GP__[A-Z0-9_]+( static)?|ODVGP_API) .*\(/ && !/^(static inline|GP__INLINE) / && !/[;}]$/ && !/(=|struct.*) \{$/ {
    head = 1
    $0 = external($0)
}
head {
    if (/[;{]$/) head = 0
    body = /\{$/
    if (body && part == "declarations") sub(/ *\{$/, ";")
    print
    next
}

# Prototypes.
/^(static|GP__TRAINING|GP__NOINLINE) .*\(.*;$/ && !/=/ { $0 = external($0) }
{ print }
