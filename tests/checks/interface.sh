#!/bin/sh
# interface.sh   the declarations of odvgp.h keep the rules of >>conventions: the order and the names of arguments, info last, at most
# eight arguments above >>api_low, lengths, the form of size queries; both lists of renamed symbols name what is declared.
awk '
function fail(text) { print "FAIL  " name ": " text; failed++ }
function rank(a, type,    known) {
    known = type ~ /const/
    if (a ~ /^(model|server|online|pool|blas|copy)$/ || type ~ /odvgp_path/) return 1
    if (a ~ /^(config|path|name|assignment|i|status|term)$/) return 2
    if (a ~ /^[XYmSx]$/ || (a ~ /^(file|block)$/ && known)) return 3
    if (a ~ /^(N|n|D|P|M|M_gamma|rows)$/) return 4
    if (a ~ /^(steps|settings|columns|draws|scales|transforms|tau|trainable|low|high|kind|a|b|lr|natgrad_step|count|value|from|to|final|decay_steps|k|seed|features|lambda|most|rank|size)$/ ||
        (a ~ /^(mean|scale|values|user)$/ && known)) return 5
    if (a ~ /^(watch|allocator|threads|reader|reduce|isa)$/) return 6
    if (a ~ /^(mean|var|mean_y|var_y|cov|logp|f|elbo|kl|grad|report|loss|gradient|moments|df|upper|lower|scale|out|values|text|hook|user|file_bytes|user_bytes|costs)$/) return 7
    if (a ~ /^(block|scratch|file)$/) return 8
    return a == "info" ? 9 : 0
}
function check(declaration,    open, list, count, i, a, type, before, last, now, result, arg) {
    open = index(declaration, "(")
    result = substr(declaration, 1, open - 1)
    sub(/^ODVGP_API /, "", result)
    name = result
    sub(/.*[ *]/, "", name)
    result = substr(result, 1, length(result) - length(name))
    list = substr(declaration, open + 1)
    sub(/\);.*/, "", list)
    count = list == "void" ? 0 : split(list, arg, /, */)
    declared[name] = 1
    calls++
    for (i = 1; i <= count; i++) {
        a = type = arg[i]
        sub(/.*[ *]/, "", a)
        type = substr(type, 1, length(type) - length(a))
        if (a == "info" && (i < count || type != "odvgp_info *")) fail("info is not the last argument")
        if (before ~ /void \*$/ && type !~ /\*\*$/ && before !~ /\*\*$/ && a != last "_bytes") fail("the length of " last " is " a)
        # Lengths follow what they measure.
        if (!low && !(a == last "_bytes" || (a == "count" && last == "values"))) {
            if (!rank(a, type)) fail("no rule names the argument " a)
            if (rank(a, type) < now) fail(a " stands behind " last)
            now = rank(a, type)
        }
        if (low && before ~ /odvgp_real \*$/ && last != "w" && a !~ /^ld/) fail("no ld follows " last)
        before = type
        last = a
    }
    if (!low && count > 8) fail(count " arguments")
    if (result ~ /^odvgp_status / && last != "info") fail("info is missing")
    if (name ~ /_(size|scratch)$/ && (result != "size_t " || (last != "info" && count))) fail("a size query is size_t f(..., odvgp_info *info)")
}
/^#(define|undef) odvgp_[a-z_]+/ && !/\(/ { listed[$1 " " $2] = 1 }
/^#define odvgp_/ && $3 != "odvgpf_" substr($2, 7) { name = $2; fail("becomes " $3) }
/^\/\* ---- >>impl/ { code = 1 }
code { next }
/^\/\* ---- >>api_low/ { low = 1 }
/^\/\*	With ODVGP_FLOAT every name/ { renamed = 1 }
renamed && /^(typedef .*|} )odvgp_[a-z_]+( \{|;)/ {
    match($0, /odvgp_[a-z_]+/)
    declared[substr($0, RSTART, RLENGTH)] = 1
}
/^ODVGP_API / { text = ""; collecting = 1 }
collecting {
    line = $0
    gsub(/\/\*.*\*\//, "", line)
    gsub(/^[ \t]+/, "", line)
    text = text (text ~ /[(,]$/ || text == "" ? "" : " ") line
    if (line !~ /;/) next
    collecting = 0
    check(text)
}
END {
    for (name in declared)
        if (!("#define " name in listed) || !("#undef " name in listed)) fail("is not in both lists of renamed symbols")
    for (entry in listed) {
        split(entry, part, " ")
        name = part[2]
        if (!(name in declared)) fail("is renamed, but not declared")
    }
    name = "odvgp.h"
    if (calls < 80) fail("only " calls " declarations were found")
    print calls " declarations checked, " failed + 0 " failed"
    exit failed > 0
}' odvgp.h
