import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Piscina } from "piscina";
import type { Capabilities } from "../../src/policy/grant/capabilities.ts";
import { openSandboxes, type SandboxesOptions } from "../../src/sandboxes/open-sandboxes.ts";
import { Cgroups } from "../../src/sandboxes/process/cgroups.ts";
import { piscinaPool } from "../../src/sandboxes/threads/piscina/piscina-pool.ts";
import type { ToolImplementations } from "../../src/tool/implementations/implementations.ts";
import type { Isolation, SandboxMode } from "../../src/tool/sandbox-mode.ts";
import { ToolFailure } from "../../src/tool/tool-failure.ts";
import { executorTarget } from "./executor-target.ts";

/** The tools of the contract suite, which every target implements. */
export type Behaviour =
  /** Returns its input. */
  | "echo"
  /** Fails with "no such record". */
  | "fail"
  /** Crashes without a message. */
  | "breaks"
  /** Never ends, in the way that is hardest to interrupt. */
  | "loop"
  /** Returns a string of `input.bytes` characters. */
  | "large"
  /** Returns a value that is not JSON-serialisable. */
  | "unserialisable";

/** One way to run tools: a sandbox and one kind of implementation. */
export interface Target {
  readonly name: string;
  readonly sandbox: SandboxMode;
  /** The capabilities that its tools need. Default: none. */
  readonly capabilities?: Capabilities;
  /** Whether it can limit a tool's memory; `bomb` exceeds the limit. */
  readonly bomb?: ToolImplementations;
  readonly tools: Record<Behaviour, ToolImplementations>;
  /** A wall time in milliseconds in which `loop` begins, also on a busy machine. Default: 150. */
  readonly wallTimeMs?: number;
  /** Default: none. */
  readonly options?: SandboxesOptions;
  close?(): Promise<void>;
}

/** Every way to run a tool. */
export const TARGETS: Record<string, () => Promise<Target>> = {
  "a host function": async () => ({
    name: "function",
    sandbox: "host",
    tools: {
      echo: { host: (input) => input },
      fail: {
        host: () => {
          throw new ToolFailure("execution_error", "no such record");
        },
      },
      breaks: { host: () => Promise.reject() },
      loop: { host: () => new Promise(() => {}) },
      large: { host: ({ bytes }: { bytes: number }) => "x".repeat(bytes) } as ToolImplementations,
      unserialisable: { host: async () => ({ big: 1n }) },
    },
  }),
  "a host factory": async () => ({
    name: "factory",
    sandbox: "host",
    tools: {
      echo: factory((input) => input),
      fail: factory(async () => {
        throw new ToolFailure("execution_error", "no such record");
      }),
      breaks: factory(() => {
        throw null;
      }),
      loop: factory(() => new Promise(() => {})),
      large: factory(({ bytes }) => "x".repeat(bytes)),
      unserialisable: factory(() => Symbol("none")),
    },
  }),
  "a host module": async () => moduleTarget(),
  "a host module, in the embedder's Piscina": async () => {
    const piscina = new Piscina({ minThreads: 1, maxThreads: 2 });
    return {
      ...moduleTarget(),
      options: { workers: { pool: piscinaPool(piscina) } },
      close: () => piscina.destroy(),
    };
  },
  QuickJS: quickJsTarget,
  Wasm: async () => {
    const { contractComponent } = await import("../fixtures/wasm/contract-component.ts");
    const component = await contractComponent();
    const wasm = (tool: string): ToolImplementations => ({ wasm: { component, tool } });
    return {
      name: "wasm",
      sandbox: "wasm",
      bomb: wasm("bomb"),
      tools: {
        echo: wasm("echo"),
        fail: wasm("fail"),
        breaks: wasm("trap"),
        loop: wasm("loop"),
        large: wasm("large"),
        unserialisable: wasm("garbage"),
      },
    };
  },
  "a program": () => programTarget("namespaces"),
  "a program, on Landlock": () => programTarget("landlock"),
  "a virtual machine": async () => {
    const image = mkdtempSync(join(tmpdir(), "contract-image-"));
    // It is booted here, where there is time.
    await using sandboxes = await openSandboxes();
    await sandboxes.prepare({ microvm: { image, command: "cat" } });
    const shell = (script: string): ToolImplementations => ({
      microvm: { image, command: "sh", args: ["-c", script] },
    });
    return {
      name: "microvm",
      sandbox: "microvm",
      bomb: shell("tail /dev/zero"),
      tools: {
        echo: { microvm: { image, command: "cat" } },
        fail: shell("echo no such record >&2; exit 1"),
        breaks: shell("kill -KILL $$"),
        loop: shell("trap '' TERM HUP INT; while :; do :; done"),
        large: shell("tr -cd 0-9 | xargs -I N printf '\"%*s\"' N ''"),
        unserialisable: shell("echo \"{ 'not': json }\""),
      },
      close: async () => rmSync(image, { recursive: true }),
    };
  },
  "a remote endpoint": () => remoteTarget((origin, path) => ({ remote: { url: `${origin}/${path}` } })),
  "a remote HTTP tool": () =>
    remoteTarget((origin, path) => ({ remote: { http: { method: "POST", url: `${origin}/http/${path}` } } })),
  "QuickJS on an executor": async () => executorTarget(await quickJsTarget()),
};

function moduleTarget(): Target {
  const inThread = (name: string): ToolImplementations => ({
    host: { module: new URL("../fixtures/worker/contract.ts", import.meta.url), export: name },
  });
  return {
    name: "module",
    sandbox: "host",
    tools: {
      echo: inThread("echo"),
      fail: inThread("fail"),
      breaks: inThread("throwNothing"),
      loop: inThread("loop"),
      large: inThread("large"),
      unserialisable: inThread("unserialisable"),
    },
  };
}

async function quickJsTarget(): Promise<Target> {
  const quickjs = (source: string): ToolImplementations => ({ quickjs: { source } });
  return {
    name: "quickjs",
    sandbox: "quickjs",
    bomb: quickjs("export default () => { const all = []; for (;;) all.push(new Uint8Array(1e6)); }"),
    tools: {
      echo: quickjs("export default (input) => input"),
      fail: quickjs("export default async () => { throw new Error('no such record') }"),
      breaks: quickjs("export default () => { throw undefined }"),
      // The engine cannot be interrupted while it reverses an array-like without elements.
      loop: quickjs("export default () => [].reverse.call({ length: 2 ** 32 - 1 })"),
      large: quickjs("export default ({ bytes }) => 'x'.repeat(bytes)"),
      unserialisable: quickjs("export default () => ({ big: 1n })"),
    },
  };
}

async function programTarget(isolation: Isolation): Promise<Target> {
  const shell = (script: string): ToolImplementations => ({
    process: { command: "sh", args: ["-c", script], killGraceMs: 50 },
  });
  return {
    name: "process",
    sandbox: "process",
    // To confine a program, other programs start first: one that has not begun has another error.
    wallTimeMs: 3_000,
    options: { process: { isolation } },
    ...(typeof new Cgroups().memory !== "string" && { bomb: shell("tail /dev/zero") }),
    tools: {
      echo: { process: { command: "cat" } },
      fail: shell("echo no such record >&2; exit 1"),
      breaks: shell("kill -KILL $$"),
      loop: shell("trap '' TERM HUP INT; while :; do :; done"),
      large: shell("tr -cd 0-9 | xargs -I N printf '\"%*s\"' N ''"),
      unserialisable: shell("echo \"{ 'not': json }\""),
    },
  };
}

function factory(execute: (input: { bytes: number }) => unknown): ToolImplementations {
  return { host: { create: () => ({ execute, cancel: async () => true }) } };
}

async function remoteTarget(
  remote: (origin: string, path: Behaviour) => ToolImplementations,
): Promise<Target> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    name: "remote",
    sandbox: "remote",
    capabilities: { net: [{ origin, addresses: ["127.0.0.1/32"] }] },
    tools: {
      echo: remote(origin, "echo"),
      fail: remote(origin, "fail"),
      breaks: remote(origin, "breaks"),
      loop: remote(origin, "loop"),
      large: remote(origin, "large"),
      unserialisable: remote(origin, "unserialisable"),
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of request) text += chunk;
  const [, kind, path = kind] = request.url?.split("/") ?? [];
  const body = JSON.parse(text);
  // An HTTP tool sends only its arguments, not the name of the tool.
  const input = kind === "http" ? body : body.arguments;
  switch (path as Behaviour) {
    case "echo":
      response.end(JSON.stringify(input));
      break;
    case "fail":
      response.writeHead(500).end(JSON.stringify({ error: "no such record" }));
      break;
    case "breaks":
      request.socket.destroy();
      break;
    case "loop":
      response.writeHead(200).write("[");
      break;
    case "large":
      response.end(JSON.stringify("x".repeat(input.bytes)));
      break;
    case "unserialisable":
      response.end("{ 'not': json }");
      break;
  }
}
