import type { CommandDescription, OptionDefinition } from "../../command-description.ts";
import { optionsOf, wordsOf } from "./words.ts";

/**
 * Returns a script that completes commands in bash. Where it knows no word, bash completes the names of files. All words
 * are of the definitions, which have no characters that mean something in double quotes.
 */
export function bashCompletion(commands: readonly CommandDescription[]): string {
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
