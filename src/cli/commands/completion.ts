import { ShownText } from "../../rendering/shown.ts";
import { type CommandDescription, HELP, type OptionDefinition } from "../parse-arguments.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../terminal.ts";

/** The words of a command line that can be completed. */
interface Words {
  /** The first words of commands. */
  readonly first: readonly string[];
  /** The second words of commands, by their first. */
  readonly second: ReadonlyMap<string, readonly string[]>;
}

/** The shell of a completion. */
export type Shell = "bash" | "fish" | "zsh";

const SCRIPTS: Record<Shell, (commands: readonly CommandDescription[]) => string> = {
  bash: bashCompletion,
  fish: fishCompletion,
  // zsh runs completions that are written for bash.
  zsh: (commands) => `autoload -U +X bashcompinit && bashcompinit\n${bashCompletion(commands)}`,
};

/** Prints a script that completes the commands in a shell. */
export async function completion(
  shell: Shell,
  commands: readonly CommandDescription[],
  { stdout }: Terminal,
): Promise<ExitCode> {
  await print(stdout, new ShownText(SCRIPTS[shell](commands), { isData: true }));
  return EXIT_OK;
}

/** Returns a script that completes commands in fish, with what they do. */
function fishCompletion(commands: readonly CommandDescription[]): string {
  const { first, second } = wordsOf(commands);
  const lines = [
    "function __sandgate_given",
    "  set -l given (commandline -opc)",
    "  set -e given[1]",
    '  test "$given" = "$argv"',
    "end",
    "function __sandgate_command",
    "  set -l given (commandline -opc)",
    "  set -e given[1]",
    '  test "$given[1..(count $argv)]" = "$argv"',
    "end",
    ...first.map((word) => {
      const does = commands.find(({ name }) => name === word)?.summary;
      return `complete -c sandgate -f -n __sandgate_given -a ${word}${describe(does)}`;
    }),
  ];
  for (const [group, words] of second) {
    for (const word of words) {
      const does = commands.find(({ name }) => name === `${group} ${word}`)?.summary;
      lines.push(`complete -c sandgate -f -n '__sandgate_given ${group}' -a ${word}${describe(does)}`);
    }
  }
  for (const command of commands) {
    for (const [name, option] of optionsOf(command)) {
      lines.push(`complete -c sandgate -n '__sandgate_command ${command.name}' ${optionWords(name, option)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

function optionWords(name: string, { type, short, choices, help }: OptionDefinition): string {
  const values = choices === undefined ? " -r -F" : ` -x -a '${choices.join(" ")}'`;
  return `-l ${name}${short === undefined ? "" : ` -s ${short}`}${type === "boolean" ? "" : values}${describe(help)}`;
}

function describe(text: string | undefined): string {
  return text === undefined ? "" : ` -d '${text.replaceAll(/['\\]/g, "\\$&")}'`;
}

/**
 * Returns a script that completes commands in bash. Where it knows no word, bash completes the names of files. All words
 * are of the definitions, which have no characters that mean something in double quotes.
 */
function bashCompletion(commands: readonly CommandDescription[]): string {
  const { first, second } = wordsOf(commands);
  const groups = [...second.keys()].join("|");
  return `_sandgate() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local command="\${COMP_WORDS[1]}" words=""
  COMPREPLY=()
  case "$command" in
    ${groups}) command="$command \${COMP_WORDS[2]}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${first.join(" ")} --help --version"
  elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" != "\${COMP_WORDS[1]}" ]; then
    case "\${COMP_WORDS[1]}" in
${Array.from(second, ([group, words]) => `      ${group}) words="${words.join(" ")} --help" ;;`).join("\n")}
    esac
  else
    case "$command $previous" in
${commands.flatMap(valueCases).join("\n")}
    esac
    if [ -z "$words" ]; then
      case "$command $current" in
${commands.map((command) => `        "${command.name} -"*) words="${flagsOf(command)}" ;;`).join("\n")}
      esac
    fi
  fi
  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$current")); fi
}
complete -o default -F _sandgate sandgate
`;
}

/** After an option that takes a value, its choices are completed, or the names of files. */
function valueCases(command: CommandDescription): readonly string[] {
  return optionsOf(command).flatMap(([name, option]) => {
    if (option.type === "boolean") return [];
    const patterns = formsOf(name, option).map((form) => `"${command.name} ${form}"`);
    const then = option.choices === undefined ? "return" : `words="${option.choices.join(" ")}"`;
    return [`      ${patterns.join("|")}) ${then} ;;`];
  });
}

function formsOf(name: string, { short }: OptionDefinition): readonly string[] {
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
}

function flagsOf(command: CommandDescription): string {
  return optionsOf(command)
    .map(([name]) => `--${name}`)
    .join(" ");
}

/** Returns the words that commands consist of. */
function wordsOf(commands: readonly CommandDescription[]): Words {
  const second = new Map<string, string[]>();
  for (const { name } of commands) {
    const [group = "", word] = name.split(" ");
    if (word !== undefined) second.set(group, [...(second.get(group) ?? []), word]);
  }
  const first = [...new Set(commands.map(({ name }) => name.split(" ")[0] ?? "")), "help", "version"];
  return { first, second };
}

/** Returns the options of a command, by their long names. */
function optionsOf({ options }: CommandDescription): readonly (readonly [string, OptionDefinition])[] {
  return Object.entries({ ...options, ...HELP });
}
