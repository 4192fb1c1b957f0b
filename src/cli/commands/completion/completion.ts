import { ShownText } from "../../../rendering/shown-text.ts";
import type { CommandDescription } from "../../command-description.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { bashCompletion } from "./bash.ts";
import { fishCompletion } from "./fish.ts";

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
