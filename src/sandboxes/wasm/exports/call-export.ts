import type { JsonValue } from "../../../json/value.ts";
import type { ComponentValue, TaggedValue } from "../abi/value.ts";
import { ExitError } from "../host/wasi/host.ts";
import type { FunctionType } from "../linking/value-type.ts";
import { argumentsFromJson, toJson } from "./json.ts";

/** The result of an exported function: its output as JSON text, or the error of its `result`. */
export type ExportResult =
  | { readonly status: "returned"; readonly text: string }
  | { readonly status: "tool-error"; readonly code: undefined; readonly message: string };

/**
 * Calls an exported function as a tool. A function that returns a `result` succeeds with `ok` and fails with `err`. A
 * function without output also succeeds if it calls `wasi:cli/exit` with success.
 *
 * @param input The arguments as JSON text.
 * @throws {ArgumentError} if they do not match the parameters.
 */
export function callExport(
  { params, result }: FunctionType,
  input: string,
  call: (args: readonly ComponentValue[]) => ComponentValue,
): ExportResult {
  const args = argumentsFromJson(params, JSON.parse(input) as JsonValue);
  let value: ComponentValue;
  try {
    value = call(args);
  } catch (thrown) {
    // Without output, exiting with success is as good as returning.
    if (thrown instanceof ExitError && thrown.success && !hasOutput(result)) {
      return { status: "returned", text: "null" };
    }
    throw thrown;
  }
  if (result?.kind !== "result") {
    return { status: "returned", text: JSON.stringify(result === undefined ? null : toJson(result, value)) };
  }
  const { tag, val } = value as TaggedValue;
  const type = tag === "ok" ? result.ok : result.err;
  const json = type === undefined ? null : toJson(type, val);
  if (tag === "ok") return { status: "returned", text: JSON.stringify(json) };
  const message = typeof json === "string" ? json : json === null ? "" : JSON.stringify(json);
  return {
    status: "tool-error",
    code: undefined,
    message: message || "Tool failed without an error message",
  };
}

function hasOutput(result: FunctionType["result"]): boolean {
  return result?.kind === "result" ? result.ok !== undefined : result !== undefined;
}
