import { SAFE_METHODS } from "../../base/http-syntax.ts";
import type { ConfigPath } from "../../config/source.ts";
import { compileUrl, TemplateError } from "../../http-template/http-template.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { HttpImplementation } from "../../tool/implementations/remote-implementation.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import { type Access, baseUrl, credentialsOf } from "./access.ts";
import { LeftOutError, type OpenApiDocument, type Part } from "./document.ts";
import { descriptionOf, InputSchema } from "./input-schema.ts";

/** The methods of a path item, as keys. */
const METHODS: readonly string[] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/** An operation of the document, before it is read. */
export interface FoundOperation {
  readonly method: string;
  /** The template of the document, such as `/pets/{petId}`. */
  readonly path: string;
  /** `GET /pets/{petId}` */
  readonly title: string;
  /** Absent if the document gives none. */
  readonly id: string | undefined;
  /** The name of its tool. */
  readonly name: string;
  /** Where it is in the document. */
  readonly at: ConfigPath;
  readonly item: Part;
  readonly operation: JsonValue | undefined;
}

/** An operation as a tool. */
export interface ImportedOperation {
  /** An item of `tools` in `sandgate.yaml`. */
  readonly tool: JsonObject & { readonly name: string };
  readonly isSafe: boolean;
  readonly origin: string;
  readonly secrets: readonly string[];
  /** What the tool lacks of the operation. */
  readonly notes: readonly string[];
}

/**
 * Finds the operations of a document.
 *
 * @param leaveOut Called for each path whose operations cannot be read.
 */
export function findOperations(
  document: OpenApiDocument,
  leaveOut: (at: ConfigPath, what: string, reason: string) => void,
): readonly FoundOperation[] {
  const { paths } = document.root;
  return Object.entries(isJsonObject(paths) ? paths : {}).flatMap(([path, value]) => {
    if (path.startsWith("x-")) return [];
    const at = ["paths", path];
    try {
      const item = document.resolve(value, at, "its path item");
      return METHODS.filter((key) => item.value[key] !== undefined).map((key): FoundOperation => {
        const operation = item.value[key];
        const method = key.toUpperCase();
        const given = isJsonObject(operation) ? operation["operationId"] : undefined;
        const id = typeof given === "string" && given !== "" ? given : undefined;
        const name = toolName(id ?? "") || toolName(`${key}_${path}`);
        return {
          method,
          path,
          title: `${method} ${path}`,
          id,
          name,
          at: [...item.path, key],
          item,
          operation,
        };
      });
    } catch (error) {
      if (!(error instanceof LeftOutError)) throw error;
      leaveOut(at, path, error.message);
      return [];
    }
  });
}

/** A name that every provider accepts. */
function toolName(text: string): string {
  return text
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^_+|_+$/g, "")
    .slice(0, 64);
}

/** An argument's name: that of a property in every provider, and of a variable in a template. */
const ARGUMENT = /^[A-Za-z0-9_.-]{1,64}$/;

/** Headers that are no parameters: what a document says of them is ignored (OpenAPI 3.1, "Parameter Object"). */
const DESCRIBED_ELSEWHERE: readonly string[] = ["accept", "content-type", "authorization"];

const CREDENTIAL_HEADERS: readonly string[] = ["cookie", "proxy-authorization"];

/** The most schemas within one another that say what a parameter is. */
const MAX_KIND_DEPTH = 16;

const BODY = "body";

/**
 * Makes a tool of an operation.
 *
 * @param sideEffects Default: `network` for methods that are safe (RFC 9110, section 9.2.1), `destructive` for others.
 * @throws {LeftOutError} if it cannot be one.
 */
export function importOperation(
  document: OpenApiDocument,
  found: FoundOperation,
  access: Access,
  sideEffects: SideEffects | undefined,
): ImportedOperation {
  const { method, item } = found;
  if (method === "TRACE") throw new LeftOutError("no tool can use the method TRACE");
  const { value: operation, path: at } = document.resolve(found.operation, found.at, "the operation");
  const local = operation["servers"] ?? item.value["servers"];
  const { origin, basePath } = baseUrl(document, local, access);
  const { headers: own, secrets } = credentialsOf(
    document,
    operation["security"] ?? document.root["security"],
    origin,
    access,
  );
  const request = new Request(document);
  for (const part of parametersOf(document, item, { value: operation, path: at }))
    request.addParameter(part, own);
  const isSafe = SAFE_METHODS.has(method);
  const contentType = request.addBody(operation["requestBody"], [...at, "requestBody"], method);
  const { schema, notes } = request.input.finish();
  const http: HttpImplementation = {
    method,
    url: request.url(origin, basePath, found.path),
    headers: { ...own, ...request.headers, ...contentType },
    // Without a template, the arguments that are not used elsewhere would be the body.
    ...(request.input.has(BODY)
      ? { body: `{${BODY}}` }
      : ["POST", "PUT", "PATCH"].includes(method) && NO_BODY),
    response: responseOf(document, operation["responses"], [...at, "responses"]),
  };
  return {
    tool: {
      name: found.name,
      description: describe(found, operation, item.value),
      sideEffects: sideEffects ?? (isSafe ? "network" : "destructive"),
      inputSchema: schema,
      remote: { http: http as unknown as JsonObject },
    },
    isSafe,
    origin,
    secrets,
    notes: [...request.notes, ...notes],
  };
}

function describe({ title }: FoundOperation, operation: JsonObject, item: JsonObject): string {
  const texts = [
    operation["deprecated"] === true ? "Deprecated." : undefined,
    operation["summary"] ?? item["summary"],
    operation["description"] ?? item["description"],
  ];
  const words = texts.flatMap((text) =>
    typeof text === "string" && text.trim() !== "" ? [text.trim()] : [],
  );
  return descriptionOf([...new Set(words)].join("\n")) || descriptionOf(title);
}

/** The parameters of a path and of its operation, whose own replace those of the path. */
function parametersOf(document: OpenApiDocument, item: Part, operation: Part): readonly Part[] {
  const parameters = new Map<string, Part>();
  for (const { value, path } of [item, operation]) {
    const { parameters: list = [] } = value;
    if (!Array.isArray(list)) throw new LeftOutError("its 'parameters' are not a list");
    for (const [index, each] of list.entries()) {
      const part = document.resolve(each, [...path, "parameters", index], "a parameter");
      parameters.set(`${String(part.value["in"])} ${String(part.value["name"])}`, part);
    }
  }
  return [...parameters.values()];
}

/** What the arguments of one operation become in its request. */
class Request {
  readonly input: InputSchema;
  readonly headers: Record<string, string> = {};
  readonly notes: string[] = [];
  readonly #document: OpenApiDocument;
  /** Variables of the URL's query. */
  readonly #query: string[] = [];
  /** Expressions of the path by the names of parameters. */
  readonly #path = new Map<string, string>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.input = new InputSchema(document);
  }

  /** @throws {LeftOutError} if the operation cannot do without the parameter, and it cannot be sent. */
  addParameter({ value, path }: Part, credentials: Readonly<Record<string, string>>): void {
    const { name, in: where, description } = value;
    if (typeof name !== "string" || typeof where !== "string")
      throw new LeftOutError("a parameter has no 'name' or no 'in'");
    const isRequired = where === "path" || value["required"] === true;
    const problem = this.#place(value, name, where, credentials);
    if (problem !== undefined) {
      if (problem === "") return;
      if (isRequired) throw new LeftOutError(`its ${where} parameter '${name}' ${problem}`);
      this.notes.push(`its ${where} parameter '${name}', which ${problem}`);
      return;
    }
    this.input.add(this.#argument(name, where), value["schema"], [...path, "schema"], {
      description,
      isRequired,
    });
  }

  /** Places a parameter in the request. Returns why it cannot be sent; an empty text if it is none. */
  #place(
    { schema, style, explode, content }: JsonObject,
    name: string,
    where: string,
    credentials: Readonly<Record<string, string>>,
  ): string | undefined {
    if (content !== undefined) return "has the form of a document";
    const argument = this.#argument(name, where);
    if (where === "header") {
      const header = name.toLowerCase();
      if (DESCRIBED_ELSEWHERE.includes(header)) return "";
      if (CREDENTIAL_HEADERS.includes(header)) return "is a header of credentials";
      if (Object.keys(credentials).some((key) => key.toLowerCase() === header)) return "holds a secret";
    } else if (where !== "path" && where !== "query") return "is not sent in a path, a query or a header";
    if (!ARGUMENT.test(argument)) return "has a name that no argument can have";
    if (this.input.has(argument)) return "has the name of another argument";
    const kind = this.#kindOf(schema);
    if (kind === "object" || (kind === "array" && where === "header"))
      return `is ${kind === "object" ? "an object" : "a list"}`;
    const [usual, separate] = where === "query" ? ["form", true] : ["simple", false];
    if (style !== undefined && style !== usual) return `has the style '${String(style)}'`;
    if (where === "header") this.headers[name] = `{${argument}}`;
    else if (where === "path") this.#path.set(name, `{${argument}}`);
    else this.#query.push((explode ?? separate) === true && kind === "array" ? `${argument}*` : argument);
    return undefined;
  }

  /** The name of a query's argument is what is sent. Others give way. */
  #argument(name: string, where: string): string {
    const own = where === "query" ? name : name.replace(/[^A-Za-z0-9_.-]+/g, "_");
    return where !== "query" && this.input.has(own) ? `${where}_${own}` : own;
  }

  /** What a parameter consists of. A schema that says nothing is taken for a text, which it is most often. */
  #kindOf(schema: JsonValue | undefined, depth = 0): "array" | "object" | "scalar" {
    if (!isJsonObject(schema)) return "scalar";
    if (depth > MAX_KIND_DEPTH) return "object";
    const { value } = this.#document.resolve(schema, [], "the schema of a parameter");
    const types = [value["type"]].flat();
    if (types.includes("object") || value["properties"] !== undefined) return "object";
    if (types.includes("array")) {
      const items = isJsonObject(value["items"]) ? this.#kindOf(value["items"], depth + 1) : "scalar";
      return items === "scalar" ? "array" : "object";
    }
    const alternatives = ["anyOf", "oneOf", "allOf"].flatMap((key) => value[key] ?? []);
    const kinds = alternatives.map((each) => this.#kindOf(each as JsonValue, depth + 1));
    return kinds.find((kind) => kind !== "scalar") ?? "scalar";
  }

  /**
   * Adds the argument `body`. Returns the header that a body needs.
   *
   * @throws {LeftOutError} if the operation needs a body that is not JSON.
   */
  addBody(given: JsonValue | undefined, at: ConfigPath, method: string): Record<string, string> {
    if (given === undefined) return {};
    const { value, path } = this.#document.resolve(given, at, "its request body");
    const { content, required, description } = value;
    const types = isJsonObject(content) ? Object.keys(content) : [];
    const json = types.find(isJsonType);
    const isRequired = required === true;
    if (method === "GET" || method === "HEAD" || json === undefined) {
      const what =
        json === undefined
          ? `is not JSON, but ${types.join(", ") || "nothing"}`
          : `has no meaning in ${method}`;
      if (isRequired) throw new LeftOutError(`its request body ${what}`);
      this.notes.push(`its request body, which ${what}`);
      return {};
    }
    if (this.input.has(BODY))
      throw new LeftOutError(`it has a parameter of the name '${BODY}' and a request body`);
    const media = (content as JsonObject)[json];
    const schema = isJsonObject(media) ? media["schema"] : undefined;
    this.input.add(BODY, schema, [...path, "content", json, "schema"], { description, isRequired });
    return json === "application/json" ? {} : { "content-type": json };
  }

  /**
   * Returns the template of the URL.
   *
   * @throws {LeftOutError} if the path is none, or names a parameter that is not described.
   */
  url(origin: string, basePath: string, path: string): string {
    const [plain = "", query, ...others] = path.split("?");
    if (!plain.startsWith("/") || others.length > 0)
      throw new LeftOutError("its path does not begin with '/'");
    const used = new Set<string>();
    const filled = plain.replace(/\{([^{}]*)\}/g, (_, name: string) => {
      const expression = this.#path.get(name);
      if (expression === undefined) throw new LeftOutError(`its path has '{${name}}', which is no parameter`);
      used.add(name);
      return expression;
    });
    const unused = [...this.#path.keys()].find((name) => !used.has(name));
    if (unused !== undefined) throw new LeftOutError(`its path does not have the parameter '${unused}'`);
    const literal = plain.replace(/\{[^{}]*\}/g, "");
    if (!/^[\w.~!$&'()*+,;=:@%/-]*$/.test(literal) || (query !== undefined && !/^[\w.~=&%-]*$/.test(query)))
      throw new LeftOutError("its path has characters that cannot stand in a URL");
    const expression =
      this.#query.length === 0 ? "" : `{${query === undefined ? "?" : "&"}${this.#query.join(",")}}`;
    const url = `${origin}${basePath}${filled}${query === undefined ? "" : `?${query}`}${expression}`;
    try {
      if (compileUrl(url).origin === origin) return url;
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      throw new LeftOutError(`its ${error.message}`);
    }
    throw new LeftOutError("its path leads to another origin");
  }
}

/** A template that sends no body. */
const NO_BODY = { body: `{${BODY}}` };

function isJsonType(type: string): boolean {
  return /^application\/(?:[\w.-]+\+)?json(?:; ?charset=utf-8)?$/i.test(type);
}

/** How the output is read: as JSON, unless a success is described as text only. */
function responseOf(
  document: OpenApiDocument,
  responses: JsonValue | undefined,
  at: ConfigPath,
): NonNullable<HttpImplementation["response"]> {
  const entries = isJsonObject(responses) ? Object.entries(responses) : [];
  const types = entries
    .filter(([status]) => /^2/.test(status))
    .flatMap(([status, response]) => {
      const { content } = document.resolve(response, [...at, status], "a response").value;
      return isJsonObject(content) ? Object.keys(content) : [];
    });
  if (types.length === 0 || types.some((type) => isJsonType(type) || type.startsWith("*/*")))
    return { bigNumbers: "string" };
  if (types.some((type) => /^text\/|[+/](?:xml|yaml)\b/i.test(type))) return { text: true };
  throw new LeftOutError(`its response is neither JSON nor text, but ${types.join(", ")}`);
}
