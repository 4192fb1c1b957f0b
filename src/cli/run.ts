import { ConfigError } from "../config/problem.ts";
import { check } from "./check.ts";
import { type Command, parseCommandLine, UsageError } from "./command-line.ts";
import { dispatch } from "./dispatch.ts";
import { EXIT_BAD_INPUT, EXIT_INTERRUPTED, EXIT_OK, type ExitCode } from "./exit-code.ts";
import { HELP_TEXT, readVersion } from "./help.ts";
import { InputError } from "./input-message.ts";
import { toPrintable } from "./printable.ts";
import { serve } from "./serve.ts";
import { print, type Terminal } from "./terminal.ts";
import { checkTools } from "./tool/tool-check.ts";
import { inspectTool } from "./tool/tool-inspect.ts";
import { newTool } from "./tool/tool-new.ts";
import { runTool } from "./tool/tool-run.ts";

/**
 * Runs the command line `sandgate`.
 *
 * @param argv The arguments after the program's name.
 * @returns the process's exit code. It rejects only for a bug: what the user got wrong is told on `stderr`.
 */
export async function run(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  try {
    return await runCommand(parseCommandLine(argv), terminal);
  } catch (error) {
    if (error instanceof UsageError) {
      await print(terminal.stderr, `sandgate: ${toPrintable(error.message)}. See sandgate --help`);
    } else if (error instanceof ConfigError || error instanceof InputError) {
      await print(terminal.stderr, error.message);
    } else if (terminal.signal?.aborted) {
      return EXIT_INTERRUPTED;
    } else throw error;
    return EXIT_BAD_INPUT;
  }
}

async function runCommand(command: Command, terminal: Terminal): Promise<ExitCode> {
  switch (command.name) {
    case "help":
      await print(terminal.stdout, HELP_TEXT);
      return EXIT_OK;
    case "version":
      await print(terminal.stdout, await readVersion());
      return EXIT_OK;
    case "check":
      return check(command, terminal);
    case "dispatch":
      return dispatch(command, terminal);
    case "serve":
      return serve(command, terminal);
    case "tool run":
      return runTool(command, terminal);
    case "tool check":
      return checkTools(command, terminal);
    case "tool inspect":
      return inspectTool(command, terminal);
    case "tool new":
      return newTool(command, terminal);
  }
}
