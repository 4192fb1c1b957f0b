import { isAbsolute } from "node:path";
import { isJsonObject } from "../../json/value.ts";
import { sandboxesOf, type ToolImplementations } from "../implementations/implementations.ts";
import { SANDBOX_MODES, type SandboxMode } from "../sandbox-mode.ts";
import { isProgramText, processProblem } from "./process-problems.ts";
import { remoteProblem } from "./remote-problems.ts";

/**
 * Returns every reason why a tool with these implementations cannot be registered. It accepts any values, and neither
 * reads files nor runs code.
 */
export function implementationProblems(
  implementations: ToolImplementations<never, never>,
): readonly string[] {
  const modes = sandboxesOf(implementations);
  if (modes.length === 0) return [`the tool has no implementation: add one of ${SANDBOX_MODES.join(", ")}`];
  return modes.flatMap((mode) => CHECKS[mode](implementations[mode]) ?? []);
}

/** Each returns the problem of one implementation, or `undefined` if it is valid. */
const CHECKS: Record<SandboxMode, (given: unknown) => string | undefined> = {
  host: (given) => {
    if (typeof given === "function") return undefined;
    const { create, module, export: exported } = isJsonObject(given) ? given : {};
    if (create === undefined && module === undefined) {
      return "host must be a function, a factory with create(), or a module: { module, export }";
    }
    if (create !== undefined && module !== undefined) return "host takes either create() or a module";
    if (create !== undefined) {
      return typeof create === "function" ? undefined : "host.create must be a function";
    }
    if (!isLocation(module)) return "host.module must be a path or a file: URL";
    return isOptionalString(exported) ? undefined : "host.export must be a string";
  },
  wasm: (given) => {
    const component: unknown = isJsonObject(given) ? given["component"] : undefined;
    if (!isLocation(component) && !(component instanceof Uint8Array)) {
      return "wasm.component must be a path, a file: URL or bytes";
    }
    const { tool, export: exported, engine } = given as Readonly<Record<string, unknown>>;
    if (!isOptionalString(tool)) return "wasm.tool must be a string";
    if (!isOptionalString(exported)) return "wasm.export must be a string";
    if (engine !== undefined && engine !== "jco") return "wasm.engine must be 'jco', or left out";
    return tool === undefined || exported === undefined ? undefined : "wasm takes either a tool or an export";
  },
  quickjs: (given) => {
    if (!isJsonObject(given)) return "quickjs must be an object";
    const { source, file } = given;
    if ((source === undefined) === (file === undefined))
      return "quickjs takes exactly one of source and file";
    if (source !== undefined && typeof source !== "string") return "quickjs.source must be a string";
    if (file !== undefined && !isLocation(file)) return "quickjs.file must be a path or a file: URL";
    if (!isOptionalString(given["export"])) return "quickjs.export must be a string";
    return isTypedCode(given["typedCode"], source)
      ? undefined
      : "quickjs.typedCode must be { code, language }, beside source";
  },
  process: processProblem,
  microvm: (given) => {
    if (!isJsonObject(given)) return "microvm must be an object";
    const { image, command, args = [] } = given;
    if (!isProgramText(image) || !isAbsolute(image))
      return "microvm.image must be the absolute path of a directory";
    if (!isProgramText(command) || command === "")
      return "microvm.command must be the name or the path of a program in the image";
    if (!Array.isArray(args) || !args.every(isProgramText))
      return "microvm.args must be a list of strings without NUL";
    return Buffer.byteLength([command, ...args].join(" ")) <= MAX_COMMAND_BYTES
      ? undefined
      : `microvm.command and its args must have at most ${MAX_COMMAND_BYTES} bytes`;
  },
  remote: remoteProblem,
};

/** The most bytes of a command in a virtual machine: put a longer script into a file of the image. */
const MAX_COMMAND_BYTES = 2_000;

function isLocation(value: unknown): boolean {
  return typeof value === "string" ? value !== "" : value instanceof URL && value.protocol === "file:";
}

function isTypedCode(value: unknown, source: unknown): boolean {
  if (value === undefined) return true;
  return (
    source !== undefined &&
    isJsonObject(value) &&
    typeof value["code"] === "string" &&
    typeof value["language"] === "string"
  );
}

function isOptionalString(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}
