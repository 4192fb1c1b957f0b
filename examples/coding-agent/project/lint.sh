# Reports the lines of scripts that end with white space. Usage: sh lint.sh [FILE…]
[ $# -gt 0 ] || set -- *.sh
grep -nHE '[[:blank:]]$' -- "$@" | sed -E 's/^([^:]+:[0-9]+):.*/\1: warning: the line ends with white space/'
