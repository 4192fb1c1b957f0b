import type { JsonObject } from "../../../json/value.ts";
import type { WasmImplementation } from "../../../tool/wasm-implementation.ts";
import { readComponentBytes } from "../component/bytes.ts";
import { passComponentGate } from "../component/gate.ts";
import { argumentsSchema, NoJsonError } from "../exports/json-schema.ts";
import { type ImportAuthority, WASI_INTERFACES } from "../interfaces.ts";
import { readComponent } from "../linking/component-reader.ts";
import { type FunctionType, functionText } from "../linking/value-type.ts";

/** What there is to know of a component before anything of it runs. */
export interface ComponentInspection {
  readonly exports: readonly InspectedExport[];
  readonly imports: readonly InspectedImport[];
}

/** A function that a component exports. */
export type InspectedExport = {
  /** As `wasm.export` takes it. */
  readonly name: string;
  /** In WIT. */
  readonly type: string;
} & ({ readonly inputSchema: JsonObject } | { /** Why it cannot be a tool. */ readonly refused: string });

/** An interface that a component imports. */
export interface InspectedImport {
  /** Without version. */
  readonly name: string;
  /** The capability that a grant must give for it to work; `none`, or `ungrantable` where no grant can. */
  readonly needs: ImportAuthority;
}

/**
 * Tells what a component exports and imports.
 *
 * @param component The path or `file:` URL of its file, or its bytes.
 * @throws {ToolPreparationError} when it does not pass the gates that registration has.
 */
export async function inspectComponent(
  component: WasmImplementation["component"],
): Promise<ComponentInspection> {
  const binary = await readComponentBytes(component);
  const imports = passComponentGate(binary);
  const { plan } = readComponent(binary);
  return {
    exports: Array.from(plan.exports, ([name, { type }]) => inspectExport(name, type)),
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
