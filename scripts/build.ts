/**
 * Builds the package: `dist` from `src`, and nothing that was there before.
 *
 * The library and the command share chunks: what is always loaded is one file, since each file takes Node as long as
 * thousands of its lines, and what is loaded on use is a few more. A thread and a child load one file, and nothing of
 * the library. Packages that we depend on stay packages. Names stay, for stack traces; the source maps have the rest.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, globSync, rmSync } from "node:fs";
import { build, type InputOptions, type OutputOptions } from "rolldown";

/** What threads and children start with: `entryFile` finds each where it is in `src`. */
const ALONE = globSync(
  [
    "sandboxes/threads/thread-main.ts",
    "sandboxes/**/worker-entry.ts",
    "sandboxes/wasm/component/{transpile-child,resource-watch}.ts",
  ],
  { cwd: "src" },
).map((file) => file.replace(/\.ts$/, ""));

const input: InputOptions = {
  platform: "node",
  external: /^[^./]/,
  onLog: (_level, log) => {
    throw new Error(`rolldown: ${log.message}`);
  },
};
const output: OutputOptions = {
  dir: "dist",
  entryFileNames: "[name].js",
  // As deep as the rooms: `entryFile` and `PACKAGE_FOLDER` count on it.
  chunkFileNames: "chunks/[name].js",
  comments: { jsdoc: false },
  minifyInternalExports: false,
  sourcemap: true,
};

rmSync("dist", { recursive: true, force: true });
await build({
  ...input,
  input: { "entry/index": "src/entry/index.ts", "cli/main": "src/cli/main.ts" },
  // With all that it imports.
  output: { ...output, codeSplitting: { groups: [{ name: "core", test: /\/src\/entry\/index\.ts$/ }] } },
});
for (const name of ALONE) {
  await build({ ...input, input: { [name]: `src/${name}.ts` }, output: { ...output, codeSplitting: false } });
}
execFileSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
chmodSync("dist/cli/main.js", 0o755);
