import type { JsonObject } from "../../../json/value.ts";
import type { WasmImplementation } from "../../../tool/implementations/implementations.ts";
import { passComponentGate, readComponentBytes } from "../component/gate.ts";
import { exportsFor } from "../component/jco/made-resources.ts";
import { argumentsSchema, NoJsonError } from "../exports/json-schema.ts";
import { type ImportAuthority, WASI_INTERFACES } from "../interfaces.ts";
import { readComponent } from "../linking/component-reader.ts";
import { type FunctionType, functionText } from "../linking/value-type.ts";

/** What is known about a component without running it. */
export interface ComponentInspection {
  readonly exports: readonly InspectedExport[];
  readonly imports: readonly InspectedImport[];
}

/** A function that a component exports. */
export type InspectedExport = {
  /** The name to pass as `wasm.export`. */
  readonly name: string;
  /** The function's type, in WIT syntax. */
  readonly type: string;
} & ({ readonly inputSchema: JsonObject } | { /** Why it cannot be a tool. */ readonly refused: string });

/** An interface that a component imports. */
export interface InspectedImport {
  /** The interface's name, without its version. */
  readonly name: string;
  /**
   * The capability that its use requires; `none` if it needs no capability, `ungrantable` if no grant can
   * permit it.
   */
  readonly needs: ImportAuthority;
}

/**
 * Returns the exports and imports of a component, without running it.
 *
 * @param component The path or `file:` URL of its file, or its bytes.
 * @param options The engine of the tools.
 * @throws {ToolPreparationError} if the component does not pass the checks of registration.
 */
export async function inspectComponent(
  component: WasmImplementation["component"],
  { engine }: Pick<WasmImplementation, "engine"> = {},
): Promise<ComponentInspection> {
  const binary = await readComponentBytes(component);
  const imports = passComponentGate(binary);
  const { plan } = await readComponent(binary);
  return {
    exports: Array.from(exportsFor(engine, plan.exports), ([name, { type }]) => inspectExport(name, type)),
    imports: imports.map((name) => ({ name, needs: WASI_INTERFACES.get(name) ?? "ungrantable" })),
  };
}

function inspectExport(name: string, type: FunctionType): InspectedExport {
  const described = { name, type: functionText(type) };
  try {
    return { ...described, inputSchema: argumentsSchema(type) };
  } catch (error) {
    if (error instanceof NoJsonError) return { ...described, refused: error.message };
    throw error;
  }
}
