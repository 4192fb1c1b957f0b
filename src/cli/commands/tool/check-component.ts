import { ToolRegistrationError } from "../../../engine/registered-tool.ts";
import { ToolRegistry } from "../../../engine/registry.ts";
import type { CapabilityName } from "../../../policy/grant/capabilities.ts";
import { type ShownText, shown } from "../../../rendering/shown.ts";
import { ToolPreparationError } from "../../../sandboxes/contract/sandbox.ts";
import type { Sandboxes } from "../../../sandboxes/open-sandboxes.ts";
import { readComponentBytes } from "../../../sandboxes/wasm/component/gate.ts";
import { GUEST_CALL } from "../../../sandboxes/wasm/exports/guest-interface.ts";
import { type ComponentTool, componentTools } from "../../../sandboxes/wasm/tools/component-tools.ts";
import { type InspectedImport, inspectComponent } from "../../../sandboxes/wasm/tools/inspect-component.ts";
import type { WasmImplementation } from "../../../tool/implementations/implementations.ts";
import type { FileNeeds } from "./grant-file.ts";
import { isChosen, listNames, type ToolChoice, whyNone } from "./tool-file.ts";

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
export async function checkComponent(
  file: string,
  choice: ToolChoice,
  sandboxes: Sandboxes,
): Promise<Findings> {
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
