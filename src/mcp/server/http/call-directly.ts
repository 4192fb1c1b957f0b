import type { ServerContext } from "@modelcontextprotocol/server";
import { parseJson } from "../../../json/parse.ts";
import type { JsonObject } from "../../../json/value.ts";
import type { Session } from "../../../sessions/session.ts";
import { MESSAGE_BOUNDS } from "../client-message.ts";
import type { ExchangeParts } from "../exchange.ts";
import { declared, type ServerParts } from "../peer-server.ts";
import { type HeaderOf, refuseParamHeaders } from "../tools/param-headers.ts";
import { callTool, type EndOfCall } from "../tools/tool-handlers.ts";
import { mayBePlain, type PlainCall, plainHeaders, plainResponse, readPlainCall } from "./plain-call.ts";

/** A `POST` with a body of JSON. */
export interface PostedMessage {
  readonly text: string;
  readonly header: HeaderOf;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

/** What {@link callDirectly} needs besides the parts of a server. */
export interface DirectCallServices {
  readonly session: () => Promise<Session>;
  /** Has the SDK respond to a call that has ended. */
  readonly write: (request: Request, message: JsonObject, ended: EndOfCall) => Promise<Response>;
}

/**
 * Makes a plain call without the SDK, which creates a server for each request and checks each message several times. What is
 * not plain about the end of the call, such as an error or a question to the client, is written by the SDK.
 *
 * @returns the JSON text of the response, or a response; `undefined`, before anything ran, if the SDK has to read the request.
 */
export async function callDirectly(
  parts: ServerParts,
  { text, header, signal }: PostedMessage,
  { session: open, write }: DirectCallServices,
): Promise<string | Response | undefined> {
  if (!mayBePlain(header)) return undefined;
  const { sdk, options, info } = parts;
  const parsed = parseJson(text, MESSAGE_BOUNDS);
  const call = "value" in parsed ? readPlainCall(sdk, parsed.value, header) : undefined;
  if (call === undefined) return undefined;
  const session = await open();
  const { registry } = session;
  const refused = refuseParamHeaders(call.message, header, (name) =>
    registry.has(name) ? registry.get(name).inputSchema : undefined,
  );
  if (refused !== undefined) return refused;
  const [ended] = await Promise.allSettled([
    callTool(exchangeParts(parts, session), options, call, contextOf(call, signal)),
  ]);
  const written = ended.status === "fulfilled" ? plainResponse(sdk, call, ended.value, info) : undefined;
  if (written !== undefined) return written;
  const request = new Request("http://server", { method: "POST", headers: plainHeaders(call), signal });
  return write(request, call.message, ended);
}

function exchangeParts({ sdk, runs, held }: ServerParts, session: Session): ExchangeParts {
  const capabilities = (context: ServerContext) => declared(sdk, context);
  return { sdk, runs, held, isModern: true, listsAll: true, session: async () => session, capabilities };
}

/** The part of the SDK's context that a call uses on this wire if it wants no notifications. */
function contextOf({ envelope }: PlainCall, signal: AbortSignal): ServerContext {
  const nothing = async (): Promise<void> => {};
  const mcpReq = { signal, envelope, requestState: () => undefined, notify: nothing, log: nothing };
  return { mcpReq } as unknown as ServerContext;
}
