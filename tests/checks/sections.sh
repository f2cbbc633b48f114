#!/bin/sh
# sections.sh [HEADER]   the order of the implementation: a section uses only what stands above it. A section begins with the line
# `/* ---- >>tag   title`, behind >>impl, and ends at the next one. Prints an offence a line, FILE:LINE: section -> section, for
#   - a function gp__x or odvgp_x that is named (called, or given to another one) in a section above the one that defines it;
#   - a prototype of a function of a later section, which would hide such a call;
#   - a tag of the contents at the top that does not stand exactly twice, there and as a section's head, or heads in another order.
# Comments, strings and the declarations of >>api do not count. Functions that macros define by pasting names (gp__vexp_avx2) are not
# known by name; prototypes of static functions are all found. Needs awk only.
LC_ALL=C exec awk '
function fail(text) { print text; offences++ }

# The line without comments, strings and character constants; `comment` lives from line to line.
function code_of(line,   out, at, end) {
    out = ""
    while (line != "") {
        if (comment) {
            if (!(at = index(line, "*/"))) return out
            line = substr(line, at + 2)
            comment = 0
        } else if (match(line, /\/\*|\/\/|"|\047/)) {
            out = out substr(line, 1, RSTART - 1)
            at = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (at == "//") return out
            if (at == "/*") comment = 1
            else {
                end = at == "\"" ? "^([^\"\\\\]|\\\\.)*\"" : "^([^\047\\\\]|\\\\.)*\047"
                if (match(line, end)) line = substr(line, RLENGTH + 1)
                else line = "" # continued, or an apostrophe in an #error
                out = out "0"
            }
        } else {
            out = out line
            line = ""
        }
    }
    return out
}

FNR == 1 { file = FILENAME }

# The contents: lines of the form `  >>tag   text`, before the first line that begins with >>.
/^CONTENTS/ { contents = 1 }
contents && /^>>/ { contents = 0 }
contents && match($0, /^[ \t]+>>[a-z0-9_]+/) {
    tag = $1
    sub(/^>>/, "", tag)
    listed[tag] = FNR
    order[++tags] = tag
}
# Heads: >>tag at the start of a line or of a comment.
match($0, /^(\/\* [- ]*)?>>[a-z0-9_]+/) {
    tag = substr($0, RSTART, RLENGTH)
    sub(/.*>>/, "", tag)
    heads[tag]++
    head[tag] = FNR
    found[++founds] = tag
    if (tag == "impl") inside = 1
    if (tag == "licence") inside = 0
    if (inside) {
        if (depth != 0) fail(file ":" FNR ": the braces of >>" section " do not match: this script cannot read it")
        section = tag
        rank[tag] = ++ranks
    }
}

{ code = code_of($0) }

inside {
    text = code
    # At depth 0 a declaration is gathered until its body or its semicolon. Macros define nothing that
    # can be found by its name, but what they use counts where they stand.
    directive = continued || code ~ /^[ \t]*#/
    continued = directive && $0 ~ /\\$/
    if (!directive) {
        if (depth == 0) {
            if (gathered == "") from = FNR
            gathered = gathered " " code
        }
        opened = gsub(/\{/, "{", text)
        closed = gsub(/\}/, "}", text)
        if (depth == 0 && (opened || code ~ /;[ \t]*$/)) {
            declaration = gathered
            gathered = ""
            sub(/[;{].*/, "", declaration)
            if (declaration !~ /typedef|=/ && match(declaration, /(odvgp_|gp__)[A-Za-z0-9_]+[ \t]*\(/)) {
                name = substr(declaration, RSTART, RLENGTH)
                sub(/[ \t]*\(/, "", name)
                if (opened && !(name in where)) {
                    where[name] = section
                    line_of[name] = FNR
                } else if (!opened) {
                    prototype[++prototypes] = name
                    prototype_from[prototypes] = from
                    prototype_to[prototypes] = FNR
                    prototype_section[prototypes] = section
                }
            }
        } else if (depth == 0 && code ~ /^GP__[A-Z0-9_]+\(.*\)[ \t]*$/) gathered = ""
        depth += opened - closed
    }
    # Names used: kept until all definitions are known.
    while (match(text, /(odvgp_|gp__)[A-Za-z0-9_]+/)) {
        name = substr(text, RSTART, RLENGTH)
        after = substr(text, RSTART + RLENGTH)
        used[++uses] = name
        used_line[uses] = FNR
        used_section[uses] = section
        text = after
    }
}

END {
    for (i = 1; i <= prototypes; i++) {
        name = prototype[i]
        for (k = prototype_from[i]; k <= prototype_to[i]; k++) declares[k, name] = 1
        if (!(name in where)) fail(file ":" prototype_from[i] ": " prototype_section[i] ": prototype of " name ", which has no body here")
        else if (rank[where[name]] > rank[prototype_section[i]])
            fail(file ":" prototype_from[i] ": " prototype_section[i] " -> " where[name] ": prototype of " name)
    }
    for (i = 1; i <= uses; i++) {
        name = used[i]
        if (!(name in where) || rank[where[name]] <= rank[used_section[i]] || (used_line[i], name) in declares) continue
        fail(file ":" used_line[i] ": " used_section[i] " -> " where[name] ": " name " is defined in line " line_of[name])
    }
    for (i = 1; i <= tags; i++)
        if (heads[order[i]] != 1) fail(file ":" listed[order[i]] ": >>" order[i] " heads " heads[order[i]] + 0 " sections, not one")
    for (i = 1; i <= founds; i++)
        if (!(found[i] in listed)) fail(file ":" head[found[i]] ": >>" found[i] " is not in the contents")
    for (i = k = 1; i <= tags && k <= founds; i++)
        if (heads[order[i]] == 1) {
            if (found[k] != order[i]) { fail(file ":" head[found[k]] ": >>" found[k] " stands where the contents have >>" order[i]); break }
            k++
        }
    for (name in where) functions++
    printf "%d sections, %d functions, %d uses: %d offences\n", ranks, functions, uses, offences
    if (functions < 100) { print "too few functions were found: is this the header?"; exit 1 }
    exit offences > 0
}' "${1:-odvgp.h}"
