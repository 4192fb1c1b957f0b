import type { KeyObject } from "node:crypto";
import { enterWorkspace, guardFiles } from "../../../base/guarded-files.ts";
import type { ConfigProblem } from "../../../config/problem.ts";
import type { Flaw } from "../../../config/shape.ts";
import type { ConfigEntry, ConfigPath, ConfigSource } from "../../../config/source.ts";
import type { ExecutorOptions } from "../../../executor/options.ts";
import { MIN_TOKEN_LENGTH, type NamedCertificate } from "../../../http/authentication.ts";
import { type Credential, needsExecutor } from "../../../http/clients.ts";
import { BASE_PATH_FORM, isBasePath, LISTEN_FORM, parseListenAddress } from "../../../http/listen-address.ts";
import { isOrigin, ORIGIN_FORM } from "../../../http/request.ts";
import type { ServedConsole } from "../../../server/console/console.ts";
import { absolutePath } from "../../../sessions/trusted-workspaces.ts";
import { absolutePathBeside } from "../guard-code.ts";
import { workspacePath } from "../load-sessions.ts";
import { readToken } from "../token.ts";
import { loadCredentials, readPublicKeyFile } from "./load-credentials.ts";
import { loadMcp, type McpEntry } from "./load-mcp.ts";
import { loadTls } from "./load-tls.ts";
import { DEFAULT_LISTEN, readExecutorLimits, SERVER_SHAPE, type ServerEntry } from "./server-entry.ts";

/** The `server` of a config. */
export interface ServerConfig {
  readonly options: Pick<
    ExecutorOptions,
    | "listen"
    | "hosts"
    | "basePath"
    | "tls"
    | "plainHttp"
    | "keys"
    | "token"
    | "tokenName"
    | "certificates"
    | "limits"
    | "frames"
  >;
  /** Whether the process drops the network as soon as it listens. */
  readonly dropsNetwork: boolean;
  /** What serves sessions; `undefined` unless the config says so. */
  readonly served: ServedConfig | undefined;
  /** How MCP is served; `undefined` unless the config says so. */
  readonly mcp: McpEntry | undefined;
}

/** The options of a server of sessions, besides those of an executor. */
export interface ServedConfig {
  readonly credentials: readonly Credential[];
  /** Whether calls can be dispatched without a session. */
  readonly executor: boolean;
  readonly origins: readonly string[];
  /** Absent unless the console is served. */
  readonly console?: ServedConsole;
  /** The workspaces that callers can choose. */
  readonly workspaces: readonly string[];
  /** Absent unless MCP is served, too. */
  readonly mcp?: McpEntry;
}

/**
 * Loads the `server` of a config, and the keys and token that it names.
 *
 * @param problems Receives every problem.
 */
export async function loadServer(source: ConfigSource, problems: ConfigProblem[]): Promise<ServerConfig> {
  const byDefault = {
    options: { listen: DEFAULT_LISTEN },
    dropsNetwork: false,
    served: undefined,
    mcp: undefined,
  };
  if (source.at(["server"]) === undefined) return byDefault;
  const entry = source.read<ServerEntry>(SERVER_SHAPE, problems, ["server"]);
  if (entry === undefined) return byDefault;
  const reader = new ServerReader(entry, problems);
  const token = await reader.token();
  const mcp = loadMcp(entry, problems);
  const tls = await loadTls(entry, problems);
  return {
    options: {
      listen: reader.listen(),
      hosts: reader.hosts(),
      ...reader.basePath(),
      ...(tls && { tls }),
      ...(entry.value.plainHttp !== undefined && { plainHttp: entry.value.plainHttp }),
      certificates: reader.certificates(),
      keys: await reader.keys(),
      ...(token !== undefined && { token, ...reader.tokenName() }),
      limits: reader.limits(),
      ...(entry.value.frames !== undefined && { frames: entry.value.frames }),
    },
    dropsNetwork: reader.dropsNetwork(),
    served: await reader.served(mcp),
    mcp,
  };
}

class ServerReader {
  readonly #entry: ConfigEntry<ServerEntry>;
  readonly #problems: ConfigProblem[];

  constructor(entry: ConfigEntry<ServerEntry>, problems: ConfigProblem[]) {
    this.#entry = entry;
    this.#problems = problems;
  }

  listen(): string {
    const { listen = DEFAULT_LISTEN } = this.#entry.value;
    const address = parseListenAddress(listen);
    if (address === undefined) this.#refuse(["listen"], `must be ${LISTEN_FORM}`);
    if (address?.kind !== "unix") return listen;
    const path = absolutePathBeside(this.#entry.file, address.path);
    // Another process may serve there.
    guardFiles([{ path }]);
    return `unix:${path}`;
  }

  hosts(): readonly string[] {
    return this.#entry.value.hosts ?? [];
  }

  basePath(): { readonly basePath?: string } {
    const { basePath } = this.#entry.value;
    if (basePath === undefined) return {};
    if (!isBasePath(basePath)) this.#refuse(["basePath"], `must be ${BASE_PATH_FORM}`);
    return { basePath };
  }

  certificates(): readonly NamedCertificate[] {
    return Object.entries(this.#entry.value.certificates ?? {}).map(([id, certificate]) => ({
      id,
      certificate,
    }));
  }

  dropsNetwork(): boolean {
    return this.#entry.value.dropNetwork === true;
  }

  async served(mcp: McpEntry | undefined): Promise<ServedConfig | undefined> {
    const { value, file } = this.#entry;
    if (value.sessions !== true) {
      if (value.executor === false)
        this.#refuse(
          ["executor"],
          "a server without sessions is an executor: remove it, or write 'sessions: true'",
        );
      for (const name of ["console", "credentials", "origins", "workspaces"] as const) {
        if (value[name] !== undefined && value[name] !== false)
          this.#refuse([name], "needs 'sessions: true' beside it");
      }
      return undefined;
    }
    const { executor = false } = value;
    if (!executor) this.#refuseClients(mcp);
    const workspaces = (value.workspaces ?? []).map((path) => workspacePath(file, path));
    // Sessions can begin in folders of them: programs there are guarded from now on.
    for (const path of workspaces) enterWorkspace(absolutePath(path, "a workspace"));
    return {
      executor,
      credentials: await loadCredentials(this.#entry, this.#problems, executor),
      origins: this.#origins(),
      workspaces,
      ...(value.console === true && { console: {} }),
      ...(mcp && { mcp }),
    };
  }

  /** Refuses options for clients of the executor, which is not served. */
  #refuseClients(mcp: McpEntry | undefined): void {
    const { value } = this.#entry;
    const write = (credential: string): string =>
      `'credentials: [{ id: agent, ${credential}, roles: [caller] }]'`;
    if (value.token !== undefined)
      this.#refuse(["token"], needsExecutor("it", write("token: { file: agent.token }")));
    for (const [id, file] of Object.entries(value.keys ?? {}))
      this.#refuse(["keys", id], needsExecutor("it", write(`key: ${file}`)));
    for (const [id, name] of Object.entries(value.certificates ?? {}))
      this.#refuse(["certificates", id], needsExecutor("it", write(`certificate: "${name}"`)));
    if (value.frames === true)
      this.#refuse(
        ["frames"],
        "frames are connections of the executor, which is off beside sessions: remove it",
      );
    if ((value.credentials ?? []).length > 0 || mcp?.oauth !== undefined) return;
    this.#refuse(
      ["sessions"],
      needsExecutor("a server without credentials", write("token: { file: agent.token }")),
    );
  }

  #origins(): readonly string[] {
    const { origins = [] } = this.#entry.value;
    for (const [index, origin] of origins.entries()) {
      if (!isOrigin(origin)) this.#refuse(["origins", index], ORIGIN_FORM);
    }
    return origins;
  }

  async keys(): Promise<ReadonlyMap<string, KeyObject>> {
    const keys = new Map<string, KeyObject>();
    for (const [id, file] of Object.entries(this.#entry.value.keys ?? {})) {
      const key = await readPublicKeyFile(file, this.#entry, ["keys", id], this.#problems);
      if (key !== undefined) keys.set(id, key);
    }
    return keys;
  }

  async token(): Promise<string | undefined> {
    const { token: named } = this.#entry.value;
    if (named === undefined) return undefined;
    const token = await readToken(named, this.#entry, ["token"], this.#problems);
    if (token !== undefined && token.length < MIN_TOKEN_LENGTH) {
      const path = ["token", named.file === undefined ? "env" : "file"];
      this.#refuse(path, `the token must have at least ${MIN_TOKEN_LENGTH} characters`);
    }
    return token;
  }

  tokenName(): { readonly tokenName?: string } {
    const { tokenName, keys = {} } = this.#entry.value;
    if (tokenName === undefined) return {};
    if (Object.hasOwn(keys, tokenName)) {
      this.#refuse(["tokenName"], "a key has the same name: a policy could not tell them apart");
    }
    return { tokenName };
  }

  limits(): ExecutorOptions["limits"] & object {
    const flaws: Flaw[] = [];
    const limits = readExecutorLimits(this.#entry.value.limits ?? {}, flaws);
    for (const { path, message } of flaws) this.#refuse(["limits", ...path], message);
    return limits;
  }

  #refuse(path: ConfigPath, message: string): void {
    this.#problems.push(this.#entry.problem(path, message));
  }
}
