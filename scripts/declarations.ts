import { execFileSync } from "node:child_process";
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";
import { dts } from "rolldown-plugin-dts";

/** The header of a class that implements something, which TypeScript writes on one line. */
const IMPLEMENTS = /^((?:export )?(?:declare )?(?:abstract )?class .*?) implements .*\{$/gm;

/**
 * Writes the types of the entry points to `dist`: only those that users can reach. Inner ones would need packages that
 * users do not have, and members that `stripInternal` removes.
 */
export async function writeDeclarations(dist: string): Promise<void> {
  const inner = join(dist, "declarations");
  execFileSync("tsc", ["-p", "tsconfig.build.json", "--outDir", inner], { stdio: "inherit" });
  // The members that inner interfaces ask for are not declared. A class is assignable to an interface without saying so.
  for (const file of globSync(`${inner}/**/*.d.ts`)) {
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(IMPLEMENTS, "$1 {"));
  }
  await build({
    input: Object.fromEntries(
      globSync("entry/*.d.ts", { cwd: inner }).map((file) => [
        file.replace(/\.d\.ts$/, ""),
        `./${inner}/${file}`,
      ]),
    ),
    external: (id) => !/^[./]/.test(id),
    // It warns if the machine is slow.
    checks: { pluginTimings: false },
    plugins: [dts({ dtsOnly: true, tsconfig: false, generator: "oxc" })],
    output: { dir: dist, minifyInternalExports: false, chunkFileNames: "types/[name].ts" },
    onLog: (_level, log) => {
      throw new Error(`rolldown: ${log.message}`);
    },
  });
  rmSync(inner, { recursive: true });
  // TypeScript 7 includes no types of packages by itself, and these use those of Node.js.
  for (const file of globSync(`${dist}/entry/*.d.ts`))
    writeFileSync(file, `/// <reference types="node" />\n${readFileSync(file, "utf8")}`);
}
