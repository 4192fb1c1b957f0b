import { randomUUID } from "node:crypto";
import { takeGuardedFiles } from "../../base/guarded-files.ts";
import { ToolDispatchEngine } from "../../engine/engine.ts";
import { ToolRegistry } from "../../engine/registry.ts";
import type { ConfinedCommand } from "../../guard/handover.ts";
import { askGuard } from "../../guard/wire.ts";
import { allow } from "../../policy/policy.ts";
import { shown } from "../../rendering/shown.ts";
import { openSandboxes } from "../../sandboxes/open-sandboxes.ts";
import type { ProgramCompletion } from "../../tool/implementations/process-implementation.ts";
import { guardTools } from "../../toolsets/guard-tools.ts";
import { print, type Terminal } from "../terminal.ts";

/** Options of `sandgate run`. */
interface RunCommand {
  readonly socket: string;
  readonly key: string;
  readonly ticket: string;
  /** For bash. */
  readonly command: string;
}

/** As shells say that a command cannot be run. */
const EXIT_NOT_RUN = 126;

/** Milliseconds in which the process that decides must say what the ticket allows. */
const REDEEM_MS = 5_000;

/**
 * Runs a command of an agent as it was allowed: in the sandbox `process`, with the grant that its ticket stands for. It reads no
 * config: whoever starts it can do no more than was allowed for exactly this command, once.
 *
 * @returns its exit code, or 126 if it did not run.
 */
export async function runConfined(command: RunCommand, terminal: Terminal): Promise<number> {
  const allowed = await redeem(command);
  if (allowed === undefined) {
    await print(
      terminal.stderr,
      shown`sandgate: this command was not allowed, or ran before: have the agent call its own tool again`,
    );
    return EXIT_NOT_RUN;
  }
  takeGuardedFiles(allowed.guarded);
  const registry = new ToolRegistry();
  for (const tool of guardTools()) if (tool.name === "run_command") registry.register(tool);
  const { limits, capabilities, workspace, cwd } = allowed;
  const grant = { sandbox: "process", limits, capabilities } as const;
  await using sandboxes = await openSandboxes();
  sandboxes.ensureExit();
  const cancelling = new AbortController();
  const cancel = (): void => cancelling.abort();
  process.once("SIGTERM", cancel);
  process.once("SIGHUP", cancel);
  terminal.signal?.addEventListener("abort", cancel);
  const call = {
    id: randomUUID(),
    name: "run_command",
    arguments: JSON.stringify({ command: allowed.command, cwd }),
  };
  const execution = await new ToolDispatchEngine().dispatch(call, {
    registry,
    policy: { check: () => allow(grant), revision: "ticket" },
    sandboxes,
    sessionId: "sandgate run",
    workspace,
    signal: cancelling.signal,
  });
  const output = execution?.output as ProgramCompletion | null | undefined;
  if (execution?.success !== true || output === null || output === undefined) {
    if (execution?.partialOutput !== undefined) terminal.stdout.write(execution.partialOutput);
    await print(terminal.stderr, shown`sandgate: ${execution?.error?.message ?? "the command did not run"}`);
    return EXIT_NOT_RUN;
  }
  await write(terminal.stdout, output.stdout);
  await write(terminal.stderr, output.stderr);
  if (output.note !== undefined) await print(terminal.stderr, shown`sandgate: ${output.note}`);
  return output.exitCode;
}

async function redeem({ socket, key, ticket, command }: RunCommand): Promise<ConfinedCommand | undefined> {
  try {
    return ((await askGuard({ socket, key }, { ticket, command }, REDEEM_MS)) ?? undefined) as
      | ConfinedCommand
      | undefined;
  } catch {
    return undefined;
  }
}

/** What a command writes is for the agent that runs it, as from any shell. */
function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.write(text, () => resolve());
  });
}
