/** ajv, and the packages that it requires. */
export const AJV_PACKAGES: readonly string[] = [
  "ajv",
  "ajv-formats",
  "fast-deep-equal",
  "fast-uri",
  "json-schema-traverse",
];

/** The threads of QuickJS, and the packages that are bundled into each. The engine's binary is not. */
export const QUICKJS_THREADS: Readonly<Record<string, readonly string[]>> = {
  "sandboxes/quickjs/thread/worker-entry": [
    "quickjs-emscripten",
    "quickjs-emscripten-core",
    "@jitl/quickjs-ffi-types",
    "@jitl/quickjs-wasmfile-release-sync",
    "@jridgewell/sourcemap-codec",
  ],
  "sandboxes/quickjs/check/worker-entry": ["acorn", "eslint-scope", "esrecurse", "estraverse"],
  "programs/check/worker-entry": ["acorn"],
};

/** Parts of jco, which validate components and generate JavaScript: `vendored-file.ts`. */
export const JCO = "@bytecodealliance/jco-transpile";

/** Those whose files are copied, and those of the console's page. */
const OTHERS = ["web-streams-polyfill", "preact", "@preact/signals", "@preact/signals-core"];

/** The packages whose code the package has in its own files. */
export const BUNDLED: ReadonlySet<string> = new Set([
  ...AJV_PACKAGES,
  ...Object.values(QUICKJS_THREADS).flat(),
  JCO,
  ...OTHERS,
]);
