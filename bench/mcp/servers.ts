import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";

const FIXTURE = fileURLToPath(new URL("../fixtures/mcp-server.mjs", import.meta.url));
const SANDGATE = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));
const NODE = realpathSync(process.execPath);

/** What a client of the gateway sends to authenticate itself. */
export const TOKEN = "the-token-of-a-bench-client";

/** MCP servers in a separate process, which echo. */
export interface EchoServers {
  /** Their addresses. */
  readonly urls: readonly string[];
  close(): void;
}

/** Starts so many servers with so many tools each, at free ports of the loopback interface. */
export async function startEchoServers(servers = 1, tools = 1): Promise<EchoServers> {
  const child = fork(FIXTURE, ["http", String(servers), String(tools)]);
  const [port] = (await once(child, "message")) as [number];
  const urls = Array.from({ length: servers }, (_, index) => `http://127.0.0.1:${port}/${index}`);
  return { urls, close: () => void child.kill() };
}

/** The command of a server with one tool that speaks over its standard streams. */
export const STDIO_SERVER: { readonly command: string; readonly args: readonly string[] } = {
  command: NODE,
  args: [FIXTURE, "stdio", "1"],
};

/** The same in a config, in which it is granted what it needs. */
export const CONFINED_SERVER: typeof STDIO_SERVER & { readonly fs: readonly object[] } = {
  ...STDIO_SERVER,
  fs: [
    { file: NODE, at: NODE },
    { file: FIXTURE, at: FIXTURE },
    { directory: realpathSync(MODULES), at: MODULES },
  ],
};

/** Returns the options of servers over HTTP, by name. */
export function httpServers(urls: readonly string[]): Readonly<Record<string, object>> {
  return Object.fromEntries(urls.map((url, index) => [`s${index}`, { url, addresses: ["127.0.0.1/32"] }]));
}

/** The command of `sandgate`, with a config in a folder of its own. */
export interface ConfiguredCommand extends Disposable {
  readonly command: string;
  readonly args: readonly string[];
}

/** What a config has in addition. */
export interface MoreConfig {
  /** Rules before the one that allows the calls. */
  readonly rules?: readonly object[];
  readonly journal?: object;
}

/** Writes a config with MCP servers, all of whose tools may be called. */
export function commandBefore(
  command: readonly string[],
  servers: object,
  { rules = [], ...more }: MoreConfig = {},
): ConfiguredCommand {
  const folder = mkdtempSync(join(tmpdir(), "sandgate-bench-"));
  const config = {
    mcp: { servers, classes: { "mcp_*": "read" } },
    policy: { rules: [...rules, { tools: ["mcp_*"], effect: "allow", sandboxes: ["remote"] }] },
    server: {
      sessions: true,
      mcp: {},
      credentials: [{ id: "bench", token: { file: "token" }, roles: ["caller"] }],
    },
    log: { level: "error" },
    ...more,
  };
  const file = join(folder, "sandgate.yaml");
  writeFileSync(file, stringify(config));
  writeFileSync(join(folder, "token"), TOKEN);
  return {
    command: process.execPath,
    args: [SANDGATE, ...command, "--config", file],
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** `sandgate serve` in a separate process, as a gateway before MCP servers. */
export interface Gateway {
  /** The address of MCP. */
  readonly url: string;
  close(): Promise<void>;
}

/** Starts a gateway before servers of HTTP. */
export async function startGateway(urls: readonly string[]): Promise<Gateway> {
  const { command, args, ...config } = commandBefore(["serve", "--listen", "127.0.0.1:0"], httpServers(urls));
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), "line"),
    exited.then(() => {
      throw new Error("sandgate serve has ended");
    }),
  ])) as [string];
  return {
    url: `http://${line.replace("listening on ", "")}/mcp`,
    close: async () => {
      child.kill("SIGKILL");
      await exited;
      config[Symbol.dispose]();
    },
  };
}
