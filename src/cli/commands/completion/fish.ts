import type { CommandDescription, OptionDefinition } from "../../command-description.ts";
import { optionsOf, wordsOf } from "./words.ts";

/** Returns a script that completes commands in fish, with what they do. */
export function fishCompletion(commands: readonly CommandDescription[]): string {
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
