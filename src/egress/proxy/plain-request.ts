import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { HEADER_VALUE, HOP_BY_HOP_HEADERS } from "../../base/http-syntax.ts";
import { EgressError } from "../egress-error.ts";
import { checkMethod } from "../request.ts";
import type { TrafficMeter } from "./traffic-meter.ts";

/** The most bytes of a response's headers. */
const HEADER_BYTES = 32_768;

/** @throws {EgressError} if a request cannot be passed on. */
export function checkPlain({ method = "", headers }: IncomingMessage): void {
  checkMethod(method);
  // A server may ignore an offer of HTTP/2 (RFC 9113, section 3.1), but not what a WebSocket client needs.
  if (headers.upgrade !== undefined && headers.upgrade.toLowerCase() !== "h2c")
    throw new EgressError("request_invalid", "the proxy passes no protocol on but HTTP/1.1: use https");
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    throw new EgressError("request_invalid", "the proxy takes no transfer coding but 'chunked'");
}

/**
 * Sends a request over a connection of its own, and passes the response on. The message is serialised again,
 * so that the server reads exactly the request that was checked.
 *
 * @throws {Error} an {@link EgressError} if the budget is used up; otherwise the error of a stream.
 */
export async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  server: Socket,
  meter: TrafficMeter,
): Promise<void> {
  // By default, Node.js would write the chunks of a GET as bytes after the request, which a server reads as another request.
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  const framing = isChunked ? { "transfer-encoding": "chunked" } : {};
  try {
    const outgoing = httpRequest({
      // Node.js asks it for the socket only if no agent is given.
      createConnection: () => server,
      setHost: false,
      method: request.method ?? "",
      path: url.pathname + url.search,
      headers: { ...forwarded(request), ...framing, host: url.host, connection: "close" },
      maxHeaderSize: HEADER_BYTES,
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once("response", resolve).on("error", reject);
      // Informational responses are dropped, but count.
      outgoing.on("information", () => {
        try {
          meter.check(0);
        } catch (error) {
          outgoing.destroy(error as EgressError);
        }
      });
      response.once("close", () => outgoing.destroy(new EgressError("aborted", "the client has gone")));
    });
    const sent = pipeline(request, meter.sending(), outgoing);
    // A server may answer without reading the whole body.
    sent.catch(() => {});
    const incoming = await Promise.race([answered, sent.then(() => answered)]);
    meter.check(0);
    response.sendDate = false;
    response.writeHead(incoming.statusCode ?? 502, fieldsOf(incoming));
    await pipeline(incoming, meter.receiving(), response);
  } finally {
    server.destroy();
  }
}

/** The headers that are passed on, each with all its values. */
function forwarded(message: IncomingMessage): Record<string, string[]> {
  const { rawHeaders, headers } = message;
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const passed: Record<string, string[]> = Object.create(null);
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    const value = rawHeaders[index + 1] as string;
    if (HOP_BY_HOP_HEADERS.has(name) || (named.has(name) && name !== "content-length")) continue;
    if (!HEADER_VALUE.test(value))
      throw new EgressError("request_invalid", `the header '${name}' has an invalid value`);
    passed[name] = [...(passed[name] ?? []), value];
  }
  return passed;
}

/** As a flat list, for a response. */
function fieldsOf(message: IncomingMessage): string[] {
  return Object.entries(forwarded(message)).flatMap(([name, values]) =>
    values.flatMap((value) => [name, value]),
  );
}
