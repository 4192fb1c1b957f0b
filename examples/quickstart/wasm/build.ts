import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { componentEmbed, componentNew, parse, print } from "@bytecodealliance/jco-transpile/wasm-tools";
import asc from "assemblyscript/asc";

const EXAMPLE = fileURLToPath(new URL("assembly/index.ts", import.meta.url));
const OUTPUT = fileURLToPath(new URL("../.cache/tools.wasm", import.meta.url));
const WIT = new URL("../../../wit/tool.wit", import.meta.url);

/** The WIT world that a component targets. */
export interface World {
  readonly name: string;
  /** The WIT that declares it, which is appended to `wit/tool.wit`. */
  readonly wit: string;
}

/**
 * Builds a component from AssemblyScript: compiles it, embeds the world's WIT, and wraps the core module in a
 * component.
 *
 * @param entryFile Exports `describe`, `call` and `cabi_realloc`. Default: that of this example.
 * @param world Default: `tool`.
 * @returns the path of the component, which is `outFile`.
 */
export async function buildComponent(
  entryFile: string = EXAMPLE,
  outFile: string = OUTPUT,
  world: World = { name: "tool", wit: "" },
): Promise<string> {
  await mkdir(dirname(outFile), { recursive: true });
  await writeFile(outFile, await wrap(await compile(entryFile), world));
  return outFile;
}

/** Wraps a core module in a component. */
export async function wrap(core: Uint8Array, { name: world, wit }: World): Promise<Uint8Array> {
  const binary = await parse(withGuestExport(await print(core)));
  const witSource = `${await readFile(WIT, "utf8")}\n${wit}`;
  return componentNew(await componentEmbed({ binary, witSource, world, stringEncoding: "utf8" }));
}

/** Compiles AssemblyScript to a core module without imports, so a failed assertion traps. */
async function compile(entryFile: string): Promise<Uint8Array> {
  let binary: Uint8Array | undefined;
  const { error, stderr } = await asc.main(
    [entryFile, "--outFile", "core.wasm", "--optimize", "--runtime", "stub", "--use", "abort="],
    {
      writeFile(_name, contents) {
        if (typeof contents !== "string") binary = contents;
      },
    },
  );
  if (error !== null || binary === undefined) throw new Error(`${entryFile} does not compile:\n${stderr}`);
  return binary;
}

/** Renames the exports to `INTERFACE#FUNCTION` as components need it, which is not an identifier in AssemblyScript. */
function withGuestExport(text: string): string {
  return text.replaceAll(/\(export "(call|describe)"/g, '(export "sandgate:tool/guest@0.1.0#$1"');
}
