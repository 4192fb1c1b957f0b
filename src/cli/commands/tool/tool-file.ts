import { basename, resolve } from "node:path";
import { defineTool, type Tool } from "../../../engine/tool.ts";

/** A file as a tool of its own, named after it, that takes any input. */
export function toolOfFile(file: string, exportName: string): Tool {
  const name = basename(file)
    .replace(/\.\w+$/, "")
    .replace(/[^A-Za-z0-9_-]/g, "_");
  return defineTool({
    name: name.slice(0, 64),
    description: `The JavaScript tool ${basename(file)}`,
    inputSchema: {},
    sideEffects: "none",
    quickjs: { file: resolve(file), export: exportName },
  });
}
