import type { WasmImplementation } from "../../../tool/implementations/wasm-implementation.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import type { ComponentFunction } from "../linking/link-plan.ts";
import { GUEST_CALL, GUEST_INTERFACE, isGuestCall } from "./guest-interface.ts";
import { argumentsSchema, NoJsonError } from "./json-schema.ts";

/** How many exports an error message lists. */
const MAX_NAMED = 20;

/**
 * Returns the name of the exported function that runs a tool.
 *
 * @throws {ToolPreparationError} if the component does not export it, or it cannot be called with JSON.
 */
export function findExport(
  exports: ReadonlyMap<string, ComponentFunction>,
  implementation: WasmImplementation,
): string {
  const name = implementation.export ?? GUEST_CALL;
  const found = exports.get(name);
  if (found === undefined) throw new ToolPreparationError(explainMissing(exports, implementation));
  if (name !== GUEST_CALL) checkCallable(name, found);
  else if (!isGuestCall(found.type)) {
    throw new ToolPreparationError(
      `its 'call' does not have the type that '${GUEST_INTERFACE}' declares (see wit/tool.wit)`,
    );
  }
  return name;
}

function checkCallable(name: string, { type }: ComponentFunction): void {
  try {
    argumentsSchema(type);
  } catch (error) {
    if (!(error instanceof NoJsonError)) throw error;
    throw new ToolPreparationError(`its export '${name}' cannot be a tool: ${error.message}`);
  }
}

function explainMissing(
  exports: ReadonlyMap<string, ComponentFunction>,
  implementation: WasmImplementation,
): string {
  const names = [...exports.keys()].slice(0, MAX_NAMED).map((name) => `'${name.slice(0, 128)}'`);
  const has = names.length === 0 ? "it exports no functions" : `it exports ${names.join(", ")}`;
  if (implementation.export !== undefined) return `it does not export '${implementation.export}': ${has}`;
  return `it does not export '${GUEST_INTERFACE}' (see wit/tool.wit), and 'export' is not set: ${has}`;
}
