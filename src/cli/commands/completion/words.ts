import type { CommandDescription, OptionDefinition } from "../../command-description.ts";
import { HELP } from "../../parse-arguments.ts";

/** The words of a command line that can be completed. */
export interface Words {
  /** The first words of commands. */
  readonly first: readonly string[];
  /** The second words of commands, by their first. */
  readonly second: ReadonlyMap<string, readonly string[]>;
}

/** Returns the words that commands consist of. */
export function wordsOf(commands: readonly CommandDescription[]): Words {
  const second = new Map<string, string[]>();
  for (const { name } of commands) {
    const [group = "", word] = name.split(" ");
    if (word !== undefined) second.set(group, [...(second.get(group) ?? []), word]);
  }
  const first = [...new Set(commands.map(({ name }) => name.split(" ")[0] ?? "")), "help", "version"];
  return { first, second };
}

/** Returns the options of a command, by their long names. */
export function optionsOf({ options }: CommandDescription): readonly (readonly [string, OptionDefinition])[] {
  return Object.entries({ ...options, ...HELP });
}
