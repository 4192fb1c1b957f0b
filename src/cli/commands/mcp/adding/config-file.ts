import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { type Document, isMap, isSeq, parseDocument, YAMLMap, YAMLSeq } from "yaml";
import { readConfigFile } from "../../../../config/source.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../json/value.ts";
import type { SideEffects } from "../../../../tool/side-effects.ts";
import { pathBeside } from "../../../config/guard-code.ts";
import type { SecretPlace } from "./secret-files.ts";

/** A server as it is written in a config. */
export interface WrittenServer {
  readonly package?: string;
  readonly bin?: string;
  readonly command?: string;
  readonly url?: string;
  readonly args?: readonly (string | SecretPlace)[];
  readonly env?: Readonly<Record<string, SecretPlace | { readonly env: string }>>;
  readonly headers?: Readonly<Record<string, SecretPlace>>;
  readonly bearer?: { readonly env: string };
  readonly addresses?: readonly string[];
  readonly fs?: readonly JsonObject[];
  readonly net?: readonly string[];
}

/** What is added to a config for a server. */
export interface AddedServer {
  readonly name: string;
  readonly server: WrittenServer;
  /** The classes of its tools. */
  readonly classes: ReadonlyMap<string, SideEffects>;
  /** Whether it has resources or prompts. */
  readonly hasOffers: boolean;
}

/** Who confirms calls: approvers at the console, or the person at the client. */
export type Confirming = "console" | "client";

/** The files with the tokens of a server whose calls are confirmed at the console. */
export interface ConsoleTokens {
  readonly client: SecretPlace;
  readonly approver: SecretPlace;
}

const BEGINNING = `# MCP servers behind a policy. See docs/mcp.md; check it with: sandgate check --config sandgate.yaml
mcp:
  servers: {}
  # What each tool can do at worst. Proposed by hints and names: make them stricter where a tool can do more.
  classes: {}

# What no rule allows is denied. Narrow the rules by tools and arguments: see docs/policies.md.
policy:
  rules: []

# To begin with, a person is asked about everything but tools of the class none. What you would always allow can become auto.
confirmations:
  default: { none: auto, read: prompt, write: prompt, execute: prompt, network: prompt, destructive: DESTRUCTIVE }

server:
`;

const AT_CLIENT = `  # The person at the client confirms calls, and so can an agent that controls its client: destructive tools are denied.
  # Above 40 tools, a client's list has tools that search and call them: see docs/mcp-server.md.
  mcp: { confirm: elicitation, searchAbove: 40 }
`;

const AT_CONSOLE = `  # Calls are confirmed on the page of the console, with the approver's token.
  listen: 127.0.0.1:7420
  sessions: true
  console: true
  # Above 40 tools, a client's list has tools that search and call them: see docs/mcp-server.md.
  mcp: { approvalUrl: http://127.0.0.1:7420/console/, searchAbove: 40 }
  credentials: []
`;

interface PolicyFile {
  readonly path: string;
  readonly document: Document;
}

/** A config that servers are added to. Its comments and its order remain. */
export class ConfigFile {
  readonly path: string;
  readonly isNew: boolean;
  readonly #document: Document;
  /** The policy's own file, if it has one. */
  readonly #policy: PolicyFile | undefined;

  private constructor(path: string, isNew: boolean, document: Document, policy: PolicyFile | undefined) {
    this.path = path;
    this.isNew = isNew;
    this.#document = document;
    this.#policy = policy;
  }

  /**
   * Reads a config.
   *
   * @throws {ConfigError} if it, or the policy that it names, cannot be read as YAML.
   */
  static async open(path: string): Promise<ConfigFile> {
    const document = await read(path);
    const named = document.get("policy");
    if (typeof named !== "string" || !/\.ya?ml$/.test(named))
      return new ConfigFile(path, false, document, undefined);
    const file = pathBeside(path, named);
    return new ConfigFile(path, false, document, {
      path: file,
      document: await read(file),
    });
  }

  /** Makes a config with the first server's place, for who confirms. */
  static create(path: string, confirming: Confirming, tokens: ConsoleTokens | undefined): ConfigFile {
    const text =
      BEGINNING.replace("DESTRUCTIVE", confirming === "client" ? "deny" : "prompt") +
      (confirming === "client" ? AT_CLIENT : AT_CONSOLE);
    const document = parsed(text);
    if (tokens !== undefined) {
      const credentials = [
        { id: "client", token: tokens.client, roles: ["caller"] },
        { id: "approver", token: tokens.approver, roles: ["approver"], approves: ["client"] },
      ];
      const list = document.createNode(credentials) as YAMLSeq;
      list.items.forEach(flow);
      document.setIn(["server", "credentials"], list);
    }
    return new ConfigFile(path, true, document, undefined);
  }

  static exists(path: string): boolean {
    return existsSync(path);
  }

  /** Whether its tools are served over HTTP, to sessions. */
  get isServed(): boolean {
    return this.#document.getIn(["server", "sessions"]) === true;
  }

  /** The file with the token of a caller, such as a client of MCP; `undefined` if the config names none. */
  get callerToken(): string | undefined {
    const { server } = this.#document.toJS() as { readonly server?: JsonValue };
    const credentials = server !== undefined && isJsonObject(server) ? server["credentials"] : undefined;
    for (const each of Array.isArray(credentials) ? credentials : []) {
      if (!isJsonObject(each) || !Array.isArray(each["roles"]) || !each["roles"].includes("caller")) continue;
      const { token } = each;
      const file = token !== undefined && isJsonObject(token) ? token["file"] : undefined;
      if (typeof file === "string") return pathBeside(this.path, file);
    }
    return undefined;
  }

  /** Where the server listens, as the default is. */
  get listen(): string {
    const listen = this.#document.getIn(["server", "listen"]);
    return typeof listen === "string" ? listen : "127.0.0.1:7420";
  }

  /** The servers by name, as they are written. */
  get servers(): Readonly<Record<string, JsonObject>> {
    const { mcp } = this.#document.toJS() as { readonly mcp?: JsonValue };
    const servers = isJsonObject(mcp ?? null) ? (mcp as JsonObject)["servers"] : undefined;
    return isJsonObject(servers ?? null) ? (servers as Readonly<Record<string, JsonObject>>) : {};
  }

  /**
   * Adds a server, the classes of its tools, and a rule that allows them.
   *
   * @returns the rule as YAML if the config has no list of rules where it could be added.
   */
  add({ name, server, classes, hasOffers }: AddedServer): string | undefined {
    const document = this.#document;
    this.#map(["mcp", "servers"]).set(document.createNode(name), written(document, server));
    const all = this.#map(["mcp", "classes"]);
    for (const [tool, sideEffects] of classes)
      if (!all.has(tool)) all.set(document.createNode(tool), sideEffects);
    const rules = [
      { name: `tools of ${name}`, tools: [`mcp_${name}_*`], effect: "allow", sandboxes: ["remote"] },
      ...(hasOffers
        ? [
            {
              name: `resources and prompts of ${name}`,
              tools: ["resources/read", "prompts/get", "completion/complete"],
              when: { "/server": { equals: name } },
              effect: "allow",
              sandboxes: ["host"],
            },
          ]
        : []),
    ];
    const target = this.#policy?.document ?? document;
    const path = this.#policy === undefined ? ["policy", "rules"] : ["rules"];
    const at = target.getIn(path, true);
    const isEmpty = at === undefined || at === null || (!isSeq(at) && target.getIn(path) === null);
    const policy = this.#policy === undefined ? document.get("policy") : target.contents;
    if (!isMap(policy) || !(isSeq(at) || isEmpty)) return target.createNode(rules).toString();
    const list = isSeq(at) ? at : new YAMLSeq();
    if (!isSeq(at)) target.setIn(path, list);
    list.flow = false;
    for (const rule of rules) {
      const node = target.createNode(rule) as YAMLMap;
      node.flow = true;
      list.add(node);
    }
    return undefined;
  }

  /** Replaces the package of a server. */
  setPackage(name: string, text: string): void {
    this.#document.setIn(["mcp", "servers", name, "package"], text);
  }

  /** Returns the map at a path, which is created if it is missing or empty. */
  #map(path: readonly string[]): YAMLMap {
    const found = this.#document.getIn(path, true);
    if (isMap(found)) {
      if (found.items.length === 0) found.flow = false;
      return found as YAMLMap;
    }
    const made = new YAMLMap();
    const comment = (found as { readonly commentBefore?: string } | undefined)?.commentBefore;
    if (comment !== undefined) made.commentBefore = comment;
    this.#document.setIn(path, made);
    return made;
  }

  /** Writes what was added, each file as a whole. */
  async save(): Promise<void> {
    if (this.#policy !== undefined) await replace(this.#policy.path, textOf(this.#policy.document), false);
    await replace(this.path, this.text, this.isNew);
  }

  /** The text of the config. */
  get text(): string {
    return textOf(this.#document);
  }
}

/** Returns a server as YAML, for a person. */
export function serverText(server: WrittenServer): string {
  const document = parsed("{}");
  document.contents = written(document, server);
  return textOf(document).trimEnd();
}

function written(document: Document, server: WrittenServer): YAMLMap {
  const node = document.createNode(server) as YAMLMap;
  for (const member of ["args", "net", "addresses", "bearer"]) flow(node.get(member));
  for (const member of ["env", "headers"]) {
    const values = node.get(member);
    if (isMap(values)) for (const { value } of values.items) flow(value);
  }
  const fs = node.get("fs");
  if (isSeq(fs)) fs.items.forEach(flow);
  return node;
}

function flow(node: unknown): void {
  if (isMap(node) || isSeq(node)) node.flow = true;
}

function textOf(document: Document): string {
  return document.toString({ lineWidth: 110, flowCollectionPadding: true });
}

async function read(path: string): Promise<Document> {
  // Its problems are those of every command with a config.
  await readConfigFile(path);
  return parsed(await readFile(path, "utf8"));
}

function parsed(text: string): Document {
  return parseDocument(text);
}

async function replace(path: string, text: string, isNew: boolean): Promise<void> {
  // Fails if the file was created in the meantime.
  if (isNew) return writeFile(path, text, { flag: "wx" });
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { flag: "wx" });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
