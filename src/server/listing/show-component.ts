import { toLine } from "../../rendering/shown.ts";
import type { WasmImplementation } from "../../tool/implementations/wasm-implementation.ts";

/** What a component imports and exports, one line each. */
export interface ShownComponent {
  readonly imports: readonly string[];
  readonly exports: readonly string[];
  /** The number of further imports and exports. Absent if all are shown. */
  readonly more?: number;
}

/** The most lines of imports, and of exports. */
const MAX_LINES = 200;
const MAX_CHARS = 500;

/** Inspects a component, which does not run. Returns `undefined` if there is none, or if it cannot be inspected. */
export async function showComponent(
  implementation: WasmImplementation | undefined,
): Promise<ShownComponent | undefined> {
  if (implementation === undefined) return undefined;
  // Loaded only for those who have components.
  const { inspectComponent } = await import("../../sandboxes/wasm/tools/inspect-component.ts");
  try {
    const { imports, exports } = await inspectComponent(implementation.component, implementation);
    const more = Math.max(0, imports.length - MAX_LINES) + Math.max(0, exports.length - MAX_LINES);
    return {
      imports: imports.slice(0, MAX_LINES).map(({ name, needs }) => toLine(`${name} (${needs})`, MAX_CHARS)),
      exports: exports.slice(0, MAX_LINES).map(({ name, type }) => toLine(`${name}: ${type}`, MAX_CHARS)),
      ...(more > 0 && { more }),
    };
  } catch {
    // Calls of the tool report why its component cannot be used.
    return undefined;
  }
}
