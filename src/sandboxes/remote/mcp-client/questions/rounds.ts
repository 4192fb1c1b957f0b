import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../json/value.ts";
import { DECLINED, type McpCallLink, type OpenCall, readAsked } from "./open-calls.ts";

/** Maximum number of rounds of one call. */
const MAX_ROUNDS = 8;

/** Maximum number of requests in one round. */
const MAX_REQUESTS = 16;

/** Milliseconds before the next round, if no person was asked in the last one. */
const PAUSE_MS = 250;

/** Maximum length of a state that is sent back, in characters. */
const MAX_STATE = 65_536;

/** A server makes requests that its client cannot answer. `message` contains no text from the server. */
export class RoundsError extends Error {
  override readonly name = "RoundsError";
  readonly code = "UNSUPPORTED_RESULT_TYPE";
}

/**
 * Sends a request until its result is complete: with `input_required`, the client of the call is asked (MCP
 * 2026-07-28, "Multi Round-Trip Requests"). Every round is a new request, with the state of the previous one.
 *
 * @param send Sends the request with further parameters.
 * @throws {RoundsError} as a rejection, if the client cannot be asked, or is asked too often.
 */
export async function inRounds(
  send: (retry: JsonObject) => Promise<JsonObject>,
  { link, signal }: OpenCall,
): Promise<JsonObject> {
  let retry: JsonObject = {};
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const result = await send(retry);
    if (result["resultType"] !== "input_required") return result;
    const { inputRequests = {}, requestState } = result;
    const isState =
      requestState === undefined || (typeof requestState === "string" && requestState.length <= MAX_STATE);
    if (!isJsonObject(inputRequests) || !isState) throw new RoundsError("its request for input is malformed");
    const keys = Object.keys(inputRequests);
    if (keys.length > MAX_REQUESTS) throw new RoundsError("it makes too many requests at once");
    if (keys.length === 0) await sleep(PAUSE_MS, undefined, { signal });
    if (keys.length > 0 && link === undefined) throw new RoundsError("there is no client that it could ask");
    const inputResponses = link === undefined ? {} : await answers(link, inputRequests, signal);
    retry = { inputResponses, ...(requestState !== undefined && { requestState }) };
  }
  throw new RoundsError(`it wants more input after ${MAX_ROUNDS} rounds`);
}

/** Asks everything at once. Requests other than forms can only be refused by ending the call. */
async function answers(link: McpCallLink, requests: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  const entries = Object.entries(requests).map(async ([key, value]): Promise<[string, JsonValue]> => {
    const request = readAsked(value);
    if (request === undefined) throw new RoundsError("its request for input is malformed");
    try {
      return [key, await link.ask(key, request, signal)];
    } catch (error) {
      signal.throwIfAborted();
      if (request.method === "elicitation/create") return [key, DECLINED];
      throw new RoundsError(error instanceof Error ? error.message : String(error));
    }
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** The code of a call that needs a person to open a page first. It exists in 2025-11-25 only. */
const URL_ELICITATION_REQUIRED = -32_042;

/** Maximum number of retries of a call after a person opened a page. */
const MAX_RETRIES = 3;

/** Maximum number of pages in one error. */
const MAX_PAGES = 8;

/**
 * Sends a request, and lets the client of the call open the pages that the server requires first. The server
 * has not run the call by then, so it can be sent again.
 *
 * @throws what `send` throws, even if the client cannot show the page, or the person declines to open it.
 */
export async function withPages<T>(send: () => Promise<T>, { link, signal }: OpenCall): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return await send();
    } catch (error) {
      const pages = pagesOf(error);
      if (link === undefined || pages === undefined || round > MAX_RETRIES || signal.aborted) throw error;
      const asked = pages.map((params, index) =>
        link
          .ask(`page_${index + 1}`, { method: "elicitation/create", params }, signal)
          .catch(() => undefined),
      );
      const answers = await Promise.all(asked);
      if (!answers.every((answer) => answer?.["action"] === "accept")) throw error;
    }
  }
}

function pagesOf(error: unknown): readonly JsonObject[] | undefined {
  if (!(error instanceof Error) || !("code" in error) || error.code !== URL_ELICITATION_REQUIRED)
    return undefined;
  const elicitations = "data" in error && isJsonObject(error.data as never) ? pagesIn(error.data) : undefined;
  return Array.isArray(elicitations) && elicitations.length > 0 && elicitations.length <= MAX_PAGES
    ? elicitations.filter((page) => isJsonObject(page)).map((page) => ({ ...page, mode: "url" }))
    : undefined;
}

function pagesIn(data: unknown): unknown {
  return (data as JsonObject)["elicitations"];
}
