/** How many lines of each file are read to find out whether the file has a match, if only paths are asked for. */
export const LINES_FOR_PATH = 3;

/** The most bytes that the script writes: less than what is kept of a program's output. */
export const MAX_OUTPUT_BYTES = 450_000;

/** With what the script begins the lines of its standard error that are its own. */
export const SAYS = "sandgate: ";

/**
 * Rules of a `.gitignore` that ripgrep reads otherwise than Git: alternatives in braces, escapes, POSIX classes, and `**`
 * that is not a whole name.
 */
const OTHER_RULES = "^[^#].*([{}\\\\]|\\[\\[:|\\[:|[^/!]\\*\\*|\\*\\*[^/*\\r])|^[{}\\\\]";

/**
 * Finds files in two steps. The first one has ripgrep find the files that have a match, with all CPUs, and orders their paths
 * as the walk does: files before the directories beside them. The second one reads the matches of the first of them, one
 * after another. Only the first one can take long, and only the second one can write much.
 *
 * The first step leaves out files that have a NUL near their beginning. The second one also finds lines with a NUL: their
 * files are binary. Only a file that has as many matches as may be read before its first NUL passes for text.
 *
 * ripgrep is started in the directory that is searched: version 13 applies rules of the directories above to wrong paths
 * otherwise.
 *
 * Its arguments are the pattern, the path, what paths begin with (as a replacement of sed), more options of ripgrep (one on
 * each line), an extended regular expression for paths, the number of files, of lines in each file and of lines around each
 * match, and the seconds that it may take.
 */
export const SCRIPT: string = `
pattern=$1 path=$2 prefix=$3 options=$4 paths=$5 files=$6 lines=$7 context=$8 seconds=$9
say() { echo "${SAYS}$1" >&2; }
command -v rg >/dev/null || { say missing; exit 0; }
[ -d "$path" ] || [ -f "$path" ] || { say "no path"; exit 0; }
walk() {
  timeout "$seconds" rg --no-config --hidden --no-ignore-dot --no-ignore-exclude --no-ignore-global --no-require-git \\
    --encoding none --color never --null "$@"
}
IFS='
'
set -f
[ ! -f .gitignore ] || { rg --no-config --quiet -e '${OTHER_RULES}' -- .gitignore 2>/dev/null && say "other rules"; } &
{ ! [ -d "$path" ] || { cd -- "$path" && path=.; }
  walk -g '!.git' --files-with-matches $options -e "$pattern" -- "$path"; say "ended $?"; } |
  sed -zE -e "s:^\\./:$prefix:" -e "\\:$paths:!d" -e '/[\\x01-\\x03\\\\]/d' \\
    -e 's:([^/]*)/:\\x03\\1\\x01:g' -e 's:[^\\x01\\x03]*$:\\x02&:' | sort -z |
  sed -z -e 's:[\\x02\\x03]::g' -e 's:\\x01:/:g' -e "$((files + 50))q" |
  xargs -0 -r rg --no-config -j1 --text --encoding none --no-heading --with-filename --null --line-number --color never \\
    --max-count "$lines" --context "$context" --no-context-separator -e "$pattern" -e '\\x00' -- 2>/dev/null |
  head -c ${MAX_OUTPUT_BYTES}
wait
`;
