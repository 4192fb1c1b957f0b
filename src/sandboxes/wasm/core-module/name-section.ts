import { ToolPreparationError } from "../../contract/sandbox.ts";
import { BinaryReader } from "./binary-reader.ts";

/** The name of the custom section that names things (core specification, appendix "Name Section"). */
export const NAME_SECTION = "name";

/** Subsections with the name of the module and with those of functions. */
export const MODULE_NAME = 0;
export const FUNCTION_NAMES = 1;

/** The stack of each error that a component causes has up to ten names. */
const MAX_NAME_BYTES = 32 * 1_024;

/**
 * Checks the names in a custom section that V8 shows in stack traces.
 *
 * @param body The section, beginning with its own name.
 * @throws {ToolPreparationError} if one is too long.
 */
export function checkNames(body: Uint8Array): void {
  const longest = longestName(body);
  if (longest <= MAX_NAME_BYTES) return;
  throw new ToolPreparationError(
    `a core module has a name of ${longest} bytes for debugging: at most ${MAX_NAME_BYTES} are allowed. Remove its ` +
      "names, for example with 'wasm-tools strip'",
  );
}

/** V8 takes the names before the first one that is not well-formed. */
function longestName(body: Uint8Array): number {
  let longest = 0;
  try {
    const reader = new BinaryReader(body);
    if (reader.name() !== NAME_SECTION) return 0;
    while (!reader.isAtEnd) {
      const id = reader.byte();
      const content = new BinaryReader(reader.bytes(reader.u32()));
      if (id === MODULE_NAME) longest = Math.max(longest, content.u32());
      if (id !== FUNCTION_NAMES) continue;
      for (let left = content.u32(); left > 0; left--) {
        content.u32();
        const length = content.u32();
        longest = Math.max(longest, length);
        content.bytes(length);
      }
    }
  } catch {
    // V8 ignores the rest, too.
  }
  return longest;
}
