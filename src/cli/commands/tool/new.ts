import { readdir, readFile } from "node:fs/promises";
import { PACKAGE_FOLDER } from "../../../base/package-folder.ts";
import type { ExitCode, Terminal } from "../../terminal/terminal.ts";
import type { Template, ToolCommand } from "../../tool-command.ts";
import { writeNewFiles } from "../new-files.ts";

/** A project that is copied from an example of the package. */
interface TemplateFiles {
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
const TEMPLATES: Readonly<Record<Template, TemplateFiles>> = {
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

/** Creates a project with a tool and its test. If one of its files exists, nothing is written. */
export async function newTool(
  { directory, template }: Extract<ToolCommand, { name: "tool new" }>,
  terminal: Terminal,
): Promise<ExitCode> {
  const next = `cd ${directory} && npm install && npm test`;
  return writeNewFiles(directory, await projectFiles(template), next, terminal);
}

/** Returns the texts of a new project's files by path. */
async function projectFiles(template: Template): Promise<ReadonlyMap<string, string>> {
  const { folder, files, shared, wit } = TEMPLATES[template];
  const sources = new Map(Object.entries(shared));
  for (const name of files) sources.set(name, folder + name);
  const names = wit ? (await readdir(new URL("wit/", PACKAGE_FOLDER))).sort() : [];
  for (const name of names) sources.set(`wit/${name}`, `wit/${name}`);
  const texts = new Map([[".gitignore", "node_modules/\ndist/\ntarget/\n"]]);
  for (const [name, source] of sources) {
    texts.set(name, await readFile(new URL(source, PACKAGE_FOLDER), "utf8"));
  }
  return texts;
}
