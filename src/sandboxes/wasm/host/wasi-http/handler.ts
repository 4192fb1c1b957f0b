import type { EgressErrorCode } from "../../../../egress/egress-error.ts";
import type { HeaderField, HttpReply } from "../../../guest-services/service-request.ts";
import type { LiftBudget } from "../../abi/lift-budget.ts";
import type { TaggedValue } from "../../abi/value.ts";
import type { CurrentCall } from "../current-call.ts";
import type { InterfaceMembers } from "../interface-members.ts";
import { MisuseError } from "../misuse.ts";
import { type BodyBudget, BodyBudgetError } from "./body-budget.ts";
import { ERROR_CODES } from "./error-code.ts";
import { FutureIncomingResponse } from "./future-response.ts";
import { IncomingResponse } from "./incoming-response.ts";
import { type OutgoingRequest, type RequestToSend, readRequest } from "./outgoing-request.ts";
import { RequestOptions } from "./request-options.ts";

const NANOSECONDS_PER_MS = 1e6;

/** Returns `wasi:http/outgoing-handler`. Whether a request may be sent is checked outside the thread. */
export function httpHandler(
  call: () => CurrentCall,
  budget: BodyBudget,
  memory: LiftBudget,
): InterfaceMembers {
  return {
    handle(request: OutgoingRequest, options: RequestOptions | undefined): FutureIncomingResponse {
      if (options !== undefined && !(options instanceof RequestOptions)) {
        throw new MisuseError(
          "wasi:http/outgoing-handler",
          "the options of a request must be 'request-options'",
        );
      }
      const toSend = readRequest(request);
      if ("tag" in toSend) {
        request[Symbol.dispose]();
        throw toSend;
      }
      const receive = (reply: HttpReply<string>): IncomingResponse =>
        new IncomingResponse(reply, budget, memory);
      return new FutureIncomingResponse(request, () => send(call(), receive, toSend, options));
    },
  };
}

/** Sends a request. Returns a result with the response or the variant `error-code`. */
function send(
  call: CurrentCall,
  receive: (reply: HttpReply<string>) => IncomingResponse,
  { method, url, fields, body: takeBody }: RequestToSend,
  options: RequestOptions | undefined,
): TaggedValue {
  const body = takeBody();
  if (body === undefined) {
    return failure("internal-error", "the request body must be finished before the response is awaited");
  }
  const declared = fields.filter(declaresLength).map(([, value]) => value);
  if (declared.length > 0 && declared.join(", ") !== String(body.length)) {
    return failure("HTTP-request-body-size", BigInt(body.length));
  }
  const reply = call.ask<HttpReply<string>, EgressErrorCode>({
    ...{ kind: "http", method, url, encoding: "base64", followRedirects: false },
    // The HTTP client sets the length.
    headers: fields.filter((field) => !declaresLength(field)),
    body: body.length === 0 ? undefined : body.toString("base64"),
    firstByteTimeoutMs: inMs(options?.firstByteTimeout()),
    betweenBytesTimeoutMs: inMs(options?.betweenBytesTimeout()),
  });
  if ("error" in reply) return { tag: "err", val: ERROR_CODES[reply.error] };
  try {
    return { tag: "ok", val: receive(reply.ok) };
  } catch (error) {
    if (error instanceof BodyBudgetError) return failure("HTTP-response-body-size", undefined);
    throw error;
  }
}

function declaresLength([name]: HeaderField): boolean {
  return name.toLowerCase() === "content-length";
}

function failure(tag: string, val: string | bigint | undefined): TaggedValue {
  return { tag: "err", val: { tag, val } };
}

function inMs(ns: bigint | undefined): number | undefined {
  return ns === undefined ? undefined : Math.max(Math.ceil(Number(ns) / NANOSECONDS_PER_MS), 1);
}
