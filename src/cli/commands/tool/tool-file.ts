import { open } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { defineTool, type Tool } from "../../../engine/tool.ts";
import { joinShown, ShownText, shown, toLine } from "../../../rendering/shown.ts";
import type { SandboxRouter } from "../../../sandboxes/contract/sandbox.ts";
import {
  type ComponentTool,
  type ComponentTools,
  componentTools,
} from "../../../sandboxes/wasm/tools/component-tools.ts";
import { UsageError } from "../../errors.ts";

/** The first bytes of every WebAssembly file. */
const MAGIC = Buffer.from("\0asm", "latin1");

const MAX_NAME_LENGTH = 160;

const MAX_NAMES = 20;

/** The user's choice among the tools of a component. */
export interface ToolChoice {
  readonly tool: string | undefined;
  readonly export: string | undefined;
  readonly engine: "jco" | undefined;
}

/**
 * Returns the chosen tool of a component.
 *
 * @throws {UsageError} if no tool matches the choice, or several do.
 * @throws {ToolPreparationError} if registration would refuse the component.
 */
export async function componentTool(
  component: Uint8Array,
  choice: ToolChoice,
  sandboxes: SandboxRouter,
): Promise<ComponentTool> {
  const found = await componentTools(component, sandboxes, choice.engine && { engine: choice.engine });
  const matching = found.tools.filter((tool) => isChosen(tool, choice));
  const [only] = matching;
  if (only !== undefined && matching.length === 1) return only;
  if (matching.length === 0) throw new UsageError(shown`the component ${whyNone(found, choice)}`);
  throw new UsageError(shown`the component has several tools: choose one of ${names(matching)} with --tool`);
}

/** Returns whether a tool matches the choice. */
export function isChosen({ name, wasm }: ComponentTool, choice: ToolChoice): boolean {
  return (
    (choice.tool === undefined || choice.tool === name) &&
    (choice.export === undefined || choice.export === wasm.export)
  );
}

/** Returns why no tool of a component matches the choice, as a predicate of the component. */
export function whyNone({ tools, refused }: ComponentTools, choice: ToolChoice): ShownText {
  const { tool, export: exportName } = choice;
  const reason = refused.find((one) => one.export === exportName)?.reason;
  if (reason !== undefined) return shown`has no tool '${exportName ?? ""}': ${reason}`;
  if (tool === undefined && exportName === undefined) return shown`has no tool`;
  const wanted =
    tool === undefined ? shown`no export '${exportName ?? ""}' that is a tool` : shown`no tool '${tool}'`;
  return shown`has ${wanted}: ${tools.length === 0 ? "it has no tools" : shown`its tools are ${names(tools)}`}`;
}

function names(tools: readonly ComponentTool[]): ShownText {
  return listNames(
    tools.map(({ name, wasm }) => (wasm.export === undefined ? name : `${name} (${wasm.export})`)),
  );
}

/** Lists the first names from a component, and how many more there are. */
export function listNames(names: readonly string[]): ShownText {
  const listed = names.slice(0, MAX_NAMES).map((name) => new ShownText(toLine(name, MAX_NAME_LENGTH)));
  const more = names.length - listed.length;
  return shown`${joinShown(listed, ", ")}${new ShownText(more > 0 ? `, and ${more} more` : "")}`;
}

/** Returns whether a file is WebAssembly, by its extension or its first bytes. */
export async function isComponentFile(file: string): Promise<boolean> {
  if (file.endsWith(".wasm")) return true;
  try {
    await using handle = await open(file);
    // Reading from a pipe would consume it.
    if (!(await handle.stat()).isFile()) return false;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0);
    return buffer.subarray(0, bytesRead).equals(MAGIC);
  } catch {
    // The error is reported when the whole file is read.
    return false;
  }
}

/** Makes a tool of a JavaScript file. It has the file's name and takes any input. */
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
