import type { IncomingMessage } from "node:http";
import { EgressError } from "../egress-error.ts";
import { readUrl } from "../request-check.ts";

/** The authority of a `CONNECT` request (RFC 9110, section 9.3.6): a host and a port. */
const AUTHORITY = /^(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$/;

/**
 * Returns the URL of a plain request to a proxy.
 *
 * @throws {EgressError} if it is not an absolute `http:` URL, or the `host` header names another host.
 */
export function requestedUrl(request: IncomingMessage): URL {
  const { url: target = "" } = request;
  if (!/^http:\/\/[^/]/i.test(target))
    throw new EgressError(
      "request_invalid",
      "a proxy takes absolute http: URLs, and CONNECT for https: and for everything else",
    );
  const url = readUrl(target);
  checkHost(request, url);
  return url;
}

/**
 * Returns the origin to which a `CONNECT` request asks for a tunnel. All tunnels are for TLS.
 *
 * @throws {EgressError} if it does not have exactly a host and a port, or the `host` header names another host.
 */
export function tunnelOrigin(request: IncomingMessage): URL {
  const { url: target = "" } = request;
  const url = AUTHORITY.test(target) ? URL.parse(`https://${target}`) : null;
  if (url === null) throw new EgressError("request_invalid", "CONNECT must be followed by HOST:PORT");
  checkHost(request, url);
  return url;
}

/** Servers, and proxies before them, may go by the header and not by the URL. HTTP/1.0 does not have it. */
function checkHost({ rawHeaders }: IncomingMessage, url: URL): void {
  const hosts = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "host",
  );
  const isSame = hosts.every((host) => {
    const named = /^[^/?#@\\\s]+$/.test(host) ? URL.parse(`${url.protocol}//${host}`) : null;
    // Some clients leave out the port.
    return (
      named !== null && named.hostname === url.hostname && (named.port === url.port || named.port === "")
    );
  });
  if (hosts.length > 1 || !isSame)
    throw new EgressError("request_invalid", "the 'host' header must name the host of the request's URL");
}
