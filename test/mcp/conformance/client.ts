/**
 * The client of the conformance suite: `node client.ts URL`, with the scenario in its environment. It imports the tools of the
 * server with `openMcp`, and calls each through the whole pipeline. It plays the browser, and the person who accepts every form
 * as it is filled in already.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/json/value.ts";
import type { CallingClient } from "../../../src/mcp/gateway/client-link.ts";
import { openMcp } from "../../../src/mcp/import/open-mcp.ts";
import type { OAuthOptions } from "../../../src/mcp/oauth/oauth-options.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { McpConnection } from "../../../src/sandboxes/remote/mcp-client/connection.ts";

interface Context {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[];
}

const url = process.argv.at(-1) ?? "";
const { MCP_CONFORMANCE_SCENARIO: scenario = "", MCP_CONFORMANCE_CONTEXT: given = "{}" } = process.env;
const context = JSON.parse(given) as Context;
const directory = await mkdtemp(join(tmpdir(), "sandgate-conformance-"));
const addresses = ["127.0.0.1/32", "::1/128"];

const oauth: OAuthOptions = {
  directory,
  // The suite chooses the ports of its authorization servers.
  net: [{ origin: "http://localhost:*", addresses }],
  ...(context.client_id !== undefined && { clientId: context.client_id }),
  ...(context.client_secret !== undefined && { clientSecret: context.client_secret }),
  ...(scenario === "auth/basic-cimd" && {
    clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
  }),
  ...(scenario.startsWith("auth/client-credentials") && { grant: "client_credentials" as const }),
  onAuthorize: (page) => void fetch(page).catch(() => {}),
};

/** The client of every call. */
const CLIENT: CallingClient = {
  capabilities: { elicitation: { form: {} } },
  ask: async (requests) =>
    Object.fromEntries(
      Object.entries(requests).map(([key, { params = {} }]) => [key, accepted(params["requestedSchema"])]),
    ),
  progress: () => {},
};

try {
  const registry = new ToolRegistry();
  await using sandboxes = await openSandboxes();
  const isProtected = scenario.startsWith("auth/");
  await using mcp = await openMcp({
    registry,
    sandboxes,
    servers: { s: { url, addresses, ...(isProtected && { oauth }) } },
    clientOf: () => CLIENT,
    onNotice: ({ kind, message }) => console.error(`${kind}: ${message}`),
  });
  const problem = mcp.servers.get("s")?.problem;
  if (problem !== undefined) throw new Error(problem);
  const policy = new RulePolicy({ rules: [{ tools: ["*"], effect: "allow", sandboxes: ["remote"] }] });
  const engine = new ToolDispatchEngine();
  const calls =
    context.toolCalls?.map(({ name, arguments: args }) => ({ name: `mcp_s_${name}`, args })) ??
    registry.names.map((name) => ({ name, args: argumentsOf(registry.get(name).inputSchema as JsonObject) }));
  for (const { name, args } of calls) {
    const call = { id: name, name, arguments: args };
    const execution = await engine.dispatch(call, { registry, policy, sandboxes, sessionId: "conformance" });
    console.error(name, JSON.stringify(execution?.error ?? execution?.output).slice(0, 500));
  }
  if (scenario === "http-standard-headers") await requestAll(mcp.servers.get("s")?.connection);
} finally {
  await rm(directory, { recursive: true, force: true });
}

/** Sends the requests besides calls of tools that a proxy passes on. */
async function requestAll(connection: McpConnection | undefined): Promise<void> {
  const wire = await connection?.wire();
  for (const [method, params] of [
    ["resources/list", {}],
    ["resources/read", { uri: "file:///example" }],
    ["prompts/list", {}],
    ["prompts/get", { name: "example" }],
  ] as const) {
    await wire?.request(method, params).catch((error: Error) => console.error(`${method}: ${error.message}`));
  }
}

/** Accepts a form with the defaults of its fields. */
function accepted(schema: JsonValue | undefined): JsonObject {
  const fields = isJsonObject(schema) && isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const filled = Object.entries(fields).flatMap(([name, field]) =>
    isJsonObject(field) && field["default"] !== undefined ? [[name, field["default"]] as const] : [],
  );
  return { action: "accept", content: Object.fromEntries(filled) };
}

/** Values of the types that the suite's tools want. */
function argumentsOf({ properties = {}, required = [] }: JsonObject): JsonObject {
  const values: Record<string, string | number | boolean> = {};
  for (const name of required as readonly string[]) {
    const { type } = (properties as Record<string, JsonObject>)[name] ?? {};
    values[name] = type === "number" || type === "integer" ? 1 : type === "boolean" ? true : "text";
  }
  return values;
}
