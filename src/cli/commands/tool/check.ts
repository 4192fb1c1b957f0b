import { dirname, join } from "node:path";
import { ToolDispatchEngine } from "../../../engine/engine.ts";
import { ToolRegistrationError } from "../../../engine/registered-tool.ts";
import { ToolRegistry } from "../../../engine/registry.ts";
import { defineTool } from "../../../engine/tool.ts";
import type { CapabilityName } from "../../../policy/grant/capabilities.ts";
import { allow } from "../../../policy/policy.ts";
import { joinShown, type ShownText, shown } from "../../../rendering/shown.ts";
import { ToolPreparationError } from "../../../sandboxes/contract/sandbox.ts";
import { openSandboxes, type Sandboxes } from "../../../sandboxes/open-sandboxes.ts";
import { findWhatIsMissing, scriptNeeds } from "../../../sandboxes/quickjs/check/check-tool.ts";
import type { Finding } from "../../../sandboxes/quickjs/check/finding.ts";
import { readComponentBytes } from "../../../sandboxes/wasm/component/gate.ts";
import { GUEST_CALL } from "../../../sandboxes/wasm/exports/guest-interface.ts";
import { type ComponentTool, componentTools } from "../../../sandboxes/wasm/tools/component-tools.ts";
import { type InspectedImport, inspectComponent } from "../../../sandboxes/wasm/tools/inspect-component.ts";
import type { WasmImplementation } from "../../../tool/implementations/implementations.ts";
import {
  EXIT_BAD_INPUT,
  EXIT_INTERRUPTED,
  EXIT_OK,
  type ExitCode,
  print,
  type Terminal,
} from "../../terminal.ts";
import type { ToolCommand } from "../../tool-command.ts";
import { type FileNeeds, readGrantValues, writeGrant } from "./grant-file.ts";
import { isChosen, isComponentFile, listNames, type ToolChoice, toolOfFile, whyNone } from "./tool-file.ts";

/**
 * Loads each tool as a call would, without calling it, and reports its problems. With `--grant`, it also writes a policy
 * that grants what the tools can use, unless there is a problem.
 *
 * @throws {UsageError} if a `--value` is invalid, or the policy cannot be written.
 */
export async function checkTools(
  { files, export: exportName, engine, grant, values }: Extract<ToolCommand, { name: "tool check" }>,
  { stdout, stderr, signal }: Terminal,
): Promise<ExitCode> {
  await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
  sandboxes.ensureExit();
  const notes: ShownText[] = [];
  const problems: ShownText[] = [];
  const needs: FileNeeds[] = [];
  const named = readGrantValues(values);
  for (const file of files) {
    if (signal?.aborted) return EXIT_INTERRUPTED;
    if (await isComponentFile(file)) {
      const findings = await checkComponent(file, { tool: undefined, export: exportName, engine }, sandboxes);
      notes.push(...findings.notes.map((note) => shown`${file}: ${note}`));
      problems.push(...findings.problems.map((problem) => shown`${file}: ${problem}`));
      if (findings.needs !== undefined) needs.push(findings.needs);
    } else if (engine !== undefined) {
      problems.push(shown`${file}: --engine requires a component, and it is not one`);
    } else {
      const found = await checkJavaScript(file, exportName ?? "default", sandboxes);
      problems.push(...found);
      if (found.length === 0) {
        notes.push(shown`${file}: exports the tool '${exportName ?? "default"}'`);
        if (grant !== undefined) needs.push(await moduleNeeds(file, exportName ?? "default"));
      }
    }
  }
  if (grant !== undefined && problems.length === 0) {
    await writeGrant(grant, needs, named);
    notes.push(shown`${grant}: grants what ${files.length === 1 ? "it" : "they"} can use`);
  }
  await print(stdout, joinShown(notes, "\n"));
  await print(stderr, joinShown(problems, "\n"));
  return problems.length === 0 ? EXIT_OK : EXIT_BAD_INPUT;
}

/** Returns what a policy has to grant to the tool of a module. */
async function moduleNeeds(file: string, exportName: string): Promise<FileNeeds> {
  const { name, quickjs } = toolOfFile(file, exportName);
  const mentioned = quickjs === undefined ? [] : [...(await scriptNeeds(quickjs))];
  const capabilities = new Map(mentioned.map((capability) => [capability, "seems to use it"]));
  return { file, tools: [name], sandbox: "quickjs", capabilities };
}

/** Loads a JavaScript tool as a call would, and checks what it uses, without calling it. Returns its problems. */
async function checkJavaScript(
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

/** Whether a problem of loading the tool was also found by the analysis: a missing variable, or an import. */
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

/** The findings about a tool's file. */
interface Findings {
  readonly notes: readonly ShownText[];
  /** The reasons why it cannot be registered. */
  readonly problems: readonly ShownText[];
  /** What a policy has to grant; `undefined` if it has problems. */
  readonly needs?: FileNeeds;
}

/** A component may have thousands of exports, each with a problem. */
const MAX_FINDINGS = 100;

/**
 * Checks a component in all the steps of registration: the gates, the validator, the compiler, `describe` and the registry. No
 * tool runs.
 */
async function checkComponent(file: string, choice: ToolChoice, sandboxes: Sandboxes): Promise<Findings> {
  try {
    return await registerAll(file, choice, sandboxes);
  } catch (error) {
    if (!(error instanceof ToolPreparationError)) throw error;
    return { notes: [], problems: [shown`${error.message}`] };
  }
}

async function registerAll(file: string, choice: ToolChoice, sandboxes: Sandboxes): Promise<Findings> {
  const { export: exportName } = choice;
  const engine = choice.engine && { engine: choice.engine };
  const component = await readComponentBytes(file);
  const { exports, imports } = await inspectComponent(component, engine);
  const first = exports.find((exported) => exported.name === GUEST_CALL || "inputSchema" in exported);
  if (exportName === undefined && first === undefined && exports.length === 0) {
    throw new ToolPreparationError("it exports no functions");
  }
  // Once is enough, as preparing is the same for all its tools.
  const named = implementation(component, exportName ?? first?.name ?? exports[0]?.name);
  await sandboxes.prepare({ wasm: { ...named, ...engine } });
  const found = await componentTools(component, sandboxes, engine);
  const chosen = found.tools.filter((tool) => isChosen(tool, choice));
  const problems = chosen.length === 0 ? [whyNone(found, choice)] : registrationProblems(chosen);
  const notes = [
    ...chosen.map(
      ({ name, wasm }) =>
        shown`has the tool '${name}'${wasm.export === undefined ? "" : shown` (${wasm.export})`}`,
    ),
    ...(exportName === undefined ? found.refused : []).map(
      (one) => shown`'${one.export}' is not a tool: ${one.reason}`,
    ),
    ...importNotes(imports),
  ];
  const findings = { notes: bound(notes), problems: bound(problems) };
  if (problems.length > 0) return findings;
  const tools = chosen.map(({ name }) => name);
  return {
    ...findings,
    needs: { file, tools, sandbox: "wasm", capabilities: capabilitiesOf(imports, choice) },
  };
}

/** A component of the world `sandgate:tool` has one function for all its tools, so no export is named. */
function implementation(component: Uint8Array, exportName: string | undefined): WasmImplementation {
  return exportName === undefined || exportName === GUEST_CALL
    ? { component }
    : { component, export: exportName };
}

function registrationProblems(tools: readonly ComponentTool[]): ShownText[] {
  const registry = new ToolRegistry();
  return tools.flatMap((tool) => {
    try {
      registry.register(tool);
      return [];
    } catch (error) {
      if (error instanceof ToolRegistrationError) return [shown`${error.message}`];
      throw error;
    }
  });
}

/** Returns the capabilities that the component's imports use, with their names, and that of its engine. */
function capabilitiesOf(
  imports: readonly InspectedImport[],
  { engine }: ToolChoice,
): FileNeeds["capabilities"] {
  const used = new Map<CapabilityName, string>();
  if (engine !== undefined) used.set("engine", `is to run with the engine ${engine}`);
  for (const { name, needs } of imports) {
    if (needs !== "none" && needs !== "ungrantable" && !used.has(needs)) used.set(needs, `imports ${name}`);
  }
  return used;
}

/** Returns which capabilities a grant needs if the component uses its imports. It may import more than it uses. */
function importNotes(imports: readonly InspectedImport[]): readonly ShownText[] {
  const byNeed = Map.groupBy(imports, ({ needs }) => needs);
  return [...byNeed].flatMap(([needs, interfaces]) => {
    const names = listNames(interfaces.map(({ name }) => name));
    if (needs === "none") return [];
    if (needs === "ungrantable") return [shown`imports interfaces that no grant provides: ${names}`];
    return [shown`imports ${names}: using them needs the capability '${needs}'`];
  });
}

function bound(findings: readonly ShownText[]): readonly ShownText[] {
  const listed = findings.slice(0, MAX_FINDINGS);
  const more = findings.length - listed.length;
  return more > 0 ? [...listed, shown`and ${more} more`] : listed;
}
