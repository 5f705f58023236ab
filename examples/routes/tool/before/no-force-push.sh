#!/bin/sh
# Denies `git push --force` (and -f, and +BRANCH) in any agent's shell; `--force-with-lease` passes.
#
# It reads one JSON object on its standard input, {"canonical": …, "native": …}, and prints a decision or nothing. Which
# tools it is run for stands in no-force-push.sh.toml. It needs nothing but sh and grep: what it looks for is found in
# the JSON text as well, where a quote of the command line is written \" and a line break \n.
#
# It reads what is typed. A script, an alias or a variable gets around it, so protect the branch on the server as well.

between="(\\\\[nt]|\\\\\"|[ ']|\",\")"
word="[^] \"'\\\\|;&]+"
words="($between+$word)*"
forced="(--force|-[A-Za-z]*f[A-Za-z]*|\\+$word)"
pattern="(^|[^A-Za-z0-9_-])git$words$between+push$words$between+$forced([^A-Za-z0-9=-]|\$)"

if grep -Eq -e "$pattern"; then
    printf '%s\n' '{"outcome":"deny","reason":"Force pushes are not allowed here. Push to a new branch, or use --force-with-lease after you have fetched."}'
fi
