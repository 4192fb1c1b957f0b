import { isRawNumber } from "../../../json/raw-json.ts";
import { isJsonObject, type JsonObject, type JsonValue, MAX_DEPTH } from "../../../json/value.ts";
import { contradiction } from "../../parsing/agree.ts";
import { ProtocolError } from "../../parsing/protocol-error.ts";
import { expectString } from "../../parsing/shape.ts";

type Tree = Record<string, JsonValue> | JsonValue[];

/** A step of a path: `.name`, `['name']`, `["name"]` or `[0]`. */
const STEP = /\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/y;

/**
 * Sets a piece of streamed arguments (Gemini API reference, "PartialArg") at its path. Pieces of a string are appended.
 *
 * @throws {ProtocolError} if the path is invalid, leads through a scalar or skips items of a list.
 */
export function applyPartialArgument(
  args: Record<string, JsonValue>,
  piece: JsonObject,
  pointer: string,
): void {
  const refuse = (): never => {
    throw new ProtocolError(`${pointer}/jsonPath`, "is not a valid path");
  };
  const steps = readPath(expectString(piece["jsonPath"], `${pointer}/jsonPath`)) ?? refuse();
  let node: Tree = args;
  for (const [at, step] of steps.entries()) {
    if (!fits(node, step)) refuse();
    const child = Object.hasOwn(node, step) ? (node as Record<string, JsonValue>)[step] : undefined;
    if (at === steps.length - 1) {
      put(node, step, join(child, piece, pointer));
      return;
    }
    const next: unknown = child ?? (typeof steps[at + 1] === "number" ? [] : {});
    if (typeof next !== "object" || next === null || isRawNumber(next)) refuse();
    if (child === undefined) put(node, step, next as JsonValue);
    node = next as Tree;
  }
}

function readPath(path: string): readonly (string | number)[] | undefined {
  const steps: (string | number)[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const step = STEP.exec(path);
    if (step === null || steps.length === MAX_DEPTH) return undefined;
    const [, name, index, single, double] = step;
    steps.push(index === undefined ? (name ?? single ?? double ?? "") : Number(index));
  }
  return path.startsWith("$") && steps.length > 0 ? steps : undefined;
}

/** A list grows by one item at a time, so that no index can make it large. */
function fits(node: Tree, step: string | number): boolean {
  if (typeof step === "number") return Array.isArray(node) && step <= node.length;
  return isJsonObject(node);
}

/** Sets an own member of any name, even `__proto__`, which the engine refuses later. */
function put(node: Tree, step: string | number, value: JsonValue): void {
  Object.defineProperty(node, step, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns a value with a piece. Pieces of a string are appended, any other value is stated once. */
function join(before: JsonValue | undefined, piece: JsonObject, pointer: string): JsonValue {
  const values = VALUES.flatMap((name) => (Object.hasOwn(piece, name) ? [name] : []));
  const [name, other] = values;
  if (other !== undefined) throw contradiction(`${pointer}/${other}`);
  const value = name === undefined || name === "nullValue" ? null : (piece[name] ?? null);
  if (typeof value === "string" && typeof before === "string") return before + value;
  // A string may end with a piece that has no value.
  if (before !== undefined && value !== null && before !== value) throw contradiction(pointer);
  return before ?? value;
}

const VALUES: readonly string[] = ["stringValue", "numberValue", "boolValue", "nullValue"];
