/**
 * Runs the tools of components in both engines, under the same grants, and prints how each call ended, as JSON. Its
 * arguments are a folder for the sandboxes' cache, and the components as JSON.
 */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "../../../../src/json/value.ts";
import type { Capabilities } from "../../../../src/policy/grant/capabilities.ts";
import type { SandboxOutcome } from "../../../../src/sandboxes/contract/outcome.ts";
import { openSandboxes, type Sandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { componentTools } from "../../../../src/sandboxes/wasm/tools/component-tools.ts";
import { logKeeper, wasmTask } from "../../../fixtures/wasm/task.ts";

/** A component to run. */
export interface ComponentToRun {
  readonly path: string;
  /** The names of its tools, if it runs more than it describes. */
  readonly tools?: readonly string[];
}

/** How the calls of a tool ended. Texts of traps differ, so there are none. */
export interface ToolEnds {
  readonly component: string;
  readonly tool: string;
  readonly ours: readonly string[];
  readonly jco: readonly string[];
}

/** With these, the same calls give the same results. */
const GRANTS: readonly Capabilities[] = [
  {},
  { clock: true, frozenClock: 1_000_000, random: true, randomSeed: "seed", env: ["PATH"] },
];
const LIMITS = { wallTimeMs: 2_000, memoryBytes: 32 * 2 ** 20, outputBytes: 2 ** 20 };

/** Returns how the tools of a component end in an engine, by their names. */
async function endsIn(
  engine: "jco" | undefined,
  { path: component, tools = [] }: ComponentToRun,
  sandboxes: Sandboxes,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const named = engine && { engine };
  const found = await componentTools(component, sandboxes, named).catch(() => undefined);
  const ends = new Map<string, readonly string[]>();
  if (found === undefined) return ends.set("", ["refused"]);
  const sandbox = await sandboxes.route("wasm");
  const further = tools.map((name) => ({ name, inputSchema: {}, wasm: { component, tool: name, ...named } }));
  for (const { name, inputSchema, wasm } of [...found.tools, ...further]) {
    const ended: string[] = [];
    for (const grant of GRANTS) {
      const observer = logKeeper();
      const capabilities = { ...grant, ...(engine && { engine }) };
      const overrides = { implementations: { wasm }, limits: LIMITS, capabilities, observer };
      const outcome = await sandbox?.run(wasmTask(component, name, inputFor(inputSchema), overrides));
      if (outcome !== undefined) ended.push(describe(outcome, observer.lines));
    }
    ends.set(name, ended);
  }
  return ends;
}

/** Arguments for exported functions of numbers and texts. */
function inputFor({ properties = {} }: JsonObject): JsonObject {
  const members = Object.entries(properties as Readonly<Record<string, JsonObject>>);
  return Object.fromEntries(
    members.map(([name, { type }]): [string, JsonValue] => [name, type === "string" ? "a" : 1_000]),
  );
}

function describe(outcome: SandboxOutcome, log: readonly unknown[]): string {
  const { status, effect } = outcome;
  if (status === "timeout") return status;
  const output = status === "completed" ? outcome.output : undefined;
  const limit = "limit" in outcome ? outcome.limit : undefined;
  const logged = createHash("sha256").update(JSON.stringify(log)).digest("hex");
  return JSON.stringify({ status, effect, limit, output, logged });
}

const [cacheDirectory = "", given = "[]"] = process.argv.slice(2);
const components: readonly ComponentToRun[] = JSON.parse(given);
await using sandboxes = await openSandboxes({ wasm: { cacheDirectory }, workers: { threads: 1 } });
const ends: ToolEnds[] = [];
for (const component of components) {
  const ours = await endsIn(undefined, component, sandboxes);
  const jco = await endsIn("jco", component, sandboxes);
  for (const tool of new Set([...ours.keys(), ...jco.keys()])) {
    ends.push({ component: component.path, tool, ours: ours.get(tool) ?? [], jco: jco.get(tool) ?? [] });
  }
}
console.log(JSON.stringify(ends));
