import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { componentEmbed, componentNew, parse, print } from "@bytecodealliance/jco-transpile/wasm-tools";
import asc from "assemblyscript/asc";

const EXAMPLE = fileURLToPath(new URL("assembly/index.ts", import.meta.url));
const OUTPUT = fileURLToPath(new URL("../.cache/tools.wasm", import.meta.url));
const WIT = new URL("../../../wit/tool.wit", import.meta.url);

/** A world that a component is built for. */
export interface World {
  readonly name: string;
  /** The WIT that declares it, beside what is in `wit/tool.wit`. */
  readonly wit: string;
}

/**
 * Builds a component of the world `sandgate:tool` from AssemblyScript: compiles it, describes it with the
 * world's WIT, and wraps it up.
 *
 * @param entryFile Exports `describe`, `call` and `cabi_realloc`. Default: this example's.
 * @param world Default: `tool`, which imports nothing.
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

/** Makes a component of a core module. */
export async function wrap(core: Uint8Array, { name: world, wit }: World): Promise<Uint8Array> {
  const binary = await parse(withGuestExport(await print(core)));
  const witSource = `${await readFile(WIT, "utf8")}\n${wit}`;
  return componentNew(await componentEmbed({ binary, witSource, world, stringEncoding: "utf8" }));
}

/** Compiles AssemblyScript to a core module without imports: a failed assertion is a trap. */
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

/** A component's core module exports a function of an interface under a name that no language can write. */
function withGuestExport(text: string): string {
  return text.replaceAll(/\(export "(call|describe)"/g, '(export "sandgate:tool/guest@0.1.0#$1"');
}
