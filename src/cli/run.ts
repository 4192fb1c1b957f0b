import { shown } from "../rendering/shown.ts";
import { ShownText } from "../rendering/shown-text.ts";
import { type Command, parseCommandLine } from "./command-line.ts";
import { MessageError, UsageError } from "./errors.ts";
import { HELP_TEXT, readVersion } from "./help.ts";
import { EXIT_BAD_INPUT, EXIT_INTERRUPTED, EXIT_OK, print, type Terminal } from "./terminal/terminal.ts";

/**
 * Runs the `sandgate` command.
 *
 * @param argv The arguments after the program's name.
 * @returns the exit code. Rejects only if there is a bug: the user's mistakes are reported on `stderr`.
 */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await runCommand(parseCommandLine(argv), terminal);
  } catch (error) {
    const problem = await problemText(error);
    if (problem === undefined) {
      if (terminal.signal?.aborted) return EXIT_INTERRUPTED;
      throw error;
    }
    await print(terminal.stderr, problem);
    return EXIT_BAD_INPUT;
  }
}

/** Returns the text of an error that the user caused; `undefined` for any other error. */
async function problemText(error: unknown): Promise<ShownText | undefined> {
  if (error instanceof UsageError) return shown`sandgate: ${error.shown}. See sandgate --help`;
  if (error instanceof MessageError) return error.shown;
  // The command that threw a ConfigError has loaded its module already.
  const { JournalError } = await import("../journal/journal-error.ts");
  if (error instanceof JournalError) return shown`sandgate: ${error.message}`;
  const { ConfigError } = await import("../config/problem.ts");
  if (!(error instanceof ConfigError)) return undefined;
  const { showProblems } = await import("./terminal/problems.ts");
  return showProblems(error.problems);
}

/** Runs a command. Each command's module is loaded on use, so that `--version` does not load all of them. */
async function runCommand(command: Command, terminal: Terminal): Promise<number> {
  switch (command.name) {
    case "help":
      await print(terminal.stdout, new ShownText(HELP_TEXT, { isData: true }));
      return EXIT_OK;
    case "version":
      await print(terminal.stdout, shown`${await readVersion()}`);
      return EXIT_OK;
    case "check":
      return (await import("./commands/check.ts")).check(command, terminal);
    case "doctor":
      return (await import("./commands/doctor.ts")).doctor(command, terminal);
    case "dispatch":
      return (await import("./commands/dispatch.ts")).dispatch(command, terminal);
    case "serve":
      return (await import("./commands/serve.ts")).serve(command, terminal);
    case "supervise":
      return (await import("./commands/supervise.ts")).supervise(command, terminal);
    case "journal verify":
      return (await import("./commands/journal/verify.ts")).verifyFiles(command, terminal);
    case "journal show":
      return (await import("./commands/journal/show.ts")).show(command, terminal);
    case "journal tail":
      return (await import("./commands/journal/tail.ts")).tail(command, terminal);
    case "journal replay":
      return (await import("./commands/journal/replay.ts")).replay(command, terminal);
    case "journal forget":
      return (await import("./commands/journal/forget.ts")).forget(command, terminal);
    case "journal keygen":
      return (await import("./commands/journal/keygen.ts")).keygen(command, terminal);
    case "why":
      return (await import("./commands/journal/why.ts")).why(command, terminal);
    case "policy explain":
      return (await import("./commands/policy/explain.ts")).explain(command, terminal);
    case "policy test":
      return (await import("./commands/policy/test.ts")).testPolicy(command, terminal);
    case "policy diff":
      return (await import("./commands/policy/diff.ts")).diff(command, terminal);
    case "policy prove":
      return (await import("./commands/policy/prove.ts")).prove(command, terminal);
    case "mcp pin":
      return (await import("./commands/mcp/pin.ts")).pin(command, terminal);
    case "mcp serve":
      return (await import("./commands/mcp/serve.ts")).serveMcp(command, terminal);
    case "mcp login":
      return (await import("./commands/mcp/login.ts")).login(command, terminal);
    case "mcp logout":
      return (await import("./commands/mcp/login.ts")).logout(command, terminal);
    case "mcp diff":
      return (await import("./commands/mcp/diff.ts")).diffDefinitions(command, terminal);
    case "confirm":
      return (await import("./commands/confirm.ts")).confirm(command, terminal);
    case "tool run":
      return (await import("./commands/tool/run.ts")).runTool(command, terminal);
    case "tool check":
      return (await import("./commands/tool/check.ts")).checkTools(command, terminal);
    case "tool inspect":
      return (await import("./commands/tool/inspect.ts")).inspectTool(command, terminal);
    case "tool component":
      return (await import("./commands/tool/component.ts")).makeComponent(command, terminal);
    case "tool new":
      return (await import("./commands/tool/project/new.ts")).newTool(command, terminal);
  }
}
