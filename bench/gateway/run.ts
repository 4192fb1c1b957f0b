import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { availableParallelism, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  CONFINED_SERVER,
  type ConfiguredCommand,
  commandBefore,
  httpServers,
  type MoreConfig,
  STDIO_SERVER,
  startEchoServers,
  TOKEN,
} from "../mcp/servers.ts";
import {
  type BareClient,
  type CallForm,
  callEcho,
  connectHttp,
  connectStdio,
  echoTool,
  type Revision,
} from "./clients.ts";
import { processTime } from "./process-time.ts";

// Measures gateways of MCP beside a proxy that passes bytes on: see README.md.

const { values: given } = parseArgs({
  options: {
    http: { type: "string", multiple: true, default: [] },
    stdio: { type: "string", multiple: true, default: [] },
    wire: { type: "string", multiple: true, default: ["http", "stdio"] },
    revision: { type: "string", multiple: true, default: ["2026-07-28", "2025-11-25"] },
    "in-flight": { type: "string", multiple: true, default: ["1", "64"] },
    rounds: { type: "string", default: "15" },
    calls: { type: "string", default: "200" },
    json: { type: "boolean", default: false },
  },
});

const WARM_UP_ROUNDS = 4;
const START_MS = 30_000;
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Something that is called, and the process whose time counts. */
interface Target {
  readonly name: string;
  readonly form: CallForm;
  readonly client: BareClient;
  readonly tool: string;
  readonly pid: number | undefined;
}

/** What one round of calls took, for each call. */
interface Round {
  readonly wallMs: number;
  readonly cpuMs: number | undefined;
}

const FLOOR = "a proxy that passes bytes on";

/** The server is not part of a gateway that starts it. */
const isServer = (commandLine: string): boolean => commandLine.includes("mcp-server.mjs");

async function measure(targets: readonly Target[], inFlight: number): Promise<readonly (readonly Round[])[]> {
  const rounds = targets.map((): Round[] => []);
  for (let round = -WARM_UP_ROUNDS; round < Number(given.rounds); round++) {
    for (const [index, target] of targets.entries()) {
      const measured = await measureRound(target, inFlight);
      if (round >= 0) rounds[index]?.push(measured);
    }
  }
  return rounds;
}

async function measureRound({ client, tool, form, pid }: Target, inFlight: number): Promise<Round> {
  const calls = Number(given.calls);
  let left = calls;
  const before = pid === undefined ? undefined : processTime(pid, isServer);
  const startedAt = performance.now();
  const caller = async (): Promise<void> => {
    while (left-- > 0) await callEcho(client, tool, form);
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const wallMs = (performance.now() - startedAt) / calls;
  const after = pid === undefined ? undefined : processTime(pid, isServer);
  return {
    wallMs,
    cpuMs: before === undefined || after === undefined ? undefined : (after - before) / calls,
  };
}

/** The last of our targets has these, before the rule that allows the call, and a lock beside its config. */
const EVERYTHING = {
  rules: Array.from({ length: 19 }, (_, index) => ({
    tools: ["mcp_*"],
    effect: "deny",
    when: { "/path": { glob: `secret${index}/**` } },
  })),
  journal: { directory: "journal" },
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  server.close();
  return port;
}

interface Opened {
  readonly targets: readonly Target[];
  close(): void;
}

/** A gateway as its command starts it. */
interface Command {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly path?: string;
  readonly forms?: readonly CallForm[];
}

function others(named: readonly string[], words: Readonly<Record<string, string>>): readonly Command[] {
  return named.map((each) => {
    const [, name = each, line = ""] = /^([^=]+)=(.+)$/.exec(each) ?? [];
    const filled = line.replaceAll(/\{(\w+)\}/g, (_, word: string) => words[word] ?? "");
    return { name, command: "/bin/sh", args: ["-c", `exec ${filled}`], path: "/mcp" };
  });
}

async function openHttp(revision: Revision): Promise<Opened> {
  const servers = await startEchoServers();
  const [upstream = ""] = servers.urls;
  const { origin, pathname } = new URL(upstream);
  const closing: (() => void)[] = [servers.close];
  process.once("exit", () => closeAll(closing));
  const targets: Target[] = [];
  const open = async ({ name, command, args, path = "/mcp", forms = ["plain"] }: Command, port: number) => {
    const child = spawn(command, args, { stdio: ["ignore", "ignore", "inherit"] });
    closing.push(() => child.kill("SIGKILL"));
    const [client, tool] = await retried(async () => {
      const connected = await connectHttp(`http://127.0.0.1:${port}${path}`, revision, TOKEN);
      return [connected, await echoTool(connected)] as const;
    });
    closing.push(client.close);
    for (const form of forms) targets.push({ name, form, client, tool, pid: child.pid });
  };
  const direct = await connectHttp(upstream, revision, TOKEN);
  closing.push(direct.close);
  const form = "plain";
  targets.push({
    name: "the server itself",
    form,
    client: direct,
    tool: await echoTool(direct),
    pid: undefined,
  });
  const bytes = await freePort();
  await open(
    {
      name: FLOOR,
      command: process.execPath,
      args: [here("bare-proxy.ts"), origin, `${bytes}`],
      path: pathname,
    },
    bytes,
  );
  for (const [name, config, forms] of ours) {
    const port = await freePort();
    const command = commandBefore(
      ["serve", "--listen", `127.0.0.1:${port}`],
      httpServers(servers.urls),
      config,
    );
    closing.push(() => command[Symbol.dispose]());
    if (config.journal !== undefined) await pin(command);
    await open({ name, ...command, forms }, port);
  }
  for (const named of given.http) {
    const port = await freePort();
    for (const each of others([named], { upstream, port: `${port}` })) await open(each, port);
  }
  return { targets, close: () => closeAll(closing) };
}

async function openStdio(revision: Revision): Promise<Opened> {
  const closing: (() => void)[] = [];
  process.once("exit", () => closeAll(closing));
  const targets: Target[] = [];
  const open = async ({ name, command, args, forms = ["plain"] }: Command) => {
    const client = await connectStdio(command, args, revision);
    closing.push(client.close);
    const tool = await echoTool(client);
    for (const form of forms) targets.push({ name, form, client, tool, pid: client.pid });
  };
  const { command, args } = STDIO_SERVER;
  await open({ name: "the server itself", command, args });
  await open({ name: FLOOR, command, args: [here("stdio-proxy.mjs"), command, ...args] });
  for (const [name, config, forms] of ours) {
    const configured = commandBefore(["mcp", "serve"], { s0: CONFINED_SERVER }, config);
    closing.push(() => configured[Symbol.dispose]());
    if (config.journal !== undefined) await pin(configured);
    await open({ name, ...configured, forms });
  }
  for (const each of others(given.stdio, { server: [command, ...args].join(" ") })) await open(each);
  return { targets, close: () => closeAll(closing) };
}

function closeAll(closing: readonly (() => void)[]): void {
  for (const close of closing.toReversed()) close();
}

type Own = readonly [name: string, more: MoreConfig, forms: readonly CallForm[]];

const ours: readonly Own[] = [
  ["sandgate", {}, ["plain", "with a progress token"]],
  ["sandgate with 20 rules, pins and a journal", EVERYTHING, ["plain"]],
];

/** Approves the definitions of a config. */
async function pin({ command, args }: ConfiguredCommand): Promise<void> {
  const config = args.slice(args.indexOf("--config"));
  const main = args.slice(0, args.findIndex((each) => each.endsWith("main.js")) + 1);
  const child = spawn(command, [...main, "mcp", "pin", "--yes", ...config], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error("sandgate mcp pin has failed");
}

async function retried<T>(attempt: () => Promise<T>): Promise<T> {
  for (const until = performance.now() + START_MS; ; ) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(100);
    }
  }
}

const ratio = (rounds: readonly Round[], floor: readonly Round[], of: keyof Round): string => {
  const ratios = rounds.flatMap((round, index) => {
    const [own, bare] = [round[of], floor[index]?.[of]];
    return own === undefined || bare === undefined ? [] : [own / bare];
  });
  return ratios.length === 0 ? "" : median(ratios).toFixed(2);
};

const micros = (
  rounds: readonly Round[],
  of: keyof Round,
  figure: (all: readonly number[]) => number,
): string => {
  const all = rounds.flatMap((round) => round[of] ?? []);
  return all.length === 0 ? "" : Math.round(figure(all) * 1_000).toLocaleString("en");
};

const median = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[all.length >> 1] ?? Number.NaN;
const least = (all: readonly number[]): number => Math.min(...all);
const [load = 0] = loadavg();
console.error(`Node.js ${process.version}, ${availableParallelism()} processors, load ${load.toFixed(1)}`);
const report: object[] = [];
for (const wire of given.wire) {
  for (const revision of given.revision as Revision[]) {
    const { targets, close } = wire === "http" ? await openHttp(revision) : await openStdio(revision);
    try {
      for (const inFlight of given["in-flight"].map(Number)) {
        const rounds = await measure(targets, inFlight);
        const floor = rounds[targets.findIndex(({ name }) => name === FLOOR)] ?? [];
        report.push({
          wire,
          revision,
          inFlight,
          targets: targets.map(({ name, form }, index) => ({ name, form, rounds: rounds[index] })),
        });
        if (given.json) continue;
        console.log(`\n**${wire}, ${revision}, ${inFlight} in flight**\n`);
        const rows = targets.map(({ name, form }, index) => {
          const own = rounds[index] ?? [];
          const title = form === "plain" ? name : `${name}, ${form}`;
          return [
            title,
            ratio(own, floor, "cpuMs"),
            micros(own, "cpuMs", median),
            micros(own, "cpuMs", least),
            ratio(own, floor, "wallMs"),
            micros(own, "wallMs", median),
            micros(own, "wallMs", least),
          ];
        });
        const header = ["called", "CPU, ratio", "CPU, µs", "least", "time, ratio", "time, µs", "least"];
        const line = header.map((_, column) => (column === 0 ? "---" : "--:"));
        for (const row of [header, line, ...rows]) console.log(`| ${row.join(" | ")} |`);
      }
    } finally {
      close();
    }
  }
}
if (given.json) console.log(JSON.stringify(report, undefined, 1));
