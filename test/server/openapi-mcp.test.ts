import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/json/value.ts";
import { type Answer, send } from "../executor/harness.ts";
import { openApiDocument } from "../openapi-document.ts";
import { startConsole } from "./console/console.ts";
import { TOKENS, WritingTool } from "./harness.ts";

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonObject }>> }>
  >;
}
const DOCUMENT = openApiDocument<{
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonObject>> };
}>();
const ajv = new Ajv2020({
  strictTypes: false,
  strictRequired: false,
  allowUnionTypes: true,
  keywords: ["components"],
});
ajv.addSchema({ $id: "openapi", components: DOCUMENT.components });

/** Checks that a response is documented, and that its body has the documented schema. */
function check(template: string, method: string, { status, headers, text }: Answer): void {
  const documented = DOCUMENT.paths[template]?.[method.toLowerCase()]?.responses[status];
  if (documented === undefined) throw new Error(`${method} ${template} answers ${status}: ${text}`);
  if (text === "") return;
  const type = String(headers["content-type"]).split(";", 1)[0] ?? "";
  const media = documented.content?.[type] ?? documented.content?.["*/*"];
  if (media === undefined) throw new Error(`${method} ${template} answers ${status} with ${type}`);
  const schema = JSON.parse(JSON.stringify(media.schema).replaceAll('"#/', '"openapi#/')) as JsonObject;
  const validate = ajv.compile(schema);
  const value: unknown = type === "application/json" ? JSON.parse(text) : text;
  expect([validate(value), validate.errors, method, template, status]).toEqual([
    true,
    null,
    method,
    template,
    status,
  ]);
}

test("real responses of MCP and of the console's page match docs/openapi.yaml", async () => {
  const oauth = { resource: "https://tools.example.com/mcp", issuer: "https://login.example.com" };
  const server = await startConsole([new WritingTool().tool], { mcp: { oauth } });
  const exchange = async (
    method: string,
    path: string,
    { token, body, template = path, ...headers }: Record<string, string | undefined> = {},
  ): Promise<Answer> => {
    const answer = await send(server, {
      method,
      path,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && {
          "content-type": "application/json",
          "content-length": String(Buffer.byteLength(body)),
          accept: "application/json, text/event-stream",
        }),
        ...headers,
      },
      ...(body !== undefined && { body }),
    });
    check(template, method, answer);
    return answer;
  };
  const message = (method: string, id: number | undefined, params: object = {}): string =>
    JSON.stringify({ jsonrpc: "2.0", ...(id !== undefined && { id }), method, params });
  const statuses: number[] = [];
  const post = async (body: string, headers: Record<string, string> = {}, token: string = TOKENS.alice) => {
    const answer = await exchange("POST", "/mcp", { token, body, ...headers });
    statuses.push(answer.status);
    return answer;
  };

  const started = await post(
    message("initialize", 1, {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    }),
  );
  const session = String(started.headers["mcp-session-id"]);
  const headers = { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
  await post(message("notifications/initialized", undefined), headers);
  await post(message("tools/list", 2), headers);
  await post("{", headers);
  await post(message("tools/list", 3), { ...headers, "mcp-session-id": "unknown" });
  await post(message("tools/list", 4), headers, TOKENS.carol);
  await post(message("tools/list", 5), headers, "a-token-that-is-wrong");
  await post(message("tools/list", 6), { ...headers, "content-type": "text/plain" });
  expect(statuses).toEqual([200, 202, 200, 400, 404, 403, 401, 415]);

  const { alice: token, carol } = TOKENS;
  await exchange("GET", "/mcp", { token });
  await exchange("GET", "/mcp", { token: carol });
  await exchange("DELETE", "/mcp", { token });
  await exchange("DELETE", "/mcp", { token, ...headers });
  for (const path of [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/console",
    "/console/",
  ])
    await exchange("GET", path);
  const template = "/console/{path}";
  expect((await exchange("GET", "/console/favicon.svg", { template })).status).toBe(200);
  expect((await exchange("GET", "/console/nothing", { template })).status).toBe(404);
});
