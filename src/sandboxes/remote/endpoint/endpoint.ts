import { SAFE_METHODS } from "../../../base/http-syntax.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { NetGrant } from "../../../policy/grant/net-grant.ts";
import {
  ArgumentPlaceError,
  compileHeaders,
  compileUrl,
  fillBody,
  parseHttpUrl,
  placesIn,
  restOf,
  TemplateError,
  withQuery,
  writeBody,
} from "../../../tool/http-template.ts";
import type {
  EndpointImplementation,
  ExecutorImplementation,
  HttpImplementation,
  HttpResponseRules,
  McpImplementation,
  RemoteImplementation,
  WebImplementation,
} from "../../../tool/implementations/remote-implementation.ts";
import type { SandboxTask } from "../../contract/sandbox.ts";
import type { Secrets } from "./secrets.ts";

/** An implementation behind an endpoint. */
export type EndpointTool = Exclude<RemoteImplementation, ExecutorImplementation | McpImplementation>;

/** A compiled {@link EndpointTool}. */
export interface Endpoint {
  /** The names of the secrets in its requests. */
  readonly secrets: readonly string[];
  /** Whether its method is safe (RFC 9110, section 9.2.1): the request asks for no change. */
  readonly isSafe: boolean;
  /** How the output is read; `"page"` for a text of any media type, with its URL and status. */
  readonly response: HttpResponseRules | "page";
  readonly maxRedirects: number;
  /** The names, in lower case, of headers that are not sent to another origin after a redirect. */
  readonly credentialHeaders: readonly string[];
  /**
   * Returns the request of a call.
   *
   * @throws {ArgumentPlaceError} if an argument cannot be inserted into it.
   */
  request(task: SandboxTask, secrets: Secrets): EndpointRequest;
}

/** The parts of a request that depend on the call. */
export interface EndpointRequest {
  readonly method: string;
  readonly url: string | URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly grants: readonly NetGrant[];
}

const METHODS_WITH_BODY: readonly string[] = ["POST", "PUT", "PATCH"];
const JSON_HEADERS = Object.freeze({ "content-type": "application/json", accept: "application/json" });
const NOTHING: JsonObject = Object.freeze({});
/** Most servers send what was asked for first. */
const WEB_ACCEPT = "text/html, text/plain, application/json, text/*;q=0.9, */*;q=0.1";
const MAX_WEB_REDIRECTS = 5;
const NO_GRANTS: readonly NetGrant[] = Object.freeze([]);

/**
 * Compiles an implementation.
 *
 * @throws {TemplateError} if it is not valid.
 */
export function compileEndpoint(tool: EndpointTool): Endpoint {
  if (isHttp(tool)) return compileHttp(tool.http);
  return isWeb(tool) ? compileWeb(tool.web) : compileOwn(tool);
}

function isWeb(tool: EndpointTool): tool is { readonly web: WebImplementation } {
  return "web" in tool && tool.web !== undefined;
}

function isHttp(tool: EndpointTool): tool is { readonly http: HttpImplementation } {
  return "http" in tool && tool.http !== undefined;
}

/** The embedder's own endpoint, which may have any address. */
function compileOwn(implementation: EndpointImplementation): Endpoint {
  const url = parseHttpUrl(implementation.url);
  if (typeof url === "string") throw new TemplateError(url);
  const grants = Object.freeze([{ origin: url.origin, addresses: ["0.0.0.0/0", "::/0"] }]);
  return {
    secrets: [],
    isSafe: false,
    response: {},
    maxRedirects: 0,
    credentialHeaders: [],
    request: ({ callId, toolName, sessionId, canonical }) => ({
      method: "POST",
      url,
      headers: JSON_HEADERS,
      grants,
      body: `{"id":${JSON.stringify(callId)},"name":${JSON.stringify(toolName)},"session":${JSON.stringify(sessionId)},"arguments":${canonical.text}}`,
    }),
  };
}

/** The URL is an argument, so the grant alone says where the request may go. */
function compileWeb({ method }: WebImplementation): Endpoint {
  const isSafe = method === "GET";
  return {
    secrets: [],
    isSafe,
    response: "page",
    credentialHeaders: [],
    maxRedirects: isSafe ? MAX_WEB_REDIRECTS : 0,
    request: ({ input, capabilities }) => {
      const { url: given, body, contentType } = isJsonObject(input) ? input : NOTHING;
      const url = parseHttpUrl(given);
      if (typeof url === "string") throw new ArgumentPlaceError(url);
      return {
        method,
        url,
        grants: capabilities.net ?? NO_GRANTS,
        headers: {
          accept: WEB_ACCEPT,
          ...(!isSafe && { "content-type": String(contentType ?? "application/json") }),
        },
        body: isSafe ? undefined : String(body ?? ""),
      };
    },
  };
}

function compileHttp(http: HttpImplementation): Endpoint {
  const { method = "GET", body, bodyFormat = "json", query, response = {}, maxRedirects = 0 } = http;
  const url = compileUrl(http.url);
  const headers = compileHeaders(http.headers ?? {});
  const used = url.variables.union(headers.variables).union(placesIn(query));
  const sendsRest = body === undefined && METHODS_WITH_BODY.includes(method);
  const given = new Set(Object.keys(http.headers ?? {}).map((name) => name.toLowerCase()));
  const hasType = given.has("content-type");
  const hasJson = (body !== undefined || sendsRest) && bodyFormat === "json";
  const own = {
    ...(hasJson && !hasType && { "content-type": "application/json" }),
    ...(!given.has("accept") && { accept: response.text ? "*/*" : "application/json" }),
  };
  const isFixed = headers.variables.size === 0 && headers.secrets.length === 0;
  const fixed = isFixed ? Object.freeze({ ...own, ...headers.expand(NOTHING, new Map()) }) : undefined;
  const bodyOf = (args: JsonObject): JsonValue | undefined => {
    if (sendsRest) return restOf(args, used);
    return body === undefined ? undefined : fillBody(body, args);
  };
  return {
    secrets: headers.secrets,
    credentialHeaders: headers.credentialHeaders,
    response,
    maxRedirects,
    isSafe: SAFE_METHODS.has(method),
    request: (task, secrets) => {
      const args = isJsonObject(task.input) ? task.input : NOTHING;
      const value = bodyOf(args);
      const written = value === undefined ? undefined : writeBody(value, bodyFormat);
      const filled = query === undefined ? NOTHING : fillBody(query, args);
      const sent = fixed ?? { ...own, ...headers.expand(args, secrets) };
      return {
        method,
        url: withQuery(url.expand(args), filled as JsonObject),
        headers:
          written === undefined || bodyFormat === "json" || hasType
            ? sent
            : { ...sent, "content-type": written.contentType },
        body: written?.text,
        grants: task.capabilities.net ?? NO_GRANTS,
      };
    },
  };
}
