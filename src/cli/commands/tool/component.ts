import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { PACKAGE_FOLDER } from "../../../base/package-folder.ts";
import { cutMiddle } from "../../../rendering/render.ts";
import { shown, toPrintableJson } from "../../../rendering/shown.ts";
import { ToolPreparationError } from "../../../sandboxes/contract/sandbox.ts";
import { readComponentBytes } from "../../../sandboxes/wasm/component/gate.ts";
import { type InspectedExport, inspectComponent } from "../../../sandboxes/wasm/tools/inspect-component.ts";
import { newComponent } from "../../../sandboxes/wasm/tools/new-component.ts";
import { EXIT_BAD_INPUT, EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal.ts";
import type { ToolCommand } from "../../tool-command.ts";

/** The maximum characters of JSON text for one export, and for all together. */
const MAX_EXPORT_LENGTH = 65_536;

const MAX_TOTAL_LENGTH = 2_000_000;

/** The maximum characters of an export's name or type where its schema is omitted. */
const MAX_TEXT_LENGTH = 1_000;

/** Writes a component of the world `sandgate:tool` that a core module implements. Overwrites the file. */
export async function makeComponent(
  { file, out }: Extract<ToolCommand, { name: "tool component" }>,
  { stderr }: Terminal,
): Promise<ExitCode> {
  try {
    const wit = await readFile(new URL("wit/tool.wit", PACKAGE_FOLDER), "utf8");
    const component = await newComponent(await readComponentBytes(file), wit);
    await mkdir(dirname(out), { recursive: true });
    await writeFile(out, component);
    return EXIT_OK;
  } catch (error) {
    if (!(error instanceof ToolPreparationError) && !isSystemError(error)) throw error;
    await print(stderr, shown`${file}: ${error.message}`);
    return EXIT_BAD_INPUT;
  }
}

/** Whether an error says that a file cannot be written. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}

/** Prints the exports of a component with their JSON schemas, and its imports, as JSON. It does not run. */
export async function inspectTool(
  { file }: Extract<ToolCommand, { name: "tool inspect" }>,
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  try {
    const { exports, imports } = await inspectComponent(file);
    await print(stdout, toPrintableJson({ ...boundExports(exports), imports }));
    return EXIT_OK;
  } catch (error) {
    if (!(error instanceof ToolPreparationError)) throw error;
    await print(stderr, shown`${file}: ${error.message}`);
    return EXIT_BAD_INPUT;
  }
}

/** Bounds the output: a small component can export many types whose text is long. */
function boundExports(exports: readonly InspectedExport[]): object {
  const listed: object[] = [];
  let length = 0;
  for (const each of exports) {
    const bounded = boundExport(each);
    length += JSON.stringify(bounded).length;
    if (length > MAX_TOTAL_LENGTH) break;
    listed.push(bounded);
  }
  const omitted = exports.length - listed.length;
  return { exports: listed, ...(omitted > 0 && { omittedExports: omitted }) };
}

function boundExport(exported: InspectedExport): object {
  if (JSON.stringify(exported).length <= MAX_EXPORT_LENGTH) return exported;
  const { name, type } = exported;
  const omitted = `more than ${MAX_EXPORT_LENGTH} characters of schema`;
  return { name: shorten(name), type: shorten(type), omitted };
}

function shorten(text: string): string {
  const { head, tail, leftOut } = cutMiddle(text, MAX_TEXT_LENGTH);
  return leftOut === 0 ? text : `${head}…${tail}`;
}
