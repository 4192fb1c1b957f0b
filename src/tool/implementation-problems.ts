import { isJsonObject } from "../json/value.ts";
import { IMPLEMENTATION_NAMES, type ToolImplementations } from "./implementations.ts";
import { remoteProblem } from "./remote-implementation.ts";

/** Every reason why implementations cannot be registered, whatever they are. Nothing is read or run. */
export function implementationProblems(implementations: ToolImplementations): readonly string[] {
  const given = IMPLEMENTATION_NAMES.filter((name) => implementations[name] !== undefined);
  if (given.length === 0)
    return [`there is no implementation: give one of ${IMPLEMENTATION_NAMES.join(", ")}`];
  const problems: string[] = [];
  if (given.includes("host") && given.includes("worker")) {
    problems.push("host and worker both run on the host: give one of them");
  }
  for (const name of given) {
    const problem = CHECKS[name](implementations[name]);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

/** What is wrong with one implementation, or `undefined`. */
const CHECKS: Record<keyof ToolImplementations, (given: unknown) => string | undefined> = {
  host: (given) => {
    const isFactory = isJsonObject(given) && typeof given["create"] === "function";
    return typeof given === "function" || isFactory ? undefined : "host must be a function, or have create()";
  },
  worker: (given) => {
    if (!isJsonObject(given) || !isLocation(given["module"]))
      return "worker.module must be a path or a file: URL";
    return isOptionalString(given["export"]) ? undefined : "worker.export must be a string";
  },
  wasm: (given) => {
    const component: unknown = isJsonObject(given) ? given["component"] : undefined;
    if (!isLocation(component) && !(component instanceof Uint8Array)) {
      return "wasm.component must be a path, a file: URL or bytes";
    }
    const { tool, export: exported } = given as { readonly tool?: unknown; readonly export?: unknown };
    if (!isOptionalString(tool)) return "wasm.tool must be a string";
    if (!isOptionalString(exported)) return "wasm.export must be a string";
    return tool === undefined || exported === undefined ? undefined : "wasm takes either a tool or an export";
  },
  quickjs: (given) => {
    if (!isJsonObject(given)) return "quickjs must be an object";
    const { source, file } = given;
    if ((source === undefined) === (file === undefined))
      return "quickjs takes exactly one of source and file";
    if (source !== undefined && typeof source !== "string") return "quickjs.source must be a string";
    if (file !== undefined && !isLocation(file)) return "quickjs.file must be a path or a file: URL";
    return isOptionalString(given["export"]) ? undefined : "quickjs.export must be a string";
  },
  remote: remoteProblem,
};

function isLocation(value: unknown): boolean {
  return typeof value === "string" ? value !== "" : value instanceof URL && value.protocol === "file:";
}

function isOptionalString(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}
