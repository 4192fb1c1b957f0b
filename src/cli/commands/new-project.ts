import { lstat, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PACKAGE_FOLDER } from "../../base/package-folder.ts";
import { joinShown, type ShownText, shown } from "../../rendering/shown.ts";
import { EXIT_BAD_INPUT, EXIT_OK, type ExitCode, ownCommand, print, type Terminal } from "../terminal.ts";
import type { Template, ToolCommand } from "../tool-command.ts";

/** The files of a project, and where they are in the package. */
const FILES = {
  "sandgate.yaml": "examples/init/sandgate.yaml",
  "sandgate.policy-test.yaml": "examples/init/sandgate.policy-test.yaml",
  "tools/count-words.js": "examples/tool-javascript/tool.js",
  "message.json": "examples/init/message.json",
} as const;

/** A project that is copied from an example of the package. */
interface TemplateFiles {
  /** The example's folder. */
  readonly folder: string;
  /** Its own files. */
  readonly files: readonly string[];
  /** Files that several examples share, by their names in the project. In the repository, these are links. */
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
  const next = shown`cd ${directory} && npm install && npm test`;
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

const POLICY_FILES = ["README.md", "sandgate.yaml", "sandgate.policy-test.yaml", "tools.mjs"];

/**
 * Creates a config with a tool, a policy and its test, and a message to dispatch. It overwrites nothing.
 *
 * @param policy A folder of `examples/policies` to copy in their place.
 */
export async function init(
  { directory, policy }: { readonly directory: string; readonly policy: string | undefined },
  terminal: Terminal,
): Promise<ExitCode> {
  const files = new Map<string, string>();
  const sources =
    policy === undefined
      ? Object.entries(FILES)
      : POLICY_FILES.map((name) => [name, `examples/policies/${policy}/${name}`] as const);
  for (const [name, source] of sources)
    files.set(name, await readFile(new URL(source, PACKAGE_FOLDER), "utf8"));
  const own = ownCommand();
  const second = policy === undefined ? shown`dispatch message.json` : shown`policy attack`;
  const commands = shown`${own} policy test && ${own} ${second}`;
  const next = directory === "." ? commands : shown`cd ${directory} && ${commands}`;
  return writeNewFiles(directory, files, next, terminal);
}

/**
 * Writes new files and prints their paths. If one of them exists, nothing is written.
 *
 * @param files Texts by paths below the directory.
 * @param next What to do next.
 */
export async function writeNewFiles(
  directory: string,
  files: ReadonlyMap<string, string>,
  next: ShownText,
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  try {
    for (const name of files.keys()) {
      if (await exists(join(directory, name))) throw new Error(`${join(directory, name)} already exists`);
    }
    for (const [name, text] of files) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      // Fails even if the file was created in the meantime.
      await writeFile(join(directory, name), text, { flag: "wx" });
    }
  } catch (error) {
    await print(stderr, shown`sandgate: cannot create the files: ${(error as Error).message}`);
    return EXIT_BAD_INPUT;
  }
  const written = Array.from(files.keys(), (name) => shown`${join(directory, name)}`);
  await print(stdout, joinShown(written, "\n"));
  await print(stderr, shown`Next: ${next}`);
  return EXIT_OK;
}

/** Returns whether a path exists, also as a dangling link. */
async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
