import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { CallEffect } from "../../contract/outcome.ts";
import { SuspensionError } from "../../contract/suspension.ts";
import type { EarlierUse } from "../../guest-services/tool-service.ts";
import type { LogBudget } from "../../threads/thread-message.ts";
import type { FileUse } from "../thread/external-access.ts";
import type { GuestRequest } from "../thread/thread-task.ts";

/** A request of a guest that has no reply yet. */
export interface OpenRequest {
  readonly request: GuestRequest;
  /** The wall time that the call had left when it made the request, in ms: a person may have been shown it. */
  readonly leftMs: number;
}

/** The stored state of a call, without its guest. */
export interface SuspendedCallState {
  /** The wall time that it used, in ms. */
  readonly elapsedMs: number;
  readonly timerWaits: number;
  /** Milliseconds of wall time until its first timer is due; `undefined` if it has none. */
  readonly wakeMs: number | undefined;
  readonly log: LogBudget;
  readonly files: FileUse;
  readonly requests: readonly OpenRequest[];
  /** How many HTTP requests it made. */
  readonly fetches: number;
  /** The number of the last call that it made of a tool. */
  readonly lastCall: number;
  /** What its requests used and changed, apart from those that are open. */
  readonly use: EarlierUse;
}

/** Writes the state of a call as JSON. */
export function writeCallState(state: SuspendedCallState): JsonObject {
  // Plain data, in which only members can be absent.
  return JSON.parse(JSON.stringify(state)) as JsonObject;
}

/** @throws {SuspensionError} if a part of the state is missing, or is of another kind. */
export function readCallState(state: JsonObject): SuspendedCallState {
  const { elapsedMs, timerWaits, wakeMs, log, files, requests, fetches, lastCall, use } = state;
  const isValid =
    [elapsedMs, timerWaits, fetches, lastCall].every(isAmount) &&
    (wakeMs === undefined || isAmount(wakeMs)) &&
    isJsonObject(log) &&
    [log["lines"], log["bytes"]].every((left) => typeof left === "number") &&
    isJsonObject(files) &&
    [files["writtenBytes"], files["created"]].every(isAmount) &&
    typeof files["hasChanged"] === "boolean" &&
    isJsonObject(use) &&
    isAmount(use["nestedCalls"]) &&
    EFFECTS.includes(use["effect"] as CallEffect) &&
    Array.isArray(requests) &&
    requests.every(isOpenRequest);
  if (!isValid) throw new SuspensionError("its state is not valid");
  return state as unknown as SuspendedCallState;
}

const EFFECTS: readonly CallEffect[] = ["none", "unknown"];

function isAmount(value: JsonValue | undefined): boolean {
  return typeof value === "number" && value >= 0;
}

function isOpenRequest(open: JsonValue): boolean {
  if (!isJsonObject(open) || !isAmount(open["leftMs"])) return false;
  const { request } = open;
  if (!isJsonObject(request) || typeof request["id"] !== "number") return false;
  const { kind, name, input, number, method, url, headers } = request;
  if (kind === "call-tool") {
    return typeof name === "string" && typeof input === "string" && Number.isSafeInteger(number);
  }
  return kind === "http" && typeof method === "string" && typeof url === "string" && Array.isArray(headers);
}
