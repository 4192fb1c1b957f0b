import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { ErrorCode, ToolCall, ToolExecution } from "sandgate";

/** A call of the assistant's message, and a check of its result. */
export interface ExpectedCall {
  readonly call: ToolCall;
  readonly holds: (execution: ToolExecution) => boolean;
}

let lastId = 0;

function expectCall(name: string, args: ToolCall["arguments"], holds: ExpectedCall["holds"]): ExpectedCall {
  return { call: { id: `call_${++lastId}`, name, arguments: args }, holds };
}

const gives =
  (sandbox: ToolExecution["sandbox"], output: unknown): ExpectedCall["holds"] =>
  (execution) =>
    execution.success && execution.sandbox === sandbox && isDeepStrictEqual(execution.output, output);

const fails =
  (code: ErrorCode, message: string): ExpectedCall["holds"] =>
  ({ error }) =>
    error?.code === code && error.message === message;

const sha256 = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
const ajv = JSON.parse(readFileSync("node_modules/ajv/package.json", "utf8"));

/** The calls of the assistant's message: valid calls, invalid calls, and calls of hostile tools. */
export const CALLS: readonly ExpectedCall[] = [
  expectCall("list_sources", { folder: "src/json" }, ({ success, sandbox, output }) => {
    return success && sandbox === "host" && (output as string[]).includes("value.ts");
  }),
  expectCall(
    "hash_files",
    '{"paths": ["package.json", "LICENSE"]}',
    gives("host", { "package.json": sha256("package.json"), LICENSE: sha256("LICENSE") }),
  ),
  expectCall(
    "similar_names",
    { query: "regsitry", candidates: ["refusal", "registry", "reporter", "schema"] },
    ({ success, sandbox, output }) => {
      return success && sandbox === "wasm" && JSON.stringify(output).indexOf("registry") < 40;
    },
  ),
  expectCall(
    "summarise",
    {
      rows: [
        { sandbox: "wasm", ms: 3 },
        { sandbox: "host", ms: 1 },
        { sandbox: "wasm", ms: 4 },
      ],
      by: "sandbox",
      sum: "ms",
    },
    gives("quickjs", { host: { count: 1, total: 1 }, wasm: { count: 2, total: 7 } }),
  ),
  expectCall(
    "package_license",
    { name: "ajv" },
    gives("remote", { name: "ajv", version: ajv.version, license: ajv.license }),
  ),
  expectCall(
    "package_license",
    { name: "no-such-package" },
    fails("execution_error", "HTTP 404: no such package is installed"),
  ),
  expectCall("send_email", { to: "all" }, ({ error }) => {
    return (
      error?.code === "not_found" &&
      error.message.startsWith("Tool 'send_email' not found. Available: [list_sources,")
    );
  }),
  expectCall(
    "hash_files",
    '{"paths": [package.json]}',
    fails("validation_error", "Invalid JSON: unexpected token at position 11"),
  ),
  expectCall(
    "hash_files",
    { paths: "package.json" },
    fails("validation_error", "Invalid arguments: /paths must be array"),
  ),
  expectCall(
    "list_sources",
    { folder: "src/../../etc" },
    fails("permission_denied", "Permission denied: tool 'list_sources' is disabled by policy"),
  ),
  expectCall(
    "delete_file",
    { path: "package.json" },
    fails("permission_denied", "Permission denied: tool 'delete_file' is disabled by policy"),
  ),
  expectCall("quickjs_loop", {}, fails("timeout", "Tool exceeded 500ms wall time limit")),
  expectCall("quickjs_bomb", {}, fails("limit_exceeded", "Tool exceeded 32 MiB memory limit")),
  expectCall("wasm_loop", {}, fails("timeout", "Tool exceeded 500ms wall time limit")),
  expectCall("wasm_bomb", {}, fails("limit_exceeded", "Tool exceeded 32 MiB memory limit")),
  expectCall("summarise", { rows: [], by: "x", sum: "y" }, gives("quickjs", {})),
];
