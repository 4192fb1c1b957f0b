import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { rolldown } from "rolldown";
import type { Sandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { GrantedTool } from "../sandboxes/quickjs/granted-tool.ts";
import type { PackageUse } from "./uses.ts";

/** What became of a package in the sandbox. */
export interface PackageResult {
  readonly name: string;
  readonly version: string;
  /** The size of the bundle, not minified. */
  readonly bundleBytes: number;
  /** Why the package does not run; `undefined` if it returned what it returns in Node.js. */
  readonly problem: string | undefined;
}

/**
 * Bundles the tool that uses a package, and calls it in the sandbox and in Node.js.
 *
 * @param folder Where the package is installed, and the bundle is written.
 */
export async function runPackage(
  { name, version, source }: PackageUse,
  folder: string,
  sandboxes: Sandboxes,
): Promise<PackageResult> {
  const bundle = join(folder, "bundles", `${name}.mjs`);
  await mkdir(join(folder, "bundles"), { recursive: true });
  const input = join(folder, "bundles", `${name}-tool.js`);
  await writeFile(input, source);
  // Some packages have another file for Node.js, which imports its modules.
  await using bundler = await rolldown({ input, platform: "browser", logLevel: "silent" });
  await bundler.write({ file: bundle, codeSplitting: false });
  const { size: bundleBytes } = await stat(bundle);
  const expected = await (await import(pathToFileURL(bundle).href)).default({});
  const { output, error } = await new GrantedTool(sandboxes, { file: bundle }).call({
    capabilities: { random: true },
    limits: { wallTimeMs: 30_000 },
  });
  const isSame = isDeepStrictEqual(JSON.parse(JSON.stringify(output)), JSON.parse(JSON.stringify(expected)));
  const problem = error?.message ?? (isSame ? undefined : `returned ${JSON.stringify(output)}`);
  return { name, version, bundleBytes, problem };
}
