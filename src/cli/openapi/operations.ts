import { SAFE_METHODS } from "../../base/http-syntax.ts";
import type { ConfigPath } from "../../config/source.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { compileUrl, TemplateError } from "../../tool/http-template.ts";
import type { HttpImplementation } from "../../tool/implementations/remote-implementation.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import { type Access, baseUrl, credentialsOf } from "./access.ts";
import { type FoundOperation, LeftOutError, type OpenApiDocument, type Part } from "./document.ts";
import { descriptionOf, InputSchema } from "./input-schema.ts";

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

/** An argument's name: that of a property in every provider, and of a variable in a template. */
const ARGUMENT = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * Headers that are not parameters: what a document says of them is ignored (OpenAPI 3.1, "Parameter Object").
 */
const DESCRIBED_ELSEWHERE: readonly string[] = ["accept", "content-type", "authorization"];

const CREDENTIAL_HEADERS: readonly string[] = ["cookie", "proxy-authorization"];

/** Maximum number of schemas within one another that say what a parameter is. */
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
    ...request.query(),
    // Without a template, the arguments that are not used elsewhere would be the body.
    ...(request.body ?? (["POST", "PUT", "PATCH"].includes(method) && NO_BODY)),
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
  /** The body and its format; `undefined` if there is none. */
  body: Pick<HttpImplementation, "body" | "bodyFormat"> | undefined;
  readonly #document: OpenApiDocument;
  /** Variables of the URL's query. */
  readonly #query: string[] = [];
  /** The rest of the query: arguments by names that no variable can have, and maps. */
  readonly #named: Record<string, string> = {};
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
    const argument = this.#argument(name, where);
    this.input.add(argument, value["schema"], [...path, "schema"], {
      description: argument === name ? description : renamed(name, description),
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
    const isNamed = argument !== name;
    if (where === "query" && (style === "deepObject" || isNamed)) {
      const key = keyOf(name, kind, { style, explode });
      if (key.problem !== undefined) return key.problem;
      this.#named[key.name] = `{${argument}}`;
      return undefined;
    }
    if (kind === "object" || (kind === "array" && where === "header"))
      return `is ${kind === "object" ? "an object" : "a list"}`;
    const [usual, separate] = where === "query" ? ["form", true] : ["simple", false];
    if (style !== undefined && style !== usual) return `has the style '${String(style)}'`;
    if (where === "header") this.headers[name] = `{${argument}}`;
    else if (where === "path") this.#path.set(name, `{${argument}}`);
    else this.#query.push((explode ?? separate) === true && kind === "array" ? `${argument}*` : argument);
    return undefined;
  }

  /** The name of a query's argument is what is sent, if it can be one. Others give way. */
  #argument(name: string, where: string): string {
    if (where === "query" && ARGUMENT.test(name)) return name;
    const own = name.replace(/[^A-Za-z0-9_.-]+/g, "_").replace(/^_+|_+$/g, "");
    const wanted = this.input.has(own) ? `${where}_${own}` : own;
    let argument = wanted;
    for (let count = 2; this.input.has(argument); count++) argument = `${wanted}_${count}`;
    return argument;
  }

  /** What is added to the query besides the URL's template. */
  query(): Pick<HttpImplementation, "query"> {
    return Object.keys(this.#named).length > 0 ? { query: this.#named } : {};
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
   * Adds the argument `body`, or an argument for each field of a form. Returns the header that a body of JSON needs.
   *
   * @throws {LeftOutError} if the operation needs a body that is neither.
   */
  addBody(given: JsonValue | undefined, at: ConfigPath, method: string): Record<string, string> {
    if (given === undefined) return {};
    const { value, path } = this.#document.resolve(given, at, "its request body");
    const { content, required, description } = value;
    const types = isJsonObject(content) ? Object.keys(content) : [];
    const json = types.find(isJsonType);
    const form = types.find((type) => FORMS.has(type));
    const isRequired = required === true;
    const isMeaningless = method === "GET" || method === "HEAD";
    if (isMeaningless || (json ?? form) === undefined) {
      const what = isMeaningless
        ? `has no meaning in ${method}`
        : `is neither JSON nor a form, but ${types.join(", ") || "nothing"}`;
      if (isRequired) throw new LeftOutError(`its request body ${what}`);
      this.notes.push(`its request body, which ${what}`);
      return {};
    }
    if (json === undefined) {
      this.#addForm(form as string, (content as JsonObject)[form as string], [
        ...path,
        "content",
        form as string,
      ]);
      return {};
    }
    if (this.input.has(BODY))
      throw new LeftOutError(`it has a parameter of the name '${BODY}' and a request body`);
    const media = (content as JsonObject)[json];
    const schema = isJsonObject(media) ? media["schema"] : undefined;
    this.input.add(BODY, schema, [...path, "content", json, "schema"], { description, isRequired });
    this.body = { body: `{${BODY}}` };
    return json === "application/json" ? {} : { "content-type": json };
  }

  /**
   * Adds an argument for each field of a form.
   *
   * @throws {LeftOutError} if a field that is required cannot be sent, or the form is not described as a map of fields.
   */
  #addForm(type: string, media: JsonValue | undefined, at: ConfigPath): void {
    const { schema, encoding } = isJsonObject(media) ? media : ({} as JsonObject);
    const { value, path } = this.#document.resolve(schema ?? {}, [...at, "schema"], "the schema of its form");
    const { properties = {}, required } = value;
    if (!isJsonObject(properties) || ["allOf", "anyOf", "oneOf"].some((key) => value[key] !== undefined))
      throw new LeftOutError("its form is not described by a map of its fields");
    const bodyFormat = FORMS.get(type) as "form" | "multipart";
    const body: Record<string, string> = {};
    for (const [name, field] of Object.entries(properties)) {
      const place: ConfigPath = [...path, "properties", name];
      const { value: own } = this.#document.resolve(field, place, `the field '${name}' of its form`);
      if (own["readOnly"] === true) continue;
      const argument = this.#argument(name, "form");
      const rules = isJsonObject(encoding) && isJsonObject(encoding[name]) ? encoding[name] : {};
      const key = this.#fieldOf(name, field as JsonValue, rules, bodyFormat);
      const problem = ARGUMENT.test(argument) ? key.problem : "has a name that no argument can have";
      const isRequired = Array.isArray(required) && required.includes(name);
      if (problem === undefined) {
        body[key.name] = `{${argument}}`;
        this.input.add(argument, field, place, {
          description: argument === name ? undefined : renamed(name, own["description"]),
          isRequired,
        });
      } else if (isRequired) throw new LeftOutError(`the field '${name}' of its form ${problem}`);
      else this.notes.push(`the field '${name}' of its form, which ${problem}`);
    }
    if (Object.keys(body).length > 0) this.body = { body, bodyFormat };
  }

  /** How a field of a form is sent. */
  #fieldOf(name: string, field: JsonValue, rules: JsonObject, format: "form" | "multipart"): Key {
    const kind = this.#kindOf(field);
    if (format === "form") return keyOf(name, kind, rules);
    if (this.#isFile(field)) return { name, problem: "is a file, which arguments cannot have" };
    const { contentType } = rules;
    const usual = kind === "object" ? isJsonType : (type: string) => /^text\/plain\b/.test(type);
    return contentType === undefined || (typeof contentType === "string" && usual(contentType))
      ? { name }
      : { name, problem: `is sent as '${String(contentType)}'` };
  }

  /** Whether a field, or each of a list, is a file. */
  #isFile(field: JsonValue, depth = 0): boolean {
    const { value } = this.#document.resolve(field, [], "the schema of a field");
    if (value["format"] === "binary" || value["contentMediaType"] !== undefined) return true;
    return depth < MAX_KIND_DEPTH && isJsonObject(value["items"]) && this.#isFile(value["items"], depth + 1);
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

/** The formats of bodies by the media types of forms. */
const FORMS: ReadonlyMap<string, "form" | "multipart"> = new Map([
  ["application/x-www-form-urlencoded", "form"],
  ["multipart/form-data", "multipart"],
]);

/** The name under which a value is sent, or why it is not. */
interface Key {
  readonly name: string;
  readonly problem?: string;
}

/** How a value of a query or a form is sent: `a=1`, `a=1&a=2`, `a[b]=1`. */
function keyOf(name: string, kind: "array" | "object" | "scalar", { style, explode }: JsonObject): Key {
  if (style === "deepObject") return { name: kind === "array" ? `${name}[]` : name };
  if (kind === "object") return { name, problem: "is an object without the style 'deepObject'" };
  if (kind === "array" && ((style ?? "form") !== "form" || explode === false))
    return { name, problem: "is a list in one value" };
  return { name };
}

/** The description of an argument that has another name than what is sent: of `from<` and `from>`, the model must know which is which. */
function renamed(name: string, description: JsonValue | undefined): string {
  return `Sent as '${name}'.${typeof description === "string" ? ` ${description}` : ""}`;
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
