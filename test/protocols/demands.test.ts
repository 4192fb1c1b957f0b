import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json/value.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { PROTOCOLS } from "../../src/protocols/by-format.ts";
import { FORMATS, type Format } from "../../src/protocols/formats.ts";
import type { AnthropicUserMessage } from "../../src/protocols/providers/anthropic.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { PIXEL } from "./converse.ts";

/** A tool as a provider is offered it. */
interface Offered {
  readonly name: string;
  readonly description?: string;
  readonly schema: JsonObject;
}

type Provider = Exclude<Format, "native">;
const PROVIDERS = FORMATS.filter((format): format is Provider => format !== "native");

/** Returns the definitions in an offer. */
const OFFERED: Readonly<Record<Provider, (tools: never) => Offered[]>> = {
  openai: (tools: { function: { name: string; description?: string; parameters: JsonObject } }[]) =>
    tools.map(({ function: { parameters: schema, ...others } }) => ({ ...others, schema })),
  "openai-responses": (tools: { name: string; description?: string; parameters: JsonObject }[]) =>
    tools.map(({ parameters: schema, ...others }) => ({ ...others, schema })),
  anthropic: (tools: { name: string; description?: string; input_schema: JsonObject }[]) =>
    tools.map(({ input_schema: schema, ...others }) => ({ ...others, schema })),
  "ai-sdk": (tools: Record<string, { description?: string; inputSchema: { jsonSchema: JsonObject } }>) =>
    Object.entries(tools).map(([name, { inputSchema, ...others }]) => ({
      name,
      ...others,
      schema: inputSchema.jsonSchema,
    })),
  google: ([{ functionDeclarations }]: [
    { functionDeclarations: { name: string; description?: string; parametersJsonSchema: JsonObject }[] },
  ]) => functionDeclarations.map(({ parametersJsonSchema: schema, ...others }) => ({ ...others, schema })),
  cohere: (tools: { function: { name: string; description?: string; parameters: JsonObject } }[]) =>
    tools.map(({ function: { parameters: schema, ...others } }) => ({ ...others, schema })),
  bedrock: (
    tools: { toolSpec: { name: string; description?: string; inputSchema: { json: JsonObject } } }[],
  ) => tools.map(({ toolSpec: { inputSchema, ...others } }) => ({ ...others, schema: inputSchema.json })),
};

/** Visits every schema in a schema, with its path. */
function* schemasIn(schema: JsonValue | undefined, path = ""): Generator<readonly [JsonObject, string]> {
  if (!isJsonObject(schema)) return;
  yield [schema, path];
  for (const [keyword, value] of Object.entries(schema)) {
    const at = `${path}/${keyword}`;
    if (
      ["properties", "$defs", "patternProperties", "dependentSchemas"].includes(keyword) &&
      isJsonObject(value)
    ) {
      for (const [name, inner] of Object.entries(value)) yield* schemasIn(inner, `${at}/${name}`);
    } else if (["anyOf", "oneOf", "allOf", "prefixItems"].includes(keyword) && Array.isArray(value)) {
      for (const [index, inner] of value.entries()) yield* schemasIn(inner, `${at}/${index}`);
    } else if (!["enum", "const", "default", "examples"].includes(keyword)) yield* schemasIn(value, at);
  }
}

const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** Returns what of an offer a provider would reject, by the rules that it documents or reports. */
function rejections(provider: Provider, tools: readonly Offered[]): string[] {
  const found: string[] = [];
  const names = new Set<string>();
  for (const { name, description, schema } of tools) {
    const say = (text: string): void => void found.push(`${name}: ${text}`);
    if (!/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name)) say("name");
    if (names.has(name)) say("two tools of one name");
    names.add(name);
    if (description !== undefined && description.trim() === "") say("blank description");
    if (provider.startsWith("openai") && (description?.length ?? 0) > 1_024) say("long description");
    if (schema["type"] !== "object") say("root is not an object");
    for (const keyword of ["anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "$ref"]) {
      if (keyword in schema) say(`'${keyword}' at the root`);
    }
    if (!ajv.validateSchema(schema)) say(`no JSON Schema 2020-12: ${ajv.errorsText()}`);
    try {
      ajv.compile(schema);
    } catch (error) {
      say(String(error));
    }
    if (provider === "bedrock") {
      for (const keyword of Object.keys(schema)) {
        if (!["type", "properties", "required"].includes(keyword)) say(`'${keyword}' at the root`);
      }
    }
    for (const [inner, path] of schemasIn(schema)) {
      for (const property of Object.keys(isJsonObject(inner["properties"]) ? inner["properties"] : {})) {
        const fitting = provider === "google" ? /^[A-Za-z_]\w{0,63}$/ : /^[a-zA-Z0-9_.-]{1,64}$/;
        if (!fitting.test(property)) say(`property '${property}'`);
      }
      const { type } = inner;
      const isList = type === "array" || (Array.isArray(type) && type.includes("array"));
      if (isList && !isJsonObject(inner["items"])) say(`list without items at ${path}`);
      if (Array.isArray(inner["enum"]) && inner["enum"].length === 0) say(`empty enum at ${path}`);
      if (provider === "google") findForGoogle(inner, path, say);
    }
  }
  return found;
}

const GOOGLE_KEYWORDS = new Set([
  "type",
  "format",
  "title",
  "description",
  "enum",
  "items",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
  "anyOf",
  "oneOf",
  "properties",
  "additionalProperties",
  "required",
  "propertyOrdering",
]);

function findForGoogle(schema: JsonObject, path: string, say: (text: string) => void): void {
  for (const keyword of Object.keys(schema))
    if (!GOOGLE_KEYWORDS.has(keyword)) say(`'${keyword}' at ${path}`);
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : [];
  if (
    !["string", "number"].some((type) => values.every((value) => typeof value === type)) ||
    values.includes("")
  ) {
    say(`enum at ${path}`);
  }
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  for (const name of Array.isArray(schema["required"]) ? schema["required"] : []) {
    if (!Object.hasOwn(properties, String(name))) say(`requires '${name}' at ${path}`);
  }
}

const text = { type: "string" };
const tree = {
  $defs: {
    Node: {
      type: "object",
      properties: { name: text, children: { type: "array", items: { $ref: "#/$defs/Node" } } },
    },
  },
};

/** Schemas for which providers have rejected requests with all their tools. */
const HOSTILE: Readonly<Record<string, JsonObject>> = {
  "oneOf at the root": {
    type: "object",
    properties: { id: text, url: text },
    oneOf: [{ required: ["id"] }, { required: ["url"] }],
  },
  "anyOf of objects at the root": {
    anyOf: [
      { type: "object", properties: { kind: { const: "a" }, text }, required: ["kind", "text"] },
      { type: "object", properties: { kind: { const: "b" }, file: text }, required: ["kind", "file"] },
    ],
  },
  "allOf at the root": {
    allOf: [{ $ref: "#/$defs/Base" }, { type: "object", properties: { b: text }, required: ["b"] }],
    $defs: { Base: { type: "object", properties: { a: text }, required: ["a"] } },
  },
  "a reference at the root": { $ref: "#/$defs/Node", ...tree },
  "recursion below the root": { type: "object", properties: { root: { $ref: "#/$defs/Node" } }, ...tree },
  "recursion through the root": {
    type: "object",
    properties: { name: text, child: { $ref: "#" } },
  },
  "a reference into a property": {
    type: "object",
    properties: { "from date": text, to: { $ref: "#/properties/from%20date" } },
  },
  "definitions of draft 7": {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { a: { $ref: "#/definitions/A" } },
    definitions: { A: { type: "integer" } },
  },
  "if and then at the root": {
    type: "object",
    properties: { kind: text },
    required: ["kind"],
    if: { properties: { kind: { const: "x" } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { size: { type: "integer" } } },
  },
  "not at the root": { type: "object", properties: { a: text }, not: { required: ["a"] } },
  "odd names of properties": {
    type: "object",
    properties: {
      $top: { type: "integer" },
      "filter[id]": text,
      "@microsoft.graph.conflictBehavior": text,
      "user name": { type: "object", properties: { ä: text }, required: ["ä"], additionalProperties: false },
      [`${"settings__".repeat(8)}list`]: { type: "array", items: { properties: { "a b": text } } },
      "content-type": text,
    },
    required: ["filter[id]", "$top"],
    additionalProperties: false,
  },
  "lists without items": {
    type: "object",
    properties: {
      a: { type: "array" },
      b: { type: ["array", "null"] },
      c: { type: "array", items: { type: "array" } },
    },
  },
  "tuples of draft 7": {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { point: { type: "array", items: [{ type: "number" }, text], additionalItems: false } },
  },
  "tuples of 2020-12": {
    type: "object",
    properties: {
      point: { type: "array", prefixItems: [{ type: "number" }, text], items: { type: "boolean" } },
    },
  },
  "enums and constants of any type": {
    type: "object",
    properties: {
      a: { enum: [1, "two", null] },
      b: { const: 5 },
      c: { const: { deep: true } },
      d: { type: "boolean", enum: [true] },
      e: { type: "string", enum: ["", "x"] },
    },
  },
  "keywords that few know": {
    type: "object",
    properties: {
      a: { type: "object", patternProperties: { "^x": { type: "array" } }, propertyNames: { maxLength: 5 } },
      b: { type: "array", contains: { const: 1 }, uniqueItems: true, items: {} },
      c: {
        type: "string",
        format: "uri",
        pattern: "^https",
        contentMediaType: "text/plain",
        examples: ["https:a"],
      },
      d: { type: "number", exclusiveMinimum: 0, multipleOf: 0.5, default: 1 },
      e: { not: { type: "string" } },
      f: {
        allOf: [
          { type: "object", properties: { x: text } },
          { properties: { y: text }, required: ["y"] },
        ],
      },
    },
    dependentRequired: { a: ["b"] },
    propertyNames: { maxLength: 10 },
    minProperties: 1,
  },
  "booleans as schemas": { type: "object", properties: { any: true, none: false }, required: ["any"] },
  "several types": { type: "object", properties: { a: { type: ["string", "integer", "null"] } } },
  "what is required and not defined": { type: "object", properties: { a: text }, required: ["a", "b"] },
  "nothing at all": {},
  "blank descriptions": { type: "object", properties: { a: { type: "string", description: " " } } },
};

const host = (): null => null;
const registryOf = (...tools: readonly Tool[]): ToolRegistry => {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  return registry;
};
const toolOf = (inputSchema: JsonObject, name = "tool", description = "A tool"): Tool => ({
  name,
  description,
  inputSchema,
  sideEffects: "none",
  host,
});

/** Returns the one tool that a provider is offered. */
function offer(
  provider: Provider,
  registry: ToolRegistry,
  strict = false,
): { tools: Offered[]; left: string[] } {
  const { tools, problems } = PROTOCOLS[provider](registry).toTools({ strict });
  const left = problems.filter(({ effect }) => effect === "left out").map(({ tool }) => tool);
  return { tools: OFFERED[provider](tools as never), left };
}

describe.each(PROVIDERS)("%s", (provider) => {
  test.each(Object.entries(HOSTILE))("accepts the offer of a tool with %s", (_, schema) => {
    for (const strict of [false, true]) {
      const { tools, left } = offer(provider, registryOf(toolOf(schema)), strict);
      expect(rejections(provider, tools)).toEqual([]);
      expect(left).toEqual([]);
      expect(tools).toHaveLength(1);
    }
  });

  test("accepts the offer of tools with odd names and descriptions", () => {
    const names = ["math.add", "3d", "a:b", "ä", "x".repeat(80), `${"x".repeat(80)}y`, "add"];
    const registry = registryOf(
      ...names.map((name, at) => toolOf({}, name, ["", " \n", "d".repeat(5_000)][at % 3])),
    );
    const { tools, left } = offer(provider, registry);
    expect(rejections(provider, tools)).toEqual([]);
    expect(left).toEqual([]);
    // What is too long for a description is in that of the schema.
    const long = tools.find(({ name }) => name === "a_b");
    const both = `${long?.description}${long?.schema["description"] ?? ""}`;
    expect(both.replaceAll("…", "")).toBe("d".repeat(5_000));
  });

  test("accepts the offer of any schema, which accepts all that the tool accepts, and gives the arguments back", () => {
    fc.assert(
      fc.property(schemas(), values(), (schema, args) => {
        const registry = new ToolRegistry();
        try {
          registry.register(toolOf({ type: "object", ...schema }));
        } catch {
          // A schema that no registry accepts is offered to nobody.
          return;
        }
        const protocol = PROTOCOLS[provider](registry);
        const { tools, left } = offer(provider, registry);
        expect(rejections(provider, tools)).toEqual([]);
        expect(left).toEqual([]);
        if (!ajv.validate({ type: "object", ...schema }, args)) return;
        // An alternative that does not name a property leaves it open. The offer describes it as another one does.
        const isOpen = ["anyOf", "oneOf", "if", "allOf"].some((keyword) => keyword in schema);
        const sent = argumentsIn(
          protocol.toMessages([{ id: "a", name: "tool", arguments: args }], [done("a")])[0],
        );
        if (!isOpen)
          expect(ajv.validate(tools[0]?.schema ?? false, sent), JSON.stringify({ schema, args })).toBe(true);
        // Another protocol reads them, such as one of another process, that never offered the tool.
        const [call] = PROTOCOLS[provider](registry).read(messageOf(provider, sent)).calls;
        const read = typeof call?.arguments === "string" ? JSON.parse(call.arguments) : call?.arguments;
        expect(read).toEqual(args);
      }),
      { numRuns: 150, examples: OPPOSITES },
    );
  });
});

const startsWith = (type: string): JsonObject => ({ type: "array", prefixItems: [{ type }] });
const inProperty = (schema: JsonObject): JsonObject => ({ properties: { a: schema } });
const differently: JsonObject = { oneOf: [startsWith("string"), startsWith("integer")] };

/** Schemas in which what accepts more in one place has the whole accept less, and arguments that they accept. */
const OPPOSITES: [JsonObject, JsonObject][] = [
  [inProperty({ not: startsWith("string") }), { a: [1] }],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  [inProperty({ if: startsWith("string"), then: { not: {} } }), { a: [1] }],
  [inProperty(differently), { a: [1] }],
  [inProperty({ ...differently, anyOf: [{ type: "array" }] }), { a: [1] }],
  [inProperty({ not: { not: { not: startsWith("string") } } }), { a: [1] }],
];

/** Names that providers reject, and some that they accept. */
const NAMES = ["a", "b", "x y", "$top", "f[id]", "ä"];

function schemas(): fc.Arbitrary<JsonObject> {
  return fc.letrec<{ schema: JsonObject }>((tie) => {
    const schema = tie("schema");
    const properties = fc.dictionary(fc.constantFrom(...NAMES), schema, { maxKeys: 3 });
    const some = fc.array(schema, { minLength: 1, maxLength: 2 });
    const names = fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 2 });
    return {
      schema: fc.oneof(
        { maxDepth: 3, depthSize: "small" },
        fc.constantFrom<JsonObject>(
          {},
          { type: "string" },
          { type: "integer" },
          { type: "array" },
          { type: ["string", "null"] },
          { enum: [1, "x", null] },
          { const: "x" },
          { type: "object" },
          { type: "number", exclusiveMinimum: 0 },
          { $ref: "#" },
          { type: "string", minLength: 1, format: "uri" },
          { not: { type: "string" } },
        ),
        fc.record({ type: fc.constant("object"), properties, required: names }, { requiredKeys: ["type"] }),
        fc.record({ properties, additionalProperties: fc.boolean() }, { requiredKeys: ["properties"] }),
        some.map((anyOf) => ({ anyOf })),
        some.map((oneOf) => ({ oneOf })),
        some.map((allOf) => ({ allOf })),
        some.map((prefixItems) => ({ type: "array", prefixItems })),
        fc.tuple(properties, some, names).map(([own, anyOf, required]) => ({
          type: "object",
          properties: own,
          anyOf: [...anyOf, { required }],
        })),
        fc.tuple(schema, properties).map(([not, own]) => ({ not, properties: own })),
        fc.tuple(schema, schema).map(([condition, then]) => ({ if: condition, then })),
      ),
    };
  }).schema as fc.Arbitrary<JsonObject>;
}

function values(): fc.Arbitrary<JsonObject> {
  return fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      fc.constantFrom<JsonValue>("x", "", 1, -1, 0.5, true, null, []),
      fc.array(tie("value"), { maxLength: 2 }),
      tie("object"),
    ),
    object: fc.dictionary(fc.constantFrom(...NAMES), tie("value"), { maxKeys: 3 }),
  })).object as fc.Arbitrary<JsonObject>;
}

/** An execution of a call, for messages of which only the assistant's matters. */
function done(callId: string): never {
  return { callId, toolName: "tool", success: true, output: "" } as never;
}

/** Finds the arguments of the only call of a provider's message. */
function argumentsIn(message: unknown): unknown {
  const found = JSON.stringify(message, (key, value) =>
    ["arguments", "args", "input"].includes(key) ? { found: value } : value,
  );
  const queue: unknown[] = [JSON.parse(found)];
  for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
    if (typeof node !== "object" || node === null) continue;
    if ("found" in node) return typeof node.found === "string" ? JSON.parse(node.found) : node.found;
    queue.push(...Object.values(node));
  }
  return expect.fail("no arguments");
}

/** A provider's message with one call. */
function messageOf(provider: Provider, args: unknown): unknown {
  const input = args;
  const chat = { id: "a", type: "function", function: { name: "tool", arguments: JSON.stringify(args) } };
  const messages: Record<Provider, unknown> = {
    openai: { role: "assistant", tool_calls: [chat] },
    "openai-responses": [
      { type: "function_call", call_id: "a", name: "tool", arguments: JSON.stringify(args) },
    ],
    anthropic: { role: "assistant", content: [{ type: "tool_use", id: "a", name: "tool", input }] },
    "ai-sdk": [{ type: "tool-call", toolCallId: "a", toolName: "tool", input }],
    google: { role: "model", parts: [{ functionCall: { name: "tool", args } }] },
    cohere: { role: "assistant", tool_calls: [chat] },
    bedrock: { role: "assistant", content: [{ toolUse: { toolUseId: "a", name: "tool", input } }] },
  };
  return messages[provider];
}

test("a tool is left out, and named, if there is no schema for it, or no room", () => {
  // Each definition has two copies of the next one.
  const $defs = Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => {
      const next = { $ref: `#/$defs/D${at + 1}` };
      return [`D${at}`, { type: "object", properties: at === 19 ? {} : { a: next, b: next } }];
    }),
  );
  const bomb = toolOf({ type: "object", properties: { a: { $ref: "#/$defs/D0" } }, $defs }, "bomb");
  const { tools, left } = offer("google", registryOf(bomb, toolOf({}, "add")));
  expect([tools.map(({ name }) => name), left]).toEqual([["add"], ["bomb"]]);
  const many = registryOf(...Array.from({ length: 130 }, (_, at) => toolOf({}, `tool_${at}`)));
  expect(offer("openai", many)).toMatchObject({ tools: { length: 128 }, left: ["tool_128", "tool_129"] });
});

test("numbers of arguments whose names are changed stay as the model wrote them", () => {
  const registry = registryOf(toolOf({ type: "object", properties: { "the id": { type: "integer" } } }));
  const protocol = PROTOCOLS.anthropic(registry);
  const [name] = Object.keys(
    OFFERED.anthropic(protocol.toTools().tools as never)[0]?.schema["properties"] ?? {},
  );
  const message = (args: string): string =>
    `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"tool","input":${args}}]}`;
  const [call] = protocol.read(message(`{"${name}":12345678901234567890}`)).calls;
  expect(call?.arguments).toBe('{"the id":12345678901234567890}');
});

/** What hostile tools return. */
const gif = Buffer.from("GIF89a\x01\x00\x01\x00\x00\x00\x00;", "latin1").toString("base64");
const block = (mimeType: string, data: string): object => ({ type: "image", mimeType, data });
const RESULTS: Readonly<Record<string, () => unknown>> = {
  blank: () => "",
  spaces: () => " \n\t",
  nothing: () => ({ content: [] }),
  "blank-texts": () => ({ content: [{ type: "text", text: " " }, block("image/png", PIXEL)] }),
  "a-failure-without-text": () => ({ content: [], success: false }),
  "a-failure-with-an-image": () => ({ content: [block("image/png", PIXEL)], success: false }),
  "another-type-than-declared": () => ({ content: [block("image/png", gif)] }),
  "an-unknown-type-that-is-PNG": () => ({ content: [block("image/x-unknown", PIXEL)] }),
  "text-as-an-image": () => ({
    content: [block("image/png", Buffer.from("no image at all").toString("base64"))],
  }),
  "a-type-that-nobody-shows": () => ({
    content: [block("image/svg+xml", Buffer.from("<svg/>").toString("base64"))],
  }),
  "half-an-image": () => ({ content: [block("image/png", PIXEL.slice(0, 40))] }),
  "no-base64": () => ({ content: [block("image/png", "%%%")] }),
  "half-a-surrogate-pair": () => "\ud800",
  "an-image-of-too-many-pixels": () => {
    const bytes = Buffer.from(PIXEL, "base64");
    bytes.writeUInt32BE(9_000, 16);
    return { content: [block("image/png", bytes.toString("base64"))] };
  },
  // 4 MiB, which are more than 5 MiB as they are sent.
  "an-image-of-too-many-bytes": () => {
    const bytes = Buffer.concat([Buffer.from(PIXEL, "base64"), Buffer.alloc(4_194_304)]);
    return { content: [block("image/png", bytes.toString("base64"))] };
  },
};

/** Signatures of the types of images. */
const SIGNATURES: Readonly<Record<string, string>> = {
  "image/png": "\x89PNG\r\n\x1a\n",
  "image/gif": "GIF8",
  "image/jpeg": "\xff\xd8\xff",
  "image/webp": "RIFF",
};

/** Returns what of the messages after some calls a provider would reject. */
function messageRejections(provider: Provider, messages: readonly unknown[]): string[] {
  const found: string[] = [];
  const calls: string[] = [];
  const results: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const {
      type,
      text,
      media_type: mediaType,
      mediaType: sdkType,
      data,
      image_url: url,
      content,
      role,
    } = node as Record<string, unknown>;
    const isBlank = typeof text === "string" && text.trim() === "";
    if (isBlank) found.push("a blank text");
    const declared = mediaType ?? sdkType;
    const source = typeof data === "object" && data !== null && "data" in data ? data.data : data;
    const [, urlType, urlData] = /^data:([^;]*);base64,(.*)$/.exec(String(url)) ?? [];
    for (const [kind, bytes] of [
      [declared, source],
      [urlType, urlData],
    ]) {
      if (typeof kind !== "string" || typeof bytes !== "string") continue;
      const signature = SIGNATURES[kind];
      const isOwn =
        signature !== undefined && Buffer.from(bytes, "base64").toString("latin1").startsWith(signature);
      if (!isOwn) found.push(`an image that is not ${kind}`);
      if (bytes.length > 5_242_880) found.push("an image that is too long");
    }
    const error = node as { is_error?: boolean; content?: { type: string }[] };
    if (
      error.is_error === true &&
      (error.content?.length === 0 || error.content?.some((each) => each.type !== "text"))
    ) {
      found.push("an error that is not text");
    }
    if (provider === "cohere" && role === "tool" && String(content).trim() === "")
      found.push("a blank result");
    if (Array.isArray(content) && content.length === 0 && type === undefined) found.push("an empty message");
    for (const value of Object.values(node)) visit(value);
  };
  for (const message of messages) visit(message);
  const json = JSON.stringify(messages);
  if (!json.isWellFormed() || /\\ud[89a-f]../i.test(json)) found.push("half a surrogate pair");
  for (const [, key, id = ""] of json.matchAll(
    /"(id|toolCallId|call_id|tool_call_id|tool_use_id|toolUseId)":"([^"]*)"/g,
  )) {
    const isResult = key === "tool_call_id" || key === "tool_use_id";
    (isResult || calls.includes(id) ? results : calls).push(id);
    const most = provider === "openai" ? 40 : 64;
    if (["openai", "openai-responses", "bedrock"].includes(provider) && id.length > most)
      found.push(`the id ${id}`);
    if (["anthropic", "bedrock"].includes(provider) && !/^[a-zA-Z0-9_-]+$/.test(id))
      found.push(`the id ${id}`);
  }
  if (provider !== "google" && calls.toSorted().join() !== results.toSorted().join())
    found.push("calls without results");
  if (new Set(calls).size !== calls.length) found.push("two calls with one id");
  return found;
}

describe("messages after hostile results", () => {
  const registry = registryOf(
    ...Object.entries(RESULTS).map(([name, run]): Tool => ({ ...toolOf({}, name), host: run as never })),
  );
  const IDS = ["call_1", "functions.read:0", "", "x".repeat(100), "ä", "call_1"];
  const engine = new ToolDispatchEngine();
  let sandboxes: Awaited<ReturnType<typeof openSandboxes>>;
  beforeAll(async () => {
    sandboxes = await openSandboxes();
    return () => sandboxes.close();
  });

  test.each(
    PROVIDERS,
  )("are accepted by %s, whatever the ids of the calls are, and which of them hooks abort", async (provider) => {
    const protocol = PROTOCOLS[provider](registry);
    const ctx = { registry, policy: new HostPolicy(), sandboxes, sessionId: "test" };
    const calls = Object.keys(RESULTS).map((name, at) => ({ id: `call-${at}`, name, arguments: {} }));
    const executions = await engine.dispatchAll(calls, ctx);
    expect(executions.filter((execution) => execution?.success === false)).toHaveLength(2);
    expect(messageRejections(provider, protocol.toMessages(calls, executions))).toEqual([]);
    const names = Object.keys(RESULTS);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...IDS), fc.constantFrom(...names), fc.boolean()), {
          minLength: 1,
          maxLength: 5,
        }),
        fc.constantFrom("", " ", "So."),
        async (list, said) => {
          const some = list.map(([id, name]) => ({ id, name, arguments: "{}" }));
          const done = (await engine.dispatchAll(some, ctx)).map((each, at) => (list[at]?.[2] ? null : each));
          expect(messageRejections(provider, protocol.toMessages(some, done, { text: said }))).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });
});

test("Anthropic gets no image of more than 2,000 pixels a side among more than 20", async () => {
  const bytes = Buffer.from(PIXEL, "base64");
  bytes.writeUInt32BE(2_001, 16);
  const image = (data: string): JsonObject => ({ type: "image", mimeType: "image/png", data });
  const sandboxes = await openSandboxes();
  onTestFinished(() => sandboxes.close());
  const shown = async (count: number): Promise<readonly string[]> => {
    const small = Array.from({ length: count - 1 }, () => image(PIXEL));
    const content = [...small, image(bytes.toString("base64"))];
    const registry = registryOf({ ...toolOf({ type: "object" }), host: () => ({ content }) } as Tool);
    const call = { id: "1", name: "tool", arguments: {} };
    const ctx = { registry, policy: new HostPolicy(), sandboxes, sessionId: "s" };
    const execution = await new ToolDispatchEngine().dispatch(call, ctx);
    const [message] = PROTOCOLS.anthropic(registry).toResults([call], [execution]) as AnthropicUserMessage[];
    return message?.content.flatMap((result) => result.content.map(({ type }) => type)) ?? [];
  };
  expect(await shown(20)).toEqual(Array.from({ length: 20 }, () => "image"));
  expect((await shown(21)).slice(-2)).toEqual(["image", "text"]);
});
