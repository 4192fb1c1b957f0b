import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { openApiText } from "../../scripts/reference/openapi-page.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { StreamReader } from "../../src/remote-protocol/event-stream.ts";
import { PROBLEMS } from "../../src/remote-protocol/problems.ts";
import { signRequest } from "../../src/remote-protocol/signatures/sign-request.ts";
import { openApiDocument } from "../openapi-document.ts";
import {
  type Answer,
  CountingTool,
  dispatchBody,
  HeldTool,
  type Sending,
  send,
  startExecutor,
  until,
} from "./harness.ts";

interface Response {
  readonly headers?: Readonly<Record<string, { readonly schema: JsonObject }>>;
  readonly content: Readonly<Record<string, { readonly schema: JsonObject }>>;
}
interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Response["content"] };
  readonly responses: Readonly<Record<string, Response>>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonObject>> };
}

const TEXT = readFileSync(resolve(import.meta.dirname, "../../docs/openapi.yaml"), "utf8");
const DOCUMENT = openApiDocument<Document>();

const ajv = new Ajv2020({ strictTypes: false, keywords: ["components"] });
ajv.addSchema({ $id: "openapi", components: DOCUMENT.components });

/** Validates a value against a schema of the document, and returns the errors. */
function flaws(schema: JsonObject, value: unknown): unknown {
  const [reference] = JSON.stringify(schema).match(/#\/components\/schemas\/\w+/) ?? [];
  const validate = ajv.compile(reference === undefined ? schema : { $ref: `openapi${reference}` });
  return validate(value) ? [] : validate.errors;
}

/** Sends a request, and checks it and its response against the document. */
async function exchange(executor: { readonly address: string }, sending: Sending): Promise<Answer> {
  const { method = "POST", path = "/v1/dispatch", body, headers } = sending;
  const operation = DOCUMENT.paths[path]?.[method.toLowerCase()];
  if (operation === undefined) throw new Error(`${method} ${path} is not documented`);
  const answer = await send(executor, sending);
  const documented = operation.responses[answer.status];
  if (documented === undefined) throw new Error(`${method} ${path} answers ${answer.status}: ${answer.text}`);
  const type = String(answer.headers["content-type"]).split(";", 1)[0] ?? "";
  const media = documented.content[type];
  if (media === undefined) throw new Error(`${answer.status} has the type ${type}`);
  expect(flaws(media.schema, type === "application/json" ? JSON.parse(answer.text) : answer.text)).toEqual(
    [],
  );
  for (const name of ["retry-after", "idempotency-replayed"]) {
    const value = answer.headers[name];
    if (value === undefined) continue;
    const schema = documented.headers?.[name]?.schema;
    if (schema === undefined) throw new Error(`${answer.status} has a header ${name}`);
    expect(flaws(schema, schema["type"] === "integer" ? Number(value) : value)).toEqual([]);
  }
  if (answer.status === 200 && body !== undefined && headers?.["content-type"] === "application/json") {
    const request = operation.requestBody?.content["application/json"]?.schema ?? {};
    expect(flaws(request, JSON.parse(body))).toEqual([]);
  }
  return answer;
}

const JSON_TYPE = { "content-type": "application/json" };

describe("docs/openapi.yaml", () => {
  test("is what scripts/openapi.ts writes", () => {
    expect(TEXT).toBe(openApiText());
  });

  test("names each operation once", () => {
    const names = Object.values(DOCUMENT.paths)
      .flatMap((operations) => Object.values(operations))
      .map(({ operationId }) => operationId);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test("all references in docs/openapi.yaml resolve, and its schemas compile", () => {
    const references = JSON.stringify(DOCUMENT).match(/#\/components\/schemas\/\w+/g) ?? [];
    for (const reference of new Set(references)) {
      expect(() => ajv.compile({ $ref: `openapi${reference}` })).not.toThrow();
    }
    expect(DOCUMENT.openapi).toBe("3.1.0");
  });

  test("docs/openapi.yaml documents the status of every problem", () => {
    const responses = Object.values(DOCUMENT.paths).flatMap((path) =>
      Object.values(path).flatMap((operation) => Object.keys(operation.responses)),
    );
    const { not_found, method_not_allowed, ...others } = PROBLEMS;
    for (const { status } of Object.values(others)) expect(responses).toContain(String(status));
    // These are the responses to requests that are not in the document.
    expect([not_found.status, method_not_allowed.status]).toEqual([404, 405]);
  });
});

test("docs/remote-protocol.md documents every problem with its status", () => {
  const document = readFileSync(resolve(import.meta.dirname, "../../docs/remote-protocol.md"), "utf8");
  const rows = [...document.matchAll(/^\| ([0-9, ]+) \| (.*?) \| (none|unknown) \| (\w+)/gm)].flatMap(
    ([, statuses = "", codes = "", effect, again]) => {
      const names = [...codes.matchAll(/`([a-z]+(?:_[a-z]+)+|[a-z]{7,})`/g)].map(([, name]) => name);
      return statuses
        .split(", ")
        .map((status, index) => [names[index], { status: Number(status), effect, retry: again === "yes" }]);
    },
  );
  const problems = Object.entries(PROBLEMS).map(([code, { description: _, ...kind }]) => [code, kind]);
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(problems));
});

describe("real requests and responses", () => {
  test("executions, replays and failures match docs/openapi.yaml", async () => {
    const executor = await startExecutor([new CountingTool().tool]);
    const body = dispatchBody(
      { name: "count", arguments: { a: [1, null] } },
      { limits: { wallTimeMs: 5_000 }, capabilities: { env: ["HOME"] }, timeoutMs: 6_000 },
    );
    const first = await exchange(executor, { headers: JSON_TYPE, body });
    const again = await exchange(executor, { headers: JSON_TYPE, body });
    expect([first.status, again.headers["idempotency-replayed"]]).toEqual([200, "true"]);
    const failed = dispatchBody({ id: "2", name: "nothing" });
    expect((await exchange(executor, { headers: JSON_TYPE, body: failed })).text).toContain("not_found");
  });

  test("streams match docs/openapi.yaml", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool]);
    const headers = { ...JSON_TYPE, accept: "text/event-stream" };
    const answer = exchange(executor, { headers, body: dispatchBody({ name: "hold" }) });
    await until(() => held.started.length === 1);
    held.release();
    const events = new StreamReader(10_000).push((await answer).text);
    expect(events.map(({ event }) => event)).toEqual(["output", "execution"]);
    const names = { output: "Output", log: "Log", execution: "Execution", problem: "Problem" };
    for (const { event, data } of events) {
      const schema = { $ref: `#/components/schemas/${names[event as keyof typeof names]}` };
      expect(flaws(schema, JSON.parse(data))).toEqual([]);
    }
  });

  test("tools, metrics and health match docs/openapi.yaml", async () => {
    const executor = await startExecutor([new CountingTool().tool]);
    for (const path of ["/v1/tools", "/metrics", "/healthz", "/readyz"]) {
      expect((await exchange(executor, { method: "GET", path })).status).toBe(200);
    }
  });

  test("refused requests match docs/openapi.yaml", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const token = "0123456789abcdef";
    const executor = await startExecutor([new CountingTool().tool], {
      keys: new Map([["k", publicKey]]),
      token,
      limits: { bodyBytes: 1_000 },
    });
    const body = dispatchBody({ name: "count" });
    const bearer = { ...JSON_TYPE, authorization: `Bearer ${token}` };
    const sign = (keyId = "k", now = Date.now()): Record<string, string> => ({
      ...signRequest(
        { method: "POST", authority: executor.address, path: "/v1/dispatch", body },
        { keyId, privateKey },
        now,
      ),
    });
    const signed = sign();
    await exchange(executor, { headers: signed, body });
    const refused: Sending[] = [
      { headers: JSON_TYPE, body },
      { headers: sign("other"), body },
      { headers: sign("k", 0), body },
      { headers: signed, body },
      { headers: sign(), body: `${body} ` },
      { headers: bearer, body: "{}" },
      { headers: { ...bearer, accept: "image/png" }, body },
      { headers: { ...bearer, "content-type": "text/plain" }, body },
      { headers: { ...bearer, host: "elsewhere" }, body },
      { headers: bearer, body: " ".repeat(1_001) },
      { headers: bearer, body: dispatchBody({ name: "count", arguments: { a: 1 } }) },
      { headers: bearer, body: dispatchBody({ name: "count", arguments: { a: 2 } }) },
      { method: "GET", path: "/v1/tools" },
    ];
    const statuses: number[] = [];
    for (const sending of refused) statuses.push((await exchange(executor, sending)).status);
    expect(statuses).toEqual([401, 403, 412, 425, 422, 400, 406, 415, 421, 413, 200, 409, 401]);
  });

  test("responses of an overloaded or closing executor match docs/openapi.yaml", async () => {
    const held = new HeldTool();
    const executor = await startExecutor([held.tool], { limits: { inFlight: 1, queued: 1, drainMs: 20 } });
    const hold = (id: string): Promise<Answer> =>
      exchange(executor, { headers: JSON_TYPE, body: dispatchBody({ id, name: "hold" }) });
    const running = hold("a");
    await until(() => held.started.length === 1);
    const answers = await Promise.race([Promise.all([hold("b"), hold("c")]), drained()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([429, 503]);
    expect((await running).text).toContain("cancelled");

    /**
     * Closes the executor when one of the calls was refused. The other one is queued, and refused when it
     * closes.
     */
    async function drained(): Promise<Answer[]> {
      const metrics = async (): Promise<string> =>
        (await send(executor, { method: "GET", path: "/metrics" })).text;
      while (!(await metrics()).includes('code="overloaded"} 1'));
      await executor.close();
      return new Promise(() => {});
    }
  });
});
