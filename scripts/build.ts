/**
 * Builds the package: deletes `dist`, and bundles `src` into it.
 *
 * The library and the command share chunks. Code that is always loaded is one file, because loading a file takes Node
 * as long as running thousands of its lines; code that is loaded on demand is in a few other files. A thread or a
 * child process loads a single file without the rest of the library. Dependencies are not bundled, except ajv, the
 * JavaScript of QuickJS and what checks its tools: Node takes much longer to load their many files than one. Names are not minified, for readable stack traces; everything else is in the source maps.
 */
import { chmodSync, copyFileSync, globSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { build, type InputOptions, type OutputOptions } from "rolldown";
import { JCO, LIBRARIES, QUICKJS_THREADS } from "./bundled-packages.ts";
import { buildConsole } from "./console.ts";
import { writeDeclarations } from "./declarations.ts";

/** The package's entry points, by their file names in `dist`. */
const ENTRIES = Object.fromEntries(
  globSync("entry/*.ts", { cwd: "src" }).map((file) => [file.replace(/\.ts$/, ""), `src/${file}`]),
);

/** The entry files of threads and child processes. They have the same paths as in `src`, where `entryFile` finds them. */
const ALONE = globSync(
  [
    "sandboxes/threads/thread-main.ts",
    "sandboxes/**/worker-entry.ts",
    "programs/check/worker-entry.ts",
    "sandboxes/process/landlock/child/{supervisor,confined-start,probe}.ts",
    "sandboxes/microvm/qemu/seal-memory.ts",
    "sandboxes/process/long-running/child/{guardian,plain-guardian}.ts",
    "sandboxes/wasm/validation/{compile-child,resource-watch}.ts",
    "sandboxes/wasm/component/jco/generate-child.ts",
    "guard/hook.ts",
  ],
  { cwd: "src" },
).map((file) => file.replace(/\.ts$/, ""));

/** Other entry files, which share code with the library. A thread that checks schemas is one of them, as ajv is a file. */
const SHARING = [
  "cli/main",
  "journal/diff/worker-entry",
  "journal/diff/latest-worker-entry",
  "journal/verify/worker-entry",
  "journal/overview/worker-entry",
];

const JCO_MODULES = ["vendor/js-component-bindgen-component", "vendor/wasm-tools"];
const JCO_FILES = [
  "wasm-tools.core.wasm",
  "wasm-tools.core2.wasm",
  "js-component-bindgen-component.core.wasm",
  "js-component-bindgen-component.core2.wasm",
];

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
  // `entryFile` and `PACKAGE_FOLDER` rely on chunks being as deep in `dist` as modules are in `src`.
  chunkFileNames: "chunks/[name].js",
  comments: { jsdoc: false },
  minifyInternalExports: false,
};

/** Returns the licences of packages whose code is bundled, as a comment. */
function licences(packages: readonly string[]): string {
  const texts = packages.map((name) => {
    const [file = ""] = globSync(`node_modules/${name}/{LICENSE*,README.md}`).toSorted();
    return `${name}\n\n${readFileSync(file, "utf8").replaceAll("*/", "* /")}`;
  });
  return `/*! This file contains:\n\n${texts.join("\n\n")}*/`;
}

rmSync("dist", { recursive: true, force: true });
await build({
  ...input,
  input: { ...ENTRIES, ...Object.fromEntries(SHARING.map((name) => [name, `src/${name}.ts`])) },
  // The core chunk has everything that "sandgate" imports statically.
  output: { ...output, codeSplitting: { groups: [{ name: "core", test: /\/src\/entry\/index\.ts$/ }] } },
});
for (const name of ALONE) {
  if (name in QUICKJS_THREADS) continue;
  await build({ ...input, input: { [name]: `src/${name}.ts` }, output: { ...output, codeSplitting: false } });
}
for (const [name, packages] of Object.entries(LIBRARIES)) {
  await build({
    ...input,
    external: [],
    input: { [name]: `src/${name}.ts` },
    output: { ...output, codeSplitting: false, minify: true, banner: licences(packages) },
  });
}
for (const [name, packages] of Object.entries(QUICKJS_THREADS)) {
  await build({
    ...input,
    external: /^node:/,
    input: { [name]: `src/${name}.ts` },
    output: { ...output, codeSplitting: false, banner: licences(packages) },
  });
}
for (const module of JCO_MODULES) {
  await build({
    ...input,
    external: /^node:/,
    // The file begins with a directive of its own, which has no effect in Node.
    checks: { moduleLevelDirective: false },
    input: { [module]: `node_modules/${JCO}/${module}.js` },
    plugins: [
      {
        name: "without-wasi",
        resolveId: (id) =>
          id.startsWith("@bytecodealliance/preview2-shim/") ? resolve("scripts/vendor/wasi.ts") : null,
      },
    ],
    output: { ...output, codeSplitting: false, minify: true, banner: licences([JCO]) },
  });
}
for (const file of JCO_FILES) copyFileSync(`node_modules/${JCO}/vendor/${file}`, `dist/vendor/${file}`);
copyFileSync(`node_modules/${JCO}/LICENSE`, "dist/vendor/LICENSE");
// Read by the thread of QuickJS for the tools that use streams. Its licence is the comment at its beginning.
copyFileSync(
  "node_modules/web-streams-polyfill/dist/ponyfill.js",
  "dist/sandboxes/quickjs/thread/web-streams.js",
);
await buildConsole("dist/console");
await writeDeclarations("dist");
chmodSync("dist/cli/main.js", 0o755);
