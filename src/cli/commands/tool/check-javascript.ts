import { dirname, join } from "node:path";
import { ToolDispatchEngine } from "../../../engine/engine.ts";
import { ToolRegistry } from "../../../engine/registry.ts";
import { defineTool } from "../../../engine/tool.ts";
import { allow } from "../../../policy/decision.ts";
import { shown } from "../../../rendering/shown.ts";
import type { ShownText } from "../../../rendering/shown-text.ts";
import type { Sandboxes } from "../../../sandboxes/open-sandboxes.ts";
import { findWhatIsMissing } from "../../../sandboxes/quickjs/check/check-tool.ts";
import type { Finding } from "../../../sandboxes/quickjs/check/finding.ts";
import { toolOfFile } from "./tool-file.ts";

/** Loads a JavaScript tool as a call would, and checks what it uses, without calling it. Returns its problems. */
export async function checkJavaScript(
  file: string,
  exportName: string,
  sandboxes: Sandboxes,
): Promise<readonly ShownText[]> {
  const tool = toolOfFile(file, exportName);
  const problem = await errorOf(() => sandboxes.prepare(tool));
  if (tool.quickjs === undefined) return problem === undefined ? [] : [placed(file, problem)];
  try {
    const findings = await findWhatIsMissing(tool.quickjs, await sandboxGlobals(sandboxes));
    const texts = findings.map((finding) => placed(file, textOf(finding)));
    return problem === undefined || isExplained(problem, findings)
      ? texts
      : [placed(file, problem), ...texts];
  } catch (error) {
    return [placed(file, problem ?? messageOf(error))];
  }
}

async function errorOf(act: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Asks the sandbox itself for the names of its globals. */
async function sandboxGlobals(sandboxes: Sandboxes): Promise<readonly string[]> {
  const source = "export default () => Object.getOwnPropertyNames(globalThis)";
  const tool = defineTool({ name: "globals", description: "", inputSchema: {}, quickjs: { source } });
  const policy = { check: () => allow({ sandbox: "quickjs" }) };
  const context = { registry: new ToolRegistry().register(tool), policy, sandboxes, sessionId: "tool-check" };
  const call = { id: "globals", name: "globals", arguments: {} };
  const execution = await new ToolDispatchEngine().dispatch(call, context);
  if (!execution?.success) throw new Error(`the sandbox cannot run: ${execution?.error?.message}`);
  return execution.output as readonly string[];
}

/** Whether a problem of loading the tool is one that was found, too: a missing variable, or an import. */
function isExplained(problem: string, findings: readonly Finding[]): boolean {
  return findings.some(
    ({ module, line, kind }) =>
      problem.startsWith(`${module}:${line}:`) ||
      (kind === "import" && problem.includes("cannot be imported")),
  );
}

function textOf({ module, line, column, message }: Finding): string {
  return `${module}:${line}:${column}: ${message}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Makes a problem's module path, which is relative to the tool's folder, relative to the working directory. */
function placed(file: string, problem: string): ShownText {
  const place = /^([^\s:]+\.\w+)(:\d+:\d+: .*)$/s.exec(problem);
  if (place === null) return shown`${file}: ${problem}`;
  const [, module = "", rest = ""] = place;
  return shown`${join(dirname(file), module)}${rest}`;
}
