import { readdir } from "node:fs/promises";
import { defineTool, ToolRegistry } from "sandgate";

/** Where to find the tools that are not part of this process. */
export interface ToolLocations {
  /** The path of the Wasm component, built from `wasm/assembly`. */
  readonly component: string;
  /** The URL of the license server. */
  readonly licenseUrl: string;
}

const beside = (path: string): URL => new URL(path, import.meta.url);

/** Registers useful tools for every sandbox, and some hostile ones. */
export function registerTools({ component, licenseUrl }: ToolLocations): ToolRegistry {
  const registry = new ToolRegistry();
  registry.register(
    defineTool({
      name: "list_sources",
      description: "Lists the files in a folder of this repository.",
      inputSchema: {
        type: "object",
        properties: { folder: { type: "string" } },
        required: ["folder"],
        additionalProperties: false,
      },
      sideEffects: "read",
      host: async ({ folder }) => (await readdir(folder)).sort(),
    }),
  );
  registry.register(
    defineTool({
      name: "hash_files",
      description: "Computes the SHA-256 of files of this repository.",
      inputSchema: {
        type: "object",
        properties: { paths: { type: "array", items: { type: "string" }, maxItems: 100 } },
        required: ["paths"],
        additionalProperties: false,
      },
      sideEffects: "read",
      host: { module: beside("worker/hash-files.ts"), export: "hashFiles" },
    }),
  );
  registry.register(
    defineTool({
      name: "delete_file",
      description: "Deletes a file.",
      inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      sideEffects: "destructive",
      host: () => {
        throw new Error("the policy denies this tool, so it must never run");
      },
    }),
  );
  registry.register(
    defineTool({
      name: "similar_names",
      description: "Ranks candidates by their edit distance to a name.",
      inputSchema: {
        type: "object",
        properties: { query: { type: "string" }, candidates: { type: "array", items: { type: "string" } } },
        required: ["query", "candidates"],
      },
      sideEffects: "none",
      wasm: { component },
    }),
  );
  registry.register(
    defineTool({
      name: "summarise",
      description: "Counts rows and sums a column, grouped by another column.",
      inputSchema: {
        type: "object",
        properties: {
          rows: { type: "array", items: { type: "object" } },
          by: { type: "string" },
          sum: { type: "string" },
        },
        required: ["rows", "by", "sum"],
      },
      sideEffects: "none",
      quickjs: { file: beside("quickjs/summarise.js") },
    }),
  );
  registry.register(
    defineTool({
      name: "package_license",
      description: "Returns the licence of an installed package.",
      inputSchema: {
        type: "object",
        properties: { name: { type: "string", pattern: "^[a-z0-9-]{1,64}$" } },
        required: ["name"],
      },
      sideEffects: "read",
      remote: { url: licenseUrl },
    }),
  );
  for (const mischief of ["loop", "bomb"]) {
    const hostile = { description: `A hostile tool: ${mischief}.`, inputSchema: { type: "object" } };
    const file = beside("quickjs/summarise.js");
    registry.register(
      defineTool({ name: `quickjs_${mischief}`, ...hostile, quickjs: { file, export: mischief } }),
    );
    registry.register(defineTool({ name: `wasm_${mischief}`, ...hostile, wasm: { component } }));
  }
  return registry;
}
