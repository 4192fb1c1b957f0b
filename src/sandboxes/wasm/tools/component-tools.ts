import type { JsonObject } from "../../../json/value.ts";
import type { WasmImplementation } from "../../../tool/wasm-implementation.ts";
import type { SandboxRouter } from "../../contract/sandbox.ts";
import { readComponentBytes } from "../component/bytes.ts";
import { passComponentGate } from "../component/gate.ts";
import { GUEST_CALL, GUEST_DESCRIBE } from "../exports/guest-interface.ts";
import { argumentsSchema, NoJsonError } from "../exports/json-schema.ts";
import { readComponent } from "../linking/component-reader.ts";
import type { ComponentFunction } from "../linking/link-plan.ts";
import { functionText } from "../linking/value-type.ts";
import { describedTools } from "./described-tools.ts";

/** A tool of a component: `registry.register` takes it as it is, and checks it. */
export interface ComponentTool {
  /** The function's name; where several interfaces have it, the interface's name and an underscore before it. */
  readonly name: string;
  /** The function's type in WIT: a component's binary holds no documentation. */
  readonly description: string;
  /** Draft 2020-12, derived from the types of the parameters. */
  readonly inputSchema: JsonObject;
  readonly wasm: WasmImplementation;
}

/** The tools of a component. */
export interface ComponentTools {
  readonly tools: readonly ComponentTool[];
  /** The functions that cannot be tools, and why. */
  readonly refused: readonly { readonly export: string; readonly reason: string }[];
}

/** What every provider takes as a tool's name. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The tools of a component. One of the world `sandgate:tool` is asked for them, in the sandbox and without any
 * grant; of another, they are its exported functions, and nothing of it runs. Give a tool another name, a
 * description or `sideEffects` by spreading it: `{ ...tool, sideEffects: "none" }`.
 *
 * @param component The path or `file:` URL of its file, or its bytes.
 * @param sandboxes Where a component of the world `sandgate:tool` is asked.
 * @throws {ToolPreparationError} when it does not pass the gates that registration has, or does not answer.
 */
export async function componentTools(
  component: WasmImplementation["component"],
  sandboxes: SandboxRouter,
): Promise<ComponentTools> {
  const binary = await readComponentBytes(component);
  passComponentGate(binary);
  const { plan } = readComponent(binary);
  const tools: ComponentTool[] = [];
  const refused: { export: string; reason: string }[] = [];
  if (plan.exports.has(GUEST_CALL)) tools.push(...(await describedTools(component, sandboxes)));
  const names = toolNames([...plan.exports.keys()]);
  for (const [exported, { type }] of plan.exports) {
    if (exported === GUEST_CALL || exported === GUEST_DESCRIBE) continue;
    const name = names.get(exported) ?? "";
    const made = makeTool(exported, name, type, component);
    if (typeof made === "string") refused.push({ export: exported, reason: made });
    else tools.push(made);
  }
  return { tools, refused };
}

/** A tool, or the reason why there is none. */
function makeTool(
  exported: string,
  name: string,
  type: ComponentFunction["type"],
  component: WasmImplementation["component"],
): ComponentTool | string {
  try {
    const inputSchema = argumentsSchema(type);
    if (!TOOL_NAME.test(name))
      return `'${name.slice(0, 80)}' is no name for a tool: register it under another one`;
    const description = `${exported}: ${functionText(type)}`;
    return { name, description, inputSchema, wasm: { component, export: exported } };
  } catch (error) {
    if (error instanceof NoJsonError) return error.message;
    throw error;
  }
}

/** A name for each export: as short as tells it from the others. */
function toolNames(exports: readonly string[]): ReadonlyMap<string, string> {
  const forms = [shortName, interfaceName, fullName];
  const names = new Map<string, string>();
  let left = exports;
  for (const form of forms) {
    const taken = new Map<string, number>(Array.from(names.values(), (name) => [name, 1]));
    for (const exported of left) taken.set(form(exported), (taken.get(form(exported)) ?? 0) + 1);
    for (const exported of left) if (taken.get(form(exported)) === 1) names.set(exported, form(exported));
    left = left.filter((exported) => !names.has(exported));
  }
  return names;
}

function shortName(exported: string): string {
  return exported.slice(exported.lastIndexOf("#") + 1);
}

/** `docs:adder/add@0.1.0#sum` becomes `add_sum`. */
function interfaceName(exported: string): string {
  const [, name = ""] = /\/([^@#]+)(?:@[^#]*)?#/.exec(exported) ?? [];
  return name === "" ? shortName(exported) : `${name}_${shortName(exported)}`;
}

function fullName(exported: string): string {
  return exported.replaceAll(/[^A-Za-z0-9-]+/g, "_");
}
