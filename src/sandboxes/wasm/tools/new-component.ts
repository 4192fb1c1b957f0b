import { pathToFileURL } from "node:url";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import { GUEST_CALL, GUEST_DESCRIBE } from "../exports/guest-interface.ts";
import { vendoredFile } from "../vendored-file.ts";

/** What is used of wasm-tools. Its errors have their messages in `payload`. */
interface WasmTools {
  componentEmbed(options: {
    readonly binary: Uint8Array;
    readonly witSource: string;
    readonly world: string;
    readonly stringEncoding: "utf8";
  }): Uint8Array;
  componentNew(module: Uint8Array, adapters: readonly []): Uint8Array;
  parse(text: string): Uint8Array;
  print(binary: Uint8Array): string;
}

/** The world that a module is wrapped for: everything of `sandgate:tool`. A component imports only what its module does. */
const WORLD = "everything";
const EVERYTHING = `\nworld ${WORLD} { include tool; import tools; import key-value; }\n`;

/** The functions of the world's guest, by the names that languages can give to functions. */
const SHORT_NAMES = new Map([
  ["call", GUEST_CALL],
  ["describe", GUEST_DESCRIBE],
]);

/**
 * Makes a component of the world `sandgate:tool` from a core module.
 *
 * @param core The module. It exports the functions of the interface `guest` in the canonical ABI, with UTF-8 strings, by
 *   their full names or as `call` and `describe`.
 * @param wit The text of `wit/tool.wit`.
 * @throws {ToolPreparationError} if it cannot be a component of the world. The message says why.
 */
export async function newComponent(core: Uint8Array, wit: string): Promise<Uint8Array> {
  const tools = await loadWasmTools();
  try {
    const binary = await withFullNames(core, tools);
    const witSource = wit + EVERYTHING;
    return tools.componentNew(
      tools.componentEmbed({ binary, witSource, world: WORLD, stringEncoding: "utf8" }),
      [],
    );
  } catch (error) {
    throw new ToolPreparationError(`it cannot become a component: ${reasonOf(error)}`);
  }
}

async function loadWasmTools(): Promise<WasmTools> {
  const { $init, tools } = await import(pathToFileURL(vendoredFile("wasm-tools.js")).href);
  await $init;
  return tools;
}

/** Gives exports that have short names their full names, which are no identifiers in some languages. */
async function withFullNames(core: Uint8Array, { parse, print }: WasmTools): Promise<Uint8Array> {
  const names = WebAssembly.Module.exports(await WebAssembly.compile(core as BufferSource)).map(
    ({ name }) => name,
  );
  const short = names.filter((name) => SHORT_NAMES.has(name));
  if (short.length === 0) return core;
  let text = print(core);
  for (const name of short) {
    // The text of a string has its quotation marks escaped, so this is an export.
    text = text.replace(`(export "${name}" (func`, `(export "${SHORT_NAMES.get(name)}" (func`);
  }
  return parse(text);
}

/** Returns the message of an error. That of wasm-tools is in `payload`. */
function reasonOf(error: unknown): string {
  if (typeof error === "object" && error !== null && "payload" in error) return String(error.payload);
  return error instanceof Error ? error.message : String(error);
}
