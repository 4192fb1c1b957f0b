import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { parse } from "yaml";
import { createFolder, type Outcome, sandgate } from "../../sandgate.ts";

const PETS = `
openapi: 3.0.3
info: { title: Pets, version: "1" }
servers: [{ url: "https://{region}.pets.example/v2", variables: { region: { default: eu } } }]
security: [{ bearerAuth: [] }]
paths:
  /pets/{petId}:
    parameters: [{ $ref: "#/components/parameters/PetId" }]
    get:
      operationId: getPet
      summary: Returns a pet
      parameters:
        - { name: fields, in: query, explode: false, schema: { type: array, items: { type: string } } }
        - { name: tag, in: query, schema: { type: array, items: { type: string } } }
        - { name: X-Trace, in: header, schema: { type: string } }
      responses: { "200": { description: ok, content: { application/json: {} } } }
    delete:
      operationId: deletePet
      responses: { "204": { description: gone } }
  /pets:
    post:
      operationId: addPet
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } }
      responses: { "201": { description: ok } }
components:
  parameters:
    PetId: { name: petId, in: path, required: true, schema: { type: string } }
  schemas:
    Pet:
      type: object
      required: [id, name]
      properties:
        id: { type: integer, readOnly: true }
        name: { type: string, nullable: true }
        age: { type: number, minimum: 0, exclusiveMinimum: true }
        parent: { $ref: "#/components/schemas/Pet" }
  securitySchemes:
    bearerAuth: { type: http, scheme: bearer }
`;

/** Imports a document into a folder. */
async function importDocument(
  document: string,
  args: readonly string[] = ["--origin", "https://api.example.com"],
): Promise<Outcome & { readonly folder: string; readonly file: string }> {
  const folder = await createFolder({ "openapi.yaml": document });
  const file = join(folder, "openapi.yaml");
  const outcome = await sandgate(["tool", "import", file, "--out", join(folder, "out"), ...args]);
  return { ...outcome, folder, file };
}

/** What is compared of a tool that was written. */
interface WrittenTool {
  readonly name: string;
  readonly sideEffects: string;
  readonly inputSchema: {
    readonly properties: Readonly<Record<string, { readonly enum?: readonly string[] }>>;
    readonly $defs: { readonly Pet: { readonly properties: object } };
  };
  readonly remote: {
    readonly http: { readonly method: string; readonly url: string; readonly headers: object };
  };
}

interface WrittenRule {
  readonly name: string;
  readonly effect: string;
  readonly capabilities: { readonly net: readonly unknown[] };
}

interface Written {
  readonly tools: readonly WrittenTool[];
  readonly rules: readonly WrittenRule[];
}

/** What was written. */
async function written(folder: string): Promise<Written> {
  const { tools } = parse(await readFile(join(folder, "out/sandgate.yaml"), "utf8"));
  const { rules } = parse(await readFile(join(folder, "out/policy.yaml"), "utf8"));
  return { tools, rules };
}

/** A document in JSON whose operation `GET /bad` is this, beside one that can be imported. */
function beside(operation: object, more: object = {}): string {
  const fine = { operationId: "fine", responses: {} };
  return JSON.stringify({
    openapi: "3.1.0",
    paths: { "/bad": { get: operation }, "/fine": { get: fine } },
    ...more,
  });
}

/** A body that is a form with these fields. */
function form(type: string, properties: object, required: readonly string[] = [], encoding = {}): object {
  const schema = { type: "object", properties, ...(required.length > 0 && { required }) };
  return { requestBody: { required: true, content: { [type]: { schema, encoding } } } };
}

interface Received {
  readonly line: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A server that stands in for the API. */
async function startApi(): Promise<{ readonly origin: string; readonly received: Received[] }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    received.push({
      line: `${request.method} ${request.url}`,
      headers: request.headers,
      body: await text(request),
    });
    response.writeHead(200, { "content-type": "application/json" }).end('{"name":"Rex"}');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

/** Dispatches calls with what was imported. */
async function dispatch(folder: string, calls: readonly object[]): Promise<Record<string, unknown>[]> {
  const stdin = JSON.stringify(calls);
  const config = join(folder, "out/sandgate.yaml");
  const outcome = await sandgate(["dispatch", "-", "--config", config, "--output", "json"], {
    stdin,
  });
  expect(outcome.stderr).toBe("");
  return JSON.parse(outcome.stdout).executions;
}

describe("sandgate tool import", () => {
  test("makes tools that check accepts and dispatch runs, with a person asked before changes", async () => {
    const { origin, received } = await startApi();
    const { code, stderr, folder } = await importDocument(PETS, [
      "--origin",
      origin,
      "--secret",
      "bearerAuth=PETS_TOKEN",
    ]);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("3 tools; 0 operations left out"),
    });
    vi.stubEnv("PETS_TOKEN", "t-1");
    onTestFinished(() => void vi.unstubAllEnvs());
    const config = join(folder, "out/sandgate.yaml");
    expect(await sandgate(["check", "--config", config])).toMatchObject({ code: 0, stderr: "" });
    const args = { petId: "a/b?c#d", fields: ["name", "age"], tag: ["x", "y&z"], "X-Trace": "7" };
    const executions = await dispatch(folder, [
      { id: "1", name: "getPet", arguments: args },
      { id: "2", name: "getPet", arguments: { petId: "a/../../admin" } },
      { id: "3", name: "getPet", arguments: { petId: "1", "X-Trace": "7\r\nauthorization: none" } },
      { id: "4", name: "deletePet", arguments: { petId: "1" } },
    ]);
    expect(executions).toMatchObject([
      { success: true, output: { name: "Rex" } },
      { success: false, error: { message: expect.stringContaining("'.' or '..'") } },
      { success: false, error: { message: expect.stringContaining("X-Trace") } },
      { success: false, error: { code: expect.stringMatching(/denied|user/) } },
    ]);
    expect(received).toMatchObject([
      {
        line: "GET /v2/pets/a%2Fb%3Fc%23d?fields=name,age&tag=x&tag=y%26z",
        headers: { authorization: "Bearer t-1", "x-trace": "7" },
      },
    ]);
  });

  test("gives the body of a change as the document describes it, once the person has said what it does", async () => {
    const { origin, received } = await startApi();
    const classes = ["--side-effects", "* /pets*=destructive", "--side-effects", "addPet=write"];
    const { folder } = await importDocument(PETS, ["--origin", origin, "--operations", "addPet", ...classes]);
    const { tools, rules } = await written(folder);
    expect(tools).toHaveLength(1);
    expect(tools[0]).toMatchObject({
      name: "addPet",
      sideEffects: "write",
      inputSchema: {
        required: ["body"],
        additionalProperties: false,
        properties: { body: { $ref: "#/$defs/Pet" } },
        $defs: {
          Pet: {
            required: ["name"],
            properties: {
              name: { type: ["string", "null"] },
              age: { type: "number", exclusiveMinimum: 0 },
              parent: { $ref: "#/$defs/Pet" },
            },
          },
        },
      },
    });
    expect(Object.keys(tools[0]?.inputSchema.$defs.Pet.properties ?? {})).toEqual(["name", "age", "parent"]);
    const secret = "127_0_0_1_BEARER_AUTH";
    expect(rules).toMatchObject([
      {
        name: "POST /pets",
        tools: ["addPet"],
        effect: "ask",
        capabilities: { net: [{ origin, addresses: ["127.0.0.1/32"] }], secrets: [secret] },
      },
    ]);
    vi.stubEnv(secret, "t-2");
    onTestFinished(() => void vi.unstubAllEnvs());
    const body = { name: null, parent: { name: "Rex", parent: { name: "Old Rex" } } };
    const calls = [
      { id: "1", name: "addPet", arguments: { body } },
      { id: "2", name: "addPet", arguments: { body: { name: "Rex", age: 0 } } },
    ];
    const policy = join(folder, "out/policy.yaml");
    await writeFile(policy, (await readFile(policy, "utf8")).replace("effect: ask", "effect: allow"));
    const [sent, refused] = await dispatch(folder, calls);
    expect({ sent, refused }).toMatchObject({
      sent: { success: true },
      refused: { error: { code: "validation_error" } },
    });
    expect(received).toMatchObject([{ line: "POST /v2/pets", headers: { authorization: "Bearer t-2" } }]);
    expect(JSON.parse(received[0]?.body ?? "")).toEqual(body);
  });

  test("sends fields of forms, and what a query has in brackets, as the document describes it", async () => {
    const { origin, received } = await startApi();
    const text = { type: "string" };
    const list = { type: "array", items: text };
    const map = { type: "object", properties: { city: text } };
    const fields = {
      "User Name": text,
      tags: list,
      address: map,
      expand: list,
      created: { type: "integer" },
    };
    const deep = { style: "deepObject", explode: true };
    const parameters = [
      { name: "filter[name]", in: "query", schema: text, description: "The name." },
      { name: "filter[name>]", in: "query", schema: text },
      { name: "ids[]", in: "query", schema: list },
      { name: "range", in: "query", schema: map, ...deep },
      { name: "q", in: "query", schema: text },
    ];
    const documented = {
      openapi: "3.0.3",
      paths: {
        "/customers": {
          post: {
            operationId: "addCustomer",
            parameters,
            ...form("application/x-www-form-urlencoded", fields, ["User Name"], {
              address: deep,
              expand: deep,
            }),
          },
        },
        "/notes": {
          post: {
            operationId: "addNote",
            ...form("multipart/form-data", { tags: list, address: map, file: { ...text, format: "binary" } }),
          },
        },
      },
    };
    const args = ["--origin", origin, "--side-effects", "*=read"];
    const { stderr, folder } = await importDocument(JSON.stringify(documented), args);
    expect(stderr).toContain("POST /notes is imported without the field 'file' of its form");
    const policy = join(folder, "out/policy.yaml");
    await writeFile(policy, (await readFile(policy, "utf8")).replaceAll("effect: ask", "effect: allow"));
    await dispatch(folder, [
      {
        id: "1",
        name: "addCustomer",
        arguments: {
          filter_name: "a&b",
          ids: ["1", "2"],
          range: { city: "x" },
          q: "é",
          User_Name: "Ann, é",
          tags: ["a", "b"],
          address: { city: "Zürich" },
          expand: ["x"],
          created: 1,
        },
      },
      { id: "2", name: "addNote", arguments: { tags: ["a", 'b"'], address: { city: "x" } } },
    ]);
    const [added] = (await written(folder)).tools;
    expect(added?.inputSchema.properties).toMatchObject({
      filter_name: { description: "Sent as 'filter[name]'. The name." },
      query_filter_name: { description: "Sent as 'filter[name>]'." },
      User_Name: { description: "Sent as 'User Name'." },
    });
    const [customer, note] = received;
    expect(customer?.headers["content-type"]).toBe("application/x-www-form-urlencoded");
    expect(customer?.line).toBe(
      "POST /customers?q=%C3%A9&filter%5Bname%5D=a%26b&ids%5B%5D=1&ids%5B%5D=2&range%5Bcity%5D=x",
    );
    expect([...new URLSearchParams(customer?.body)]).toEqual([
      ["User Name", "Ann, é"],
      ["tags", "a"],
      ["tags", "b"],
      ["address[city]", "Zürich"],
      ["expand[]", "x"],
      ["created", "1"],
    ]);
    const type = String(note?.headers["content-type"]);
    expect(type).toMatch(/^multipart\/form-data; boundary=/);
    const parsed = await new Response(note?.body, { headers: { "content-type": type } }).formData();
    expect([...parsed].map(([name]) => name)).toEqual(["tags", "tags", "address"]);
    expect(parsed.getAll("tags")).toEqual(["a", 'b"']);
    expect(note?.body).toContain('name="address"\r\ncontent-type: application/json\r\n\r\n{"city":"x"}\r\n');
  });

  test("classes what asks for no change as network, and everything else as destructive", async () => {
    const { folder } = await importDocument(PETS);
    const { tools, rules } = await written(folder);
    expect(tools.map(({ name, sideEffects }) => [name, sideEffects])).toEqual([
      ["getPet", "network"],
      ["deletePet", "destructive"],
      ["addPet", "destructive"],
    ]);
    expect(rules.map(({ name, effect }) => [name, effect])).toEqual([
      ["GET /pets/{petId}", "allow"],
      ["DELETE /pets/{petId}", "ask"],
      ["POST /pets", "ask"],
    ]);
  });

  test("takes no origin from the document, and says which ones it proposes", async () => {
    expect(await importDocument(PETS, [])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--origin ORIGIN is missing: "),
    });
    expect((await importDocument(PETS, [])).stderr).toContain("proposes https://eu.pets.example");
    const elsewhere = { operationId: "bad", servers: [{ url: "https://uploads.example" }] };
    const { folder, stderr } = await importDocument(beside(elsewhere));
    expect(stderr).toContain("GET /bad is left out: it is at 'https://uploads.example': add --origin");
    expect((await written(folder)).tools.map(({ name }) => name)).toEqual(["fine"]);
    const both = ["--origin", "https://api.example.com", "--origin", "https://uploads.example"];
    const named = await written((await importDocument(beside(elsewhere), both)).folder);
    expect(named.tools.map(({ remote }) => remote.http.url)).toEqual([
      "https://uploads.example/bad",
      "https://api.example.com/fine",
    ]);
    expect(named.rules.map(({ capabilities }) => capabilities.net)).toEqual([
      ["https://uploads.example"],
      ["https://api.example.com"],
    ]);
  });

  test("overwrites nothing", async () => {
    const folder = await createFolder({ "openapi.yaml": PETS, "out/policy.yaml": "mine" });
    const args = [
      join(folder, "openapi.yaml"),
      "--out",
      join(folder, "out"),
      "--origin",
      "https://a.example",
    ];
    expect(await sandgate(["tool", "import", ...args])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("policy.yaml already exists"),
    });
    expect(await readdir(join(folder, "out"))).toEqual(["policy.yaml"]);
  });

  test("refers to secrets by names that the document cannot choose", async () => {
    const schemes = {
      AWS_SECRET_ACCESS_KEY: { type: "apiKey", in: "header", name: "x-key" },
      basic: { type: "http", scheme: "Basic" },
      oauth: { type: "oauth2", flows: {} },
    };
    const security = [{ AWS_SECRET_ACCESS_KEY: [], oauth: [] }, { basic: [] }];
    const more = { components: { securitySchemes: schemes }, security: [{ basic: [] }] };
    const { folder, stderr } = await importDocument(beside({ operationId: "key", security }, more));
    const { tools } = await written(folder);
    expect(tools.map(({ remote }) => remote.http.headers)).toEqual([
      {
        "x-key": "{secret:API_EXAMPLE_COM_AWS_SECRET_ACCESS_KEY}",
        authorization: "Bearer {secret:API_EXAMPLE_COM_OAUTH}",
      },
      { authorization: "Basic {secret:API_EXAMPLE_COM_BASIC}" },
    ]);
    expect(stderr).toContain("secrets, as environment variables: API_EXAMPLE_COM_AWS_SECRET_ACCESS_KEY, ");
  });

  test("shows texts of the document without characters that deceive, and cuts long ones", async () => {
    const description = `Deletes\u202E nothing\u200B\n${"x".repeat(5_000)}`;
    const { folder } = await importDocument(beside({ operationId: "bad", description }));
    const config = await readFile(join(folder, "out/sandgate.yaml"), "utf8");
    expect(config).not.toMatch(/[\u202E\u200B]/);
    const [tool] = parse(config).tools;
    expect(tool.description).toMatch(/^Deletes {2}nothing\nx{900,1024}…$/);
    const enumerated = { name: "q", in: "query", schema: { enum: ["a\u202Eb"] } };
    const second = await importDocument(beside({ operationId: "bad", parameters: [enumerated] }));
    expect(await readFile(join(second.folder, "out/sandgate.yaml"), "utf8")).toContain('"a\\u202eb"');
    expect((await written(second.folder)).tools[0]?.inputSchema.properties["q"]?.enum).toEqual(["a\u202Eb"]);
  });
});

describe("sandgate tool import names each operation that it leaves out, and imports the others", () => {
  const query = (schema: object, more: object = {}) => ({
    parameters: [{ name: "q", in: "query", required: true, schema, ...more }],
  });
  let deep: object = { type: "string" };
  for (let level = 0; level < 70; level++) deep = { type: "array", items: deep };

  test.each<[string, object, string]>([
    [
      "a reference to another file",
      query({ $ref: "other.yaml#/Pet" }),
      "'other.yaml#/Pet', which is not a place",
    ],
    ["a reference to a URL", query({ $ref: "http://127.0.0.1:1/x" }), "and is not fetched"],
    ["a reference to nothing", query({ $ref: "#/components/schemas/None" }), "which does not exist"],
    [
      "references in a circle",
      { parameters: [{ $ref: "#/paths/~1bad/get/parameters/0" }] },
      "lead in a circle",
    ],
    [
      "a parameter that contains itself",
      query({ $ref: "#/paths/~1bad/get/parameters/0/schema" }),
      "lead in a circle",
    ],
    ["an object in the query", query({ type: "object" }), "is an object"],
    ["another style", query({ type: "array" }, { style: "pipeDelimited" }), "has the style 'pipeDelimited'"],
    [
      "a name without a letter",
      { parameters: [{ name: "[]", in: "query", required: true }] },
      "'[]' has a name",
    ],
    [
      "an object under a name with brackets",
      { parameters: [{ name: "a[b]", in: "query", required: true, schema: { type: "object" } }] },
      "'a[b]' is an object without the style 'deepObject'",
    ],
    ["a cookie", { parameters: [{ name: "c", in: "cookie", required: true }] }, "not sent in a path"],
    [
      "a path parameter that the path does not have",
      { parameters: [{ name: "id", in: "path" }] },
      "does not have",
    ],
    [
      "a header of the connection",
      { parameters: [{ name: "Host", in: "header" }] },
      "controlled by the connection",
    ],
    ["an invalid header", { parameters: [{ name: "a b", in: "header" }] }, "not a valid header name"],
    ["a key in the query", { security: [{ key: [] }] }, "secrets are sent in nothing else"],
    ["an unknown scheme", { security: [{ none: [] }] }, "'none' is not defined"],
    ["an invalid schema", query({ type: "string", minLength: -1 }), "its schema cannot be used"],
    [
      "an image",
      { responses: { 200: { content: { "image/png": {} } } } },
      "neither JSON nor text, but image/png",
    ],
    ["no operation", [] as object, "is not a map"],
  ])("%s", async (_, operation, reason) => {
    const components = { securitySchemes: { key: { type: "apiKey", in: "query", name: "k" } } };
    const { code, stderr, folder } = await importDocument(beside(operation, { components }));
    expect(stderr).toContain("GET /bad is left out: ");
    expect(stderr).toContain(reason);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("1 tool; 1 operation left out"),
    });
    expect((await written(folder)).tools.map(({ name }) => name)).toEqual(["fine"]);
  });

  test.each<[string, string, object, string]>([
    ["a path with a fragment", "/a#b", {}, "cannot stand in a URL"],
    ["a path that would be another host", "@evil.example/x", {}, "does not begin with '/'"],
    ["dot segments", "/a/../b", {}, "'.' or '..' segments"],
    ["an expression", "/a/{+b}", {}, "'{+b}', which is no parameter"],
    ["an unmatched brace", "/a/{b", {}, "cannot stand in a URL"],
    [
      "a file as the body",
      "/a",
      { requestBody: { required: true, content: { "image/png": {} } } },
      "neither JSON nor a form, but image/png",
    ],
    [
      "schemas that are too deep",
      "/a",
      { requestBody: { content: { "application/json": { schema: deep } } } },
      "nested deeper than 60 levels",
    ],
    [
      "a media type that refers to a secret",
      "/a",
      { requestBody: { required: true, content: { "application/json; x={secret:HOME}": {} } } },
      "is neither JSON nor a form",
    ],
    [
      "a form with a file",
      "/a",
      form("multipart/form-data", { file: { type: "string", format: "binary" } }, ["file"]),
      "the field 'file' of its form is a file, which arguments cannot have",
    ],
    [
      "a form with an object of another style",
      "/a",
      form("application/x-www-form-urlencoded", { address: { type: "object" } }, ["address"]),
      "the field 'address' of its form is an object without the style 'deepObject'",
    ],
    [
      "a form that is one of several",
      "/a",
      { requestBody: { content: { "multipart/form-data": { schema: { oneOf: [{}, {}] } } } } },
      "its form is not described by a map of its fields",
    ],
  ])("%s", async (_, path, operation, reason) => {
    const paths = { [path]: { post: operation }, "/fine": { get: { operationId: "fine" } } };
    const { stderr, folder } = await importDocument(JSON.stringify({ openapi: "3.1.0", paths }));
    expect(stderr).toContain(`POST ${path} is left out: `);
    expect(stderr).toContain(reason);
    expect((await written(folder)).tools.map(({ name }) => name)).toEqual(["fine"]);
  });

  test("operations with the id of another, which can be chosen by their paths", async () => {
    const operation = { operationId: "same" };
    const document = JSON.stringify({
      openapi: "3.1.0",
      paths: { "/a": { get: operation }, "/b": { delete: operation } },
    });
    const { stderr, folder } = await importDocument(document);
    expect(stderr).toContain("DELETE /b is left out: the name is taken");
    expect((await written(folder)).tools.map(({ remote }) => remote.http.url)).toEqual([
      "https://api.example.com/a",
    ]);
    const args = ["--origin", "https://api.example.com", "--operations", "DELETE /b"];
    const chosen = await importDocument(document, args);
    expect((await written(chosen.folder)).tools.map(({ remote }) => remote.http.method)).toEqual(["DELETE"]);
  });

  test("and what a tool lacks of its operation", async () => {
    const operation = {
      operationId: "most",
      parameters: [
        { name: "a[b]", in: "query", schema: { type: "object" } },
        { name: "q", in: "query", schema: { type: "string", pattern: "^(?=a)b" } },
      ],
    };
    const { stderr, folder } = await importDocument(beside(operation, { webhooks: { x: {} } }));
    expect(stderr).toContain(
      "GET /bad is imported without its query parameter 'a[b]', which is an object without the style",
    );
    expect(stderr).toContain("GET /bad is imported without the pattern at '/properties/q/pattern'");
    expect(stderr).toContain("webhooks are left out");
    expect((await written(folder)).tools[0]?.inputSchema.properties).toEqual({ q: { type: "string" } });
  });
});

describe("sandgate tool import refuses", () => {
  const bomb = Array.from({ length: 9 }, (_, level) =>
    level === 0
      ? `a0: &a0 [${"x,".repeat(9)}x]`
      : `a${level}: &a${level} [${`*a${level - 1},`.repeat(9)}*a${level - 1}]`,
  );

  test.each<[string, string, string]>([
    ["Swagger 2.0", 'swagger: "2.0"', "convert the document to OpenAPI 3.0"],
    ["another version", "openapi: 4.0.0", "must be a version 3.0 or 3.1"],
    ["what is no document", "[]", "must be a map"],
    ["aliases that expand endlessly", ["openapi: 3.1.0", ...bomb].join("\n"), "more than 1000000 values"],
    ["a key that is there twice", "openapi: 3.1.0\npaths: {}\npaths: {}", "duplicate key 'paths'"],
    ["a document that is too large", `openapi: 3.1.0 #${"x".repeat(17_000_000)}`, "longer than 16 MiB"],
    ["a document without operations", "openapi: 3.1.0\npaths: {}", "0 tools; 0 operations left out"],
  ])("%s", async (_, document, reason) => {
    const { code, stderr, folder } = await importDocument(document);
    expect(stderr).toContain(reason);
    expect({ code, files: await readdir(folder) }).toEqual({ code: 2, files: ["openapi.yaml"] });
  });

  test.each<[string[], string]>([
    [["--origin", "https://a.example/v1"], "--origin must be like https://api.example.com"],
    [["--origin", "https://user:pw@a.example"], "--origin must be like"],
    [["--origin", "https://a.example", "--operations", "getPets"], "did you mean 'getPet'?"],
    [["--origin", "https://a.example", "--side-effects", "GET *=reads"], "did you mean 'read'?"],
    [["--origin", "https://a.example", "--secret", "bearerAuth"], "--secret must be SCHEME=NAME"],
    [["--origin", "https://a.example", "--secret", "bearerAuth=a}b"], "must have a name of letters"],
  ])("the options %j", async (args, reason) => {
    const { code, stderr } = await importDocument(PETS, args);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(reason) });
  });
});
