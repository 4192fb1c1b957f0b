import type { Template } from "../../../tool-command.ts";

/** A project that is copied from an example of the package. */
export interface TemplateFiles {
  /** The example's folder. */
  readonly folder: string;
  /** Its own files. */
  readonly files: readonly string[];
  /** Files that it shares with others, by their names in the project. In the repository, these are links. */
  readonly shared: Readonly<Record<string, string>>;
  /** Whether the project needs `wit/` to build. */
  readonly wit: boolean;
}

const RUN_TOOL = { "run-tool.mjs": "examples/run-tool.mjs" };
const QUICKSTART = "examples/quickstart/wasm/assembly/";
const ASSEMBLY = {
  ...RUN_TOOL,
  "assembly/guest.ts": `${QUICKSTART}guest.ts`,
  "assembly/json.ts": `${QUICKSTART}json.ts`,
};
const COMMON = ["README.md", "package.json", "tool.test.mjs"];

/** The projects that `sandgate tool new` creates. */
export const TEMPLATES: Readonly<Record<Template, TemplateFiles>> = {
  javascript: {
    folder: "examples/tool-javascript/",
    files: [...COMMON, "tool.js"],
    shared: RUN_TOOL,
    wit: false,
  },
  typescript: {
    folder: "examples/tool-typescript/",
    files: [...COMMON, "tool.ts"],
    shared: RUN_TOOL,
    wit: false,
  },
  "wasm-javascript": {
    folder: "examples/wasm-tool-javascript/",
    files: [...COMMON, "build.mjs", "csv.js", "tool.js"],
    shared: RUN_TOOL,
    wit: true,
  },
  "wasm-c": {
    folder: "examples/wasm-tool-c/",
    files: [...COMMON, "build.mjs", "json.c", "json.h", "sandgate_tool.c", "sandgate_tool.h", "tool.c"],
    shared: RUN_TOOL,
    wit: true,
  },
  "wasm-assemblyscript": {
    folder: "examples/wasm-tool-assemblyscript/",
    files: [...COMMON, "assembly/index.ts"],
    shared: ASSEMBLY,
    wit: false,
  },
  "wasm-rust": {
    folder: "examples/wasm-tool-rust/",
    files: [...COMMON, "Cargo.toml", "Cargo.lock", "src/lib.rs", "src/json.rs", "src/sandgate.rs"],
    shared: RUN_TOOL,
    wit: false,
  },
  "wasm-key-value": {
    folder: "examples/wasm-tool-key-value/",
    files: [...COMMON, "assembly/index.ts", "assembly/store.ts"],
    shared: ASSEMBLY,
    wit: false,
  },
};
