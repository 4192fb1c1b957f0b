import type { HttpReply } from "../../../guest-services/service-request.ts";
import type { TaggedValue } from "../../abi/value.ts";
import type { CurrentCall } from "../current-call.ts";
import type { InterfaceMembers } from "../interface-members.ts";
import { type BodyBudget, BodyBudgetError } from "./body-budget.ts";
import { FutureIncomingResponse } from "./future-response.ts";
import { IncomingResponse } from "./incoming-response.ts";
import { type OutgoingRequest, type RequestToSend, readRequest } from "./outgoing-request.ts";
import { RequestOptions } from "./request-options.ts";

const NANOSECONDS_PER_MS = 1e6;

/** Returns `wasi:http/outgoing-handler`. Whether a request may be sent is checked outside the thread. */
export function httpHandler(call: () => CurrentCall, budget: BodyBudget): InterfaceMembers {
  return {
    handle(request: OutgoingRequest, options: RequestOptions | undefined): FutureIncomingResponse {
      if (options !== undefined && !(options instanceof RequestOptions)) {
        throw new TypeError("the options of a request must be of type request-options");
      }
      const toSend = readRequest(request);
      if ("tag" in toSend) throw toSend;
      return new FutureIncomingResponse(() => send(call(), budget, toSend, options));
    },
  };
}

/** Sends a request. Returns a result with the response or the variant `error-code`. */
function send(
  call: CurrentCall,
  budget: BodyBudget,
  { method, url, fields, body: readBody }: RequestToSend,
  options: RequestOptions | undefined,
): TaggedValue {
  const body = readBody();
  if (body === undefined) {
    return failure("internal-error", "the request body must be finished before the response is awaited");
  }
  const headers = joinFields(fields);
  const declared = headers["content-length"];
  if (declared !== undefined && declared !== String(body.length)) {
    return failure("HTTP-request-body-size", BigInt(body.length));
  }
  // The connection sets it.
  delete headers["content-length"];
  const reply = call.ask<HttpReply, TaggedValue>({
    ...{ kind: "http", method, url, headers, leftMs: call.leftMs },
    body: body.length === 0 ? undefined : body.toString("base64"),
    firstByteTimeoutMs: inMs(options?.firstByteTimeout()),
    betweenBytesTimeoutMs: inMs(options?.betweenBytesTimeout()),
  });
  if ("error" in reply) return { tag: "err", val: reply.error };
  try {
    return { tag: "ok", val: new IncomingResponse(reply.ok, budget) };
  } catch (error) {
    if (error instanceof BodyBudgetError) return failure("HTTP-response-body-size", undefined);
    throw error;
  }
}

/** Several fields of a name are one (RFC 9110, section 5.3), apart from cookies (RFC 9113, section 8.2.3). */
function joinFields(fields: RequestToSend["fields"]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    const known = headers[lower];
    headers[lower] = known === undefined ? value : `${known}${lower === "cookie" ? "; " : ", "}${value}`;
  }
  return headers;
}

function failure(tag: string, val: string | bigint | undefined): TaggedValue {
  return { tag: "err", val: { tag, val } };
}

function inMs(ns: bigint | undefined): number | undefined {
  return ns === undefined ? undefined : Math.max(Math.ceil(Number(ns) / NANOSECONDS_PER_MS), 1);
}
