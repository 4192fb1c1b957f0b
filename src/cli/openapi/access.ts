import type { ConfigPath } from "../../config/source.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { parseHttpUrl } from "../../tool/http-template.ts";
import { LeftOutError, type OpenApiDocument } from "./document.ts";

/** A path that can stand in a URL as it is. */
const PLAIN_PATH = /^(?:\/[\w.~!$&'()*+,;=:@%-]*)*$/;

/** Where the operations of an API are, and what their requests carry: the person's choice, within what the document says. */
export interface Access {
  /** The origins that the person named. At least one. */
  readonly origins: readonly string[];
  /** The names of secrets by security scheme. Default: made of the origin and the scheme's name. */
  readonly secrets: ReadonlyMap<string, string>;
}

/** A server that the document proposes. */
interface ProposedServer {
  /** `undefined` if it is relative. */
  readonly origin: string | undefined;
  /** Without a slash at its end. */
  readonly basePath: string;
}

/** Returns the origins that a document proposes, for the error of a command line without one. */
export function proposedOrigins({ root }: OpenApiDocument): readonly string[] {
  return [...new Set(serversOf(root["servers"]).flatMap(({ origin }) => origin ?? []))];
}

/**
 * Returns the URL before an operation's path. It has one of the origins that the person named: of the document's servers, only
 * the path is taken.
 *
 * @param local The servers of the operation, or of its path; `undefined` if those of the document apply.
 * @throws {LeftOutError} if the operation is on another server.
 */
export function baseUrl(
  { root }: OpenApiDocument,
  local: JsonValue | undefined,
  { origins }: Access,
): { readonly origin: string; readonly basePath: string } {
  const servers = serversOf(local ?? root["servers"]);
  for (const { origin, basePath } of servers)
    if (origin !== undefined && origins.includes(origin)) return { origin, basePath };
  const first = servers[0];
  const origin = origins[0] as string;
  if (local === undefined || first === undefined) return { origin, basePath: first?.basePath ?? "" };
  const relative = servers.find((server) => server.origin === undefined);
  if (relative !== undefined) return { origin, basePath: relative.basePath };
  const others = servers.map((server) => `'${server.origin}'`).join(", ");
  throw new LeftOutError(`it is at ${others}: add --origin for one of them`);
}

/** Reads the servers whose URLs can be understood, with the defaults of their variables. */
function serversOf(servers: JsonValue | undefined): readonly ProposedServer[] {
  if (!Array.isArray(servers)) return [];
  return servers.flatMap((server: JsonValue) => {
    const { url, variables } = isJsonObject(server) ? server : ({} as JsonObject);
    const text = typeof url === "string" ? withDefaults(url, variables) : undefined;
    if (text === undefined) return [];
    const isRelative = text.startsWith("/") && !text.startsWith("//");
    const parsed = parseHttpUrl(isRelative ? `http://relative.invalid${text}` : text);
    if (typeof parsed === "string" || parsed.search !== "" || parsed.hash !== "") return [];
    const basePath = parsed.pathname.replace(/\/+$/, "");
    if (!PLAIN_PATH.test(basePath)) return [];
    return [{ origin: isRelative ? undefined : parsed.origin, basePath }];
  });
}

/** Replaces the variables of a server's URL by their defaults; `undefined` if one has none. */
function withDefaults(url: string, variables: JsonValue | undefined): string | undefined {
  let isComplete = true;
  const text = url.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = isJsonObject(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined;
    const value = isJsonObject(variable) ? variable["default"] : undefined;
    if (typeof value === "string") return value;
    isComplete = false;
    return "";
  });
  return isComplete ? text : undefined;
}

/** What an operation's requests carry. */
export interface Credentials {
  /** Headers that refer to secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

const NONE: Credentials = { headers: {}, secrets: [] };

/**
 * Returns the headers of the first security requirement that headers can meet.
 *
 * @param requirements The `security` of the operation, or of the document.
 * @throws {LeftOutError} if there is no such requirement.
 */
export function credentialsOf(
  document: OpenApiDocument,
  requirements: JsonValue | undefined,
  origin: string,
  access: Access,
): Credentials {
  if (requirements === undefined) return NONE;
  if (!Array.isArray(requirements)) throw new LeftOutError("its 'security' is not a list");
  const reasons: string[] = [];
  // An empty requirement says that a request may also go without credentials.
  const named = requirements.filter((one: JsonValue) => !isJsonObject(one) || Object.keys(one).length > 0);
  for (const requirement of named) {
    if (!isJsonObject(requirement)) throw new LeftOutError("its 'security' has an item that is not a map");
    const found = Object.keys(requirement).map((name) => headerOf(document, name, origin, access));
    const reason = found.find((one) => typeof one === "string");
    if (reason !== undefined) {
      reasons.push(reason);
      continue;
    }
    const headers = found as readonly SecretHeader[];
    const names = new Set(headers.map(({ name }) => name.toLowerCase()));
    if (names.size < headers.length) reasons.push("two of its security schemes use the same header");
    else
      return {
        headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
        secrets: headers.map(({ secret }) => secret),
      };
  }
  if (named.length < requirements.length || named.length === 0) return NONE;
  throw new LeftOutError([...new Set(reasons)].join("; "));
}

interface SecretHeader {
  readonly name: string;
  readonly value: string;
  readonly secret: string;
}

/** Returns the header of a security scheme, or why it has none. */
function headerOf(
  document: OpenApiDocument,
  scheme: string,
  origin: string,
  { secrets }: Access,
): SecretHeader | string {
  const path: ConfigPath = ["components", "securitySchemes", scheme];
  const given = document.source.at(path);
  if (given === undefined) return `the security scheme '${scheme}' is not defined`;
  const { value } = document.resolve(given, path, `the security scheme '${scheme}'`);
  const secret = secrets.get(scheme) ?? secretName(origin, scheme);
  const place = `{secret:${secret}}`;
  switch (value["type"]) {
    case "oauth2":
    case "openIdConnect":
      return { name: "authorization", value: `Bearer ${place}`, secret };
    case "http": {
      const kind = String(value["scheme"]).toLowerCase();
      if (kind === "bearer") return { name: "authorization", value: `Bearer ${place}`, secret };
      if (kind === "basic") return { name: "authorization", value: `Basic ${place}`, secret };
      return `the security scheme '${scheme}' is neither 'bearer' nor 'basic'`;
    }
    case "apiKey": {
      const { in: where, name } = value;
      if (where === "header" && typeof name === "string") return { name, value: place, secret };
      return `the security scheme '${scheme}' is not sent in a header, and secrets are sent in nothing else`;
    }
    default:
      return `the security scheme '${scheme}' is of a type that headers cannot meet`;
  }
}

/** The name has the origin in it, so that a document cannot name a secret that is for something else. */
function secretName(origin: string, scheme: string): string {
  const name = `${new URL(origin).hostname}_${scheme}`;
  return name
    .replace(/([a-z\d])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z\d]+/g, "_")
    .toUpperCase();
}
