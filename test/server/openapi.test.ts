import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { EventStream } from "../../src/engine/call/events.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { JournalHistory } from "../../src/journal/history/journal-history.ts";
import { openJournal } from "../../src/journal/journal.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { Redaction } from "../../src/redaction/redaction.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { Admin, ReloadableTools } from "../../src/server/admin.ts";
import { StreamRoom } from "../../src/server/event-stream.ts";
// Inside: lists the routes that a server adds, which cannot be asked for over HTTP.
import { addSessionRoutes } from "../../src/server/routes/app.ts";
import type { App } from "../../src/server/routes/serve.ts";
import { SessionService } from "../../src/server/service.ts";
import { openSessions } from "../../src/sessions/sessions.ts";
import type { Answer } from "../executor/harness.ts";
import { recordCalls, TemporaryDirectory } from "../journal/records.ts";
import { openApiDocument } from "../openapi-document.ts";
import { Browser, startConsole } from "./console/console.ts";
import { type ListedConfirmation, pathOf, TestClient, WritingTool } from "./harness.ts";
import { SubscribedBrowser, vapidKey } from "./notifying/push-browser.ts";

interface Operation {
  readonly requestBody?: {
    readonly content: { readonly "application/json": { readonly schema: { $ref: string } } };
  };
  readonly responses: Readonly<
    Record<
      string,
      { readonly content?: Readonly<Record<string, { readonly schema: JsonObject & { $ref?: string } }>> }
    >
  >;
}

const DOCUMENT = openApiDocument<{
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonObject>> };
}>();
const PATHS = Object.entries(DOCUMENT.paths).filter(([path]) =>
  /^\/v1\/(sessions|confirmations|policy|pause|resume|overview|journal|console|calls|programs)/.test(path),
);

const ajv = new Ajv2020({ strictTypes: false, strictRequired: false, keywords: ["components"] });
ajv.addSchema({ $id: "openapi", components: DOCUMENT.components });

describe("docs/openapi.yaml", () => {
  test("has exactly the routes of the sessions", async () => {
    await using sandboxes = await openSandboxes();
    await using sessions = await openSessions({
      registry: new ToolRegistry(),
      policy: new HostPolicy(),
      sandboxes,
    });
    const service = new SessionService({
      approves: () => false,
      room: new StreamRoom(),
      sessions,
      events: new EventStream(),
      admin: new Admin(new ReloadableTools({ registry: new ToolRegistry(), policy: new HostPolicy() }), {}),
      inspected: { registry: new ToolRegistry(), redaction: new Redaction() },
      bounds: { mode: "cautious", workspaces: [], bodyBytes: 1_000 },
    });
    const app = { routes: new Hono(), has: () => true, guard: () => [] };
    addSessionRoutes(app as unknown as App, service);
    const routes = app.routes.routes.map(
      ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`,
    );
    const documented = PATHS.flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.sort()).toEqual([...new Set(routes)].sort());
  });

  test("every schema of the sessions compiles", () => {
    const references = JSON.stringify(PATHS).match(/#\/components\/schemas\/\w+/g) ?? [];
    for (const reference of new Set(references)) {
      expect(() => ajv.compile({ $ref: `openapi${reference}` })).not.toThrow();
    }
  });
});

test("real requests and responses match docs/openapi.yaml", async () => {
  const asks: Tool = {
    name: "asks",
    description: "",
    inputSchema: { type: "object" },
    sideEffects: "none",
    host: (_input, { ask }) => ask({ question: "Which?", choices: ["a", "b"] }),
  };
  using directory = new TemporaryDirectory();
  await using journal = await openJournal({ directory: directory.path });
  await recordCalls(journal, 2);
  const { key } = vapidKey();
  const devices = join(directory.path, "devices.json");
  const server = await startConsole([new WritingTool().tool, asks], {
    journal,
    history: new JournalHistory(journal, directory.path),
    sessions: { notify: { webPush: { key, contact: "mailto:ops@example.com", devices } } },
  });
  const push = "/v1/console/push";
  const { keys } = new SubscribedBrowser().subscription("");
  const erin = new TestClient(server, "erin");
  const [alice, carol, bob] = [
    new TestClient(server, "alice"),
    new TestClient(server, "carol"),
    new TestClient(server, "bob"),
  ];
  const exchanged = new Set<string>();
  const check = async (template: string, method: string, sent: Promise<Answer>): Promise<unknown> => {
    const { status, headers, text } = await sent;
    const operation = DOCUMENT.paths[template]?.[method];
    const media =
      operation?.responses[status]?.content?.[String(headers["content-type"]).split(";", 1)[0] ?? ""];
    exchanged.add(`${method} ${template} ${status}`);
    if (status === 204 && operation?.responses[status] !== undefined) return undefined;
    if (media === undefined) throw new Error(`${method} ${template} answers ${status}: ${text}`);
    const body: unknown = JSON.parse(text);
    const validate = ajv.compile({ $ref: `openapi${media.schema.$ref}` });
    expect([validate(body), validate.errors, method, template]).toEqual([true, null, method, template]);
    return body;
  };
  const endpoint = "https://fcm.googleapis.com/fcm/send/1";
  await check(push, "get", carol.send("GET", push));
  await check(push, "post", carol.send("POST", push, { endpoint, keys }));
  await check(push, "delete", carol.send("DELETE", push, { endpoint }));
  const at = "/v1/sessions/{id}";
  const open = (): Promise<unknown> =>
    check("/v1/sessions", "post", alice.send("POST", "/v1/sessions", { kind: "main" }));
  const { id } = (await open()) as { id: string };
  const session = `/v1/sessions/${id}`;
  const calls = [{ id: "c1", name: "write_note", arguments: {} }];
  const add = (body: object): Promise<unknown> =>
    check(`${at}/turns`, "post", alice.send("POST", `${session}/turns`, body));
  const { turnId } = (await add({ calls, messageId: "m1", turnId: "t1" })) as { turnId: string };
  await add({ calls: [], messageId: "m1", turnId: "t1" });
  await check("/v1/sessions", "post", carol.send("POST", "/v1/sessions", {}));
  await check("/v1/sessions", "get", carol.send("GET", "/v1/sessions"));
  for (const [path, at] of [
    ["/v1/overview", "/v1/overview?range=hour"],
    ["/v1/journal", "/v1/journal"],
    ["/v1/journal/calls", "/v1/journal/calls?limit=1"],
    ["/v1/journal/calls/{seq}", "/v1/journal/calls/2"],
  ] as const) {
    await check(path, "get", carol.send("GET", at));
    await check(path, "get", alice.send("GET", at));
  }
  for (const client of [erin, alice]) {
    await check("/v1/journal/verification", "post", client.send("POST", "/v1/journal/verification"));
  }
  await check("/v1/console/tools", "get", carol.send("GET", "/v1/console/tools"));
  await check("/v1/sessions", "get", carol.send("GET", "/v1/sessions?limit=all"));
  await check(`${at}/definitions`, "get", alice.send("GET", `${session}/definitions?format=anthropic`));
  await check(`${at}/definitions`, "get", bob.send("GET", `${session}/definitions`));
  await check(`${at}/turns/{turnId}`, "get", alice.send("GET", `${session}/turns/${turnId}`));
  const [confirmation] = (await carol.confirmations()) as readonly [ListedConfirmation];
  await check("/v1/confirmations", "get", carol.send("GET", "/v1/confirmations"));
  await check("/v1/programs", "get", carol.send("GET", "/v1/programs"));
  const path = `${at}/turns/{turnId}/confirmations/{requestId}`;
  await check(path, "get", carol.send("GET", pathOf(confirmation)));
  await check(path, "post", carol.answer(confirmation, { decision: "allow", digest: "" }));
  await check(path, "post", carol.answer(confirmation, { decision: "always" }));
  await check(path, "post", carol.answer(confirmation, { decision: "deny" }));
  await check(path, "get", carol.send("GET", pathOf(confirmation)));
  await alice.executions(id, turnId);
  await check(`${at}/turns/{turnId}`, "get", alice.send("GET", `${session}/turns/${turnId}?format=openai`));
  const { approvals } = (await check(
    `${at}/approvals`,
    "get",
    carol.send("GET", `${session}/approvals`),
  )) as {
    approvals: readonly { id: string }[];
  };
  const one = `${session}/approvals/${approvals[0]?.id}`;
  await check(`${at}/approvals/{approvalId}`, "delete", carol.send("DELETE", one));
  await check(`${at}/approvals`, "delete", carol.send("DELETE", `${session}/approvals`));
  const { turnId: asking } = (await add({ calls: [{ id: "q1", name: "asks", arguments: {} }] })) as {
    turnId: string;
  };
  const [question] = (await carol.confirmations()) as readonly [ListedConfirmation];
  await check("/v1/confirmations", "get", carol.send("GET", "/v1/confirmations"));
  await check(path, "get", carol.send("GET", pathOf(question)));
  await check(path, "post", carol.answer(question, { decision: "answer", answer: "c" }));
  await check(path, "post", carol.answer(question, { decision: "answer", answer: "b" }));
  await check(path, "get", carol.send("GET", pathOf(question)));
  await alice.executions(id, asking);
  await check(at, "patch", carol.send("PATCH", session, { mode: "manual" }));
  await check(at, "get", alice.send("GET", session));
  await check(at, "get", bob.send("GET", session));
  const { turnId: waiting } = (await add({ calls })) as { turnId: string };
  const [late] = (await carol.confirmations()) as readonly [ListedConfirmation];
  await check(
    `${at}/turns/{turnId}/cancel`,
    "post",
    alice.send("POST", `${session}/turns/${waiting}/cancel`, {}),
  );
  await check(path, "post", carol.answer(late, { decision: "allow" }));
  await check(`${at}/changes`, "get", alice.send("GET", `${session}/changes`));
  await check(`${at}/changes`, "post", carol.send("POST", `${session}/changes`, { decision: "reject" }));
  await check(`${at}/changes`, "post", alice.send("POST", `${session}/changes`, { decision: "reject" }));
  await check(at, "delete", alice.send("DELETE", session));
  const frank = new TestClient(server, "frank");
  const trial = "/v1/journal/policy-diff";
  await check(trial, "post", frank.send("POST", trial, { policy: "rules: []", last: 10 }));
  await check(trial, "post", frank.send("POST", trial, { policy: "rules: {}", last: 10 }));
  await check(trial, "post", erin.send("POST", trial, { policy: "rules: []", last: 10 }));
  const repeat = "/v1/journal/calls/{seq}/repeat";
  const again = "/v1/journal/calls/2/repeat";
  await check(repeat, "post", frank.send("POST", again, { dryRun: true }));
  await check(repeat, "post", frank.send("POST", again, { dryRun: false }));
  await check(repeat, "post", frank.send("POST", again, {}));
  const yaml = (body: string) => ({
    body,
    headers: { "content-type": "application/yaml", "content-length": String(Buffer.byteLength(body)) },
  });
  await check("/v1/policy", "put", frank.send("PUT", "/v1/policy", undefined, yaml("rules: []")));
  await check("/v1/policy", "put", frank.send("PUT", "/v1/policy", undefined, yaml("rules: {}")));
  await check("/v1/pause", "post", frank.send("POST", "/v1/pause"));
  const { id: paused } = (await open()) as { id: string };
  const refused = alice.send("POST", `/v1/sessions/${paused}/turns`, { calls });
  await check(`${at}/turns`, "post", refused);
  await check("/v1/resume", "post", alice.send("POST", "/v1/resume"));
  await check("/v1/resume", "post", frank.send("POST", "/v1/resume"));
  const login = "/v1/console/session";
  const browser = new Browser(server);
  await check(login, "post", browser.logIn("wrong-token"));
  await check(login, "post", browser.logIn(server.issueConsoleToken()));
  await check(login, "get", browser.send("GET", login));
  await check(login, "get", alice.send("GET", login));
  const shown = await check("/v1/calls", "get", browser.send("GET", "/v1/calls"));
  expect((shown as { calls: unknown[] }).calls).toHaveLength(3);
  for (const { ref } of (shown as { calls: { ref: string }[] }).calls)
    await check("/v1/calls/{ref}", "get", browser.send("GET", `/v1/calls/${ref}`));
  await check("/v1/calls", "get", alice.send("GET", "/v1/calls"));
  await check("/v1/calls", "get", browser.send("GET", "/v1/calls?limit=0"));
  const link = "/v1/console/answer-link";
  await check(link, "post", browser.send("POST", link, { body: { token: "unknown" } }));
  await check(login, "delete", browser.send("DELETE", login));
  const methods = new Set([...exchanged].map((each) => each.replace(/ \d+$/, "")));
  const all = PATHS.flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method} ${path}`),
  );
  expect(all.filter((each) => !methods.has(each))).toEqual([`get ${at}/events`, "get /v1/calls/events"]);
  expect([...exchanged].map((each) => each.split(" ").at(-1))).toEqual(
    expect.arrayContaining(["403", "404", "409", "410", "422", "503"]),
  );
});
