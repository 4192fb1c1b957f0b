/** The byte before a marker. */
export const MARK = 0x1e;

/** How many digits of the exit code follow a marker. */
export const CODE_DIGITS = 3;

/** The arguments of bash, which reads its commands from its standard input. */
export const SHELL_ARGS: readonly string[] = ["--noprofile", "--norc", "-O", "expand_aliases"];

/** The descriptor over which outputs are exchanged. A command may use it as well: it is put back. */
const SPARE_FD = 240;

/**
 * The first line that the shell reads. It defines a function that reads a marker and writes it to both outputs, with the
 * exit code that it gets. A command never sees its marker: it is read when the command has ended, and no trap that the
 * command set for each command (DEBUG) is left then. If the marker cannot be read or written, the shell exits. What
 * `set -x` says about the function is dropped.
 */
export const FIRST_LINE: string = `${[
  "__sandgate_end() { {",
  "builtin trap - DEBUG &&",
  "builtin local __sandgate &&",
  "IFS= builtin read -r __sandgate &&",
  `builtin printf '\\036%s%0${CODE_DIGITS}d' "$__sandgate" "$1" &&`,
  `builtin printf '\\036%s%0${CODE_DIGITS}d' "$__sandgate" "$1" >&${SPARE_FD};`,
  `} ${SPARE_FD}>&2 2>/dev/null || builtin exit "$1" || \\exit "$1"; }; readonly -f __sandgate_end`,
].join(" ")}\n`;

/**
 * Returns what the shell reads to run a command. The standard input of the command is empty. bash puts back all three
 * streams after it, whatever the command did to them with `exec`.
 *
 * @param marker A line that cannot be guessed.
 */
export function commandScript(command: string, marker: string): string {
  const spare = SPARE_FD;
  const streams = `${spare}>&1 1>&${spare} ${spare}>&2 2>&${spare} ${spare}>&- 0</dev/null`;
  return `\\eval ${quote(command)} ${streams}; __sandgate_end $?\n${marker}\n`;
}

/** In single quotes, bash interprets nothing. */
function quote(text: string): string {
  return `'${text.replaceAll("'", () => "'\\''")}'`;
}
