import type { HeldRecord } from "../../workspace/held/held-record.ts";
import { isObject, isPath, parseRecord } from "../../workspace/held/parse-record.ts";
import type { AcceptingRecord, Step } from "./step.ts";

const STATES: readonly unknown[] = ["preparing", "applying", "undoing", "done"];

/**
 * Reads the record of changes that were being accepted, which others than Sandgate can have written.
 *
 * @returns `undefined` if it is not one that Sandgate writes.
 */
export function parseAccepting(value: unknown): AcceptingRecord | undefined {
  if (!isObject(value)) return undefined;
  const { process, state, made, steps, records } = value;
  if (typeof process !== "string" || !STATES.includes(state)) return undefined;
  if (!isArrayOf(made, isPath) || !isArrayOf(steps, isStep) || !isArrayOf(records, isRecord))
    return undefined;
  return { process, state: state as AcceptingRecord["state"], made, steps, records };
}

function isArrayOf<Item>(value: unknown, is: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.every(is);
}

function isRecord(value: unknown): value is HeldRecord {
  return parseRecord(value) !== undefined;
}

function isStep(value: unknown): value is Step {
  if (!isObject(value)) return false;
  const { kind, path, backup, version, temporary, identity, mode } = value;
  if (!isPath(path)) return false;
  switch (kind) {
    case "create-folder":
      return true;
    case "remove-folder":
      return Number.isSafeInteger(mode) && Number(mode) >= 0 && Number(mode) <= 0o7777;
    case "remove":
      return isPath(backup) && typeof version === "string";
    case "place":
      return (
        isPath(temporary) &&
        typeof identity === "string" &&
        (backup === null || isPath(backup)) &&
        (version === null || typeof version === "string")
      );
    default:
      return false;
  }
}
