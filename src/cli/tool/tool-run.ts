import { formatProblem } from "../../config/problem.ts";
import { ToolDispatchEngine } from "../../engine/engine.ts";
import { EventStream } from "../../engine/events.ts";
import type { ToolExecution } from "../../engine/execution.ts";
import { ToolRegistry } from "../../engine/registry.ts";
import type { JsonObject } from "../../json/value.ts";
import { allow, type RuntimePolicy } from "../../policy/policy.ts";
import { loadPolicyFile } from "../../policy/policy-file.ts";
import { openSandboxes } from "../../sandboxes/router.ts";
import { EXIT_INTERRUPTED, EXIT_OK, EXIT_TOOL_FAILED, type ExitCode } from "../exit-code.ts";
import { toPrintableJson } from "../printable.ts";
import { print, type Terminal } from "../terminal.ts";
import type { ToolCommand } from "./tool-command.ts";
import { toolOfFile } from "./tool-file.ts";

/**
 * Runs a tool once, as a model's call would, and prints what became of it as JSON: result, logs and receipt, and
 * what only its author should see.
 *
 * @throws {ConfigError} for a bad policy file.
 */
export async function runTool(
  { file, export: exportName, input, policy: policyFile }: Extract<ToolCommand, { name: "tool run" }>,
  { stdout, stderr, signal }: Terminal,
): Promise<ExitCode> {
  const registry = new ToolRegistry().register(toolOfFile(file, exportName));
  const { policy, warnings } = await loadPolicy(policyFile, registry);
  await print(stderr, warnings);
  const log: JsonObject[] = [];
  let detail: string | undefined;
  const events = new EventStream();
  events.on((event) => {
    if (event.type === "tool.log") log.push({ level: event.level, message: event.message });
    if (event.type === "tool.failed") detail = event.detail;
  });
  await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const context = { registry, policy, sandboxes, events, sessionId: "tool-run", ...(signal && { signal }) };
  const call = { id: "call", name: registry.names[0] ?? "", arguments: input };
  const execution = await new ToolDispatchEngine().dispatch(call, context);
  if (execution === null || signal?.aborted) return EXIT_INTERRUPTED;
  await print(stdout, toPrintableJson(report(execution, log, detail)));
  return execution.success ? EXIT_OK : EXIT_TOOL_FAILED;
}

function report(
  { success, output, error, receipt }: ToolExecution,
  log: readonly JsonObject[],
  detail: string | undefined,
): object {
  return {
    success,
    output,
    ...(error && { error }),
    ...(detail && { detail: detail.split("\n") }),
    log,
    receipt,
  };
}

/** The policy of a file; without one, QuickJS with its own limits, and nothing beside the input. */
async function loadPolicy(
  file: string | undefined,
  registry: ToolRegistry,
): Promise<{ readonly policy: RuntimePolicy; readonly warnings: string }> {
  if (file === undefined) return { policy: { check: () => allow({ sandbox: "quickjs" }) }, warnings: "" };
  const { policy, warnings } = await loadPolicyFile(file, registry.subjects);
  return { policy, warnings: warnings.map(formatProblem).join("\n") };
}
