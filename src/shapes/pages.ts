import { ACCESS } from "../http/access.ts";
import {
  anyJson,
  anyObject,
  anyOf,
  constant,
  integer,
  list,
  object,
  openObject,
  optional,
  string,
} from "../json/shape.ts";
import { content, json, nothing, operations, REFUSALS, Refusal } from "./operation.ts";

/** Why a request of a client of MCP is refused. */
const OF_MCP = [
  REFUSALS.McpUnauthenticated,
  REFUSALS.McpForbidden,
  REFUSALS.McpOverloaded,
  REFUSALS.McpDraining,
];

export const JsonRpcMessage = openObject(
  {
    jsonrpc: constant("2.0"),
    id: optional(anyOf([string(), integer(), constant(null)])),
    method: optional(string()),
    params: optional(anyObject()),
    result: optional(anyObject()),
    error: optional(openObject({ code: integer(), message: string(), data: optional(anyJson()) })),
  },
  { description: "A message of MCP. A response has a result or an error, and others a method." },
);

export const ProtectedResource = object({
  resource: string(),
  authorization_servers: list(string()),
  scopes_supported: optional(list(string())),
  bearer_methods_supported: list(constant("header")),
});

/** The routes of MCP, and those of the page, which anyone can load. */
export const PAGES = operations({
  sendMcpMessage: {
    method: "POST",
    path: "/mcp",
    summary: "Takes a message of an MCP client; only with server.mcp",
    description:
      "The Streamable HTTP transport of MCP, in the revisions 2025-11-25 and 2026-07-28. mcp-server.md " +
      "describes it. Access tokens of an authorization server are accepted with server.mcp.oauth.",
    access: ACCESS.mcp,
    headers: {
      "mcp-session-id": optional(
        string({
          description: "The session that the response to initialize named; only revision 2025-11-25.",
        }),
      ),
      "mcp-protocol-version": optional(string({ description: "The revision of MCP." })),
    },
    body: JsonRpcMessage,
    answers: {
      200: content(
        {
          "application/json": JsonRpcMessage,
          "text/event-stream": string({
            description: "Messages as JSON-RPC, the last of which is the response.",
          }),
        },
        "The response to a request.",
        {
          "mcp-session-id": string({
            description: "The session of the client; only in response to initialize of revision 2025-11-25.",
          }),
        },
      ),
      202: nothing("The message was a notification or a response."),
      400: json(
        anyOf([JsonRpcMessage, Refusal]),
        "The message is not valid JSON-RPC, or its headers contradict it.",
      ),
      404: json(
        anyOf([JsonRpcMessage, Refusal]),
        "There is no such session of MCP, or no such method in revision 2026-07-28.",
      ),
    },
    refusals: [...OF_MCP, REFUSALS.TooLarge, REFUSALS.UnsupportedMediaType],
  },
  listenToMcp: {
    method: "GET",
    path: "/mcp",
    summary: "Sends messages of the server to an MCP client of revision 2025-11-25",
    access: ACCESS.mcp,
    headers: {
      "mcp-session-id": string({ description: "The session that the response to initialize named." }),
    },
    answers: {
      200: content(
        { "text/event-stream": string() },
        "Messages as server-sent events, until the client or the server ends.",
      ),
      400: json(anyOf([JsonRpcMessage, Refusal]), "The session is missing, or the `host` header is invalid."),
    },
    refusals: OF_MCP,
  },
  endMcpSession: {
    method: "DELETE",
    path: "/mcp",
    summary: "Ends the session of an MCP client of revision 2025-11-25",
    access: ACCESS.mcp,
    headers: {
      "mcp-session-id": string({ description: "The session that the response to initialize named." }),
    },
    answers: {
      200: nothing("The session has ended."),
      400: json(anyOf([JsonRpcMessage, Refusal]), "The session is missing, or the `host` header is invalid."),
    },
    refusals: OF_MCP,
  },
  describeProtectedResource: {
    method: "GET",
    path: "/.well-known/oauth-protected-resource",
    summary: "Says where clients of MCP get access tokens (RFC 9728); only with server.mcp.oauth",
    access: ACCESS.public,
    answers: { 200: json(ProtectedResource, "The metadata of the MCP server.") },
  },
  describeProtectedMcp: {
    method: "GET",
    path: "/.well-known/oauth-protected-resource/mcp",
    summary: "The same, at the path of the MCP server",
    access: ACCESS.public,
    answers: { 200: json(ProtectedResource, "The metadata of the MCP server.") },
  },
  redirectToConsole: {
    method: "GET",
    path: "/console",
    summary: "Leads to the page of the console; only with server.console",
    access: ACCESS.public,
    answers: { 308: nothing("The page is at /console/.", { location: constant("/console/") }) },
  },
  getConsole: {
    method: "GET",
    path: "/console/",
    summary: "Returns the page of the console; only with server.console",
    access: ACCESS.public,
    answers: {
      200: content(
        { "text/html": string() },
        "The page. It has no data; what it shows comes from the routes of this document.",
      ),
      304: nothing("The page is that of if-none-match."),
    },
    refusals: [REFUSALS.PageNotBuilt],
  },
  getConsoleFile: {
    method: "GET",
    path: "/console/:path",
    summary: "Returns a file of the page of the console, such as a script",
    access: ACCESS.public,
    answers: {
      200: content({ "*/*": anyJson() }, "The file, with its media type."),
      304: nothing("The file is that of if-none-match."),
    },
    refusals: [REFUSALS.FileNotFound],
  },
});
