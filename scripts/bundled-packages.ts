/** Files that are loaded on first use, and the packages that are bundled into each: with ajv, those that it requires. */
export const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  "base/ajv-library": ["ajv", "ajv-formats", "fast-deep-equal", "fast-uri", "json-schema-traverse"],
  "sandboxes/quickjs/acorn-library": ["acorn"],
};

/** The threads of QuickJS, and the packages that are bundled into each. The engine's binary is not. */
export const QUICKJS_THREADS: Readonly<Record<string, readonly string[]>> = {
  "sandboxes/quickjs/thread/worker-entry": [
    "quickjs-emscripten",
    "quickjs-emscripten-core",
    "@jitl/quickjs-ffi-types",
    "@jitl/quickjs-wasmfile-release-sync",
    "@jridgewell/sourcemap-codec",
  ],
  "sandboxes/quickjs/check/worker-entry": ["eslint-scope", "esrecurse", "estraverse"],
};

/** Parts of jco, which validate components and generate JavaScript: `vendored-file.ts`. */
export const JCO = "@bytecodealliance/jco-transpile";

/** Those whose files are copied, and those of the console's page. */
const OTHERS = ["web-streams-polyfill", "preact", "@preact/signals", "@preact/signals-core"];

/** The packages whose code the package has in its own files. */
export const BUNDLED: ReadonlySet<string> = new Set([
  ...Object.values(LIBRARIES).flat(),
  ...Object.values(QUICKJS_THREADS).flat(),
  JCO,
  ...OTHERS,
]);
