import { type ChildProcess, fork, spawn } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allow, defineTool, openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";
import { Pool } from "undici";
import type { Case, Question } from "./measure.ts";
import { INPUT, INPUT_SCHEMA, INPUT_TEXT, isInput } from "./setting.ts";

const IN_FLIGHT = 64;
const MANY = 2_000;
const ROOT = new URL("..", import.meta.url);
const KEY_ID = "bench";

/** What does a call on an executor cost, beside undici sending the same bytes to a server that echoes them? */
export async function remoteExecutor(): Promise<Question> {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const [floor, plain, signed] = await Promise.all([
    openFloor(),
    openExecutor("dispatch on an executor"),
    openExecutor("dispatch on an executor, signed", { publicKey, privateKey }),
  ]);
  return {
    name: "remote-executor",
    floor: floor.case,
    cases: [plain.case, signed.case],
    close: () => closeAll(floor, plain, signed),
  };
}

/** The same with many calls under way at once: the ratio is that of the calls each second, turned over. */
export async function remoteExecutorLoad(): Promise<Question> {
  const [floor, plain] = await Promise.all([openFloor(), openExecutor("dispatch on an executor")]);
  return {
    name: "remote-executor-load",
    floor: inFlight(IN_FLIGHT, floor.case),
    cases: [inFlight(IN_FLIGHT, plain.case)],
    close: () => closeAll(floor, plain),
  };
}

/** Thousands of calls that each take 100 ms; prints how much memory of the caller one of them holds meanwhile. */
export async function remoteExecutorMany(): Promise<Question> {
  const floor = await openFloor("/slow");
  const ours = await openExecutor("dispatch on an executor", undefined, "slow");
  const many = inFlight(MANY, ours.case);
  let mostBytes = 0;
  return {
    name: "remote-executor-many",
    floor: inFlight(MANY, floor.case),
    cases: [
      {
        ...many,
        run: async () => {
          const before = process.memoryUsage.rss();
          const running = many.run();
          // Every call waits for the executor now.
          const looking = setTimeout(() => {
            mostBytes = Math.max(mostBytes, process.memoryUsage.rss() - before);
          }, 90);
          const answers = await running;
          clearTimeout(looking);
          return answers;
        },
      },
    ],
    close: async () => {
      console.log(`${many.name}: ${(mostBytes / MANY / 1_024).toFixed(1)} KiB of memory for each call`);
      await closeAll(floor, ours);
    },
  };
}

interface Opened {
  readonly case: Case;
  close(): Promise<unknown>;
}

async function openFloor(path = "/echo"): Promise<Opened> {
  const server = fork(new URL("fixtures/echo-server.mjs", import.meta.url));
  const [port] = (await once(server, "message")) as [number];
  const pool = new Pool(`http://127.0.0.1:${port}`);
  const headers = { "content-type": "application/json", accept: "application/json" };
  const limits = { wallTimeMs: 30_000, outputBytes: 1_048_576 };
  return {
    case: {
      name: "undici Pool.request + JSON both ways, to a server that echoes",
      run: async () => {
        const call = { id: "call~twelve-letter1", name: "echo", arguments: INPUT };
        const grant = { limits, capabilities: {} };
        const body = JSON.stringify({ call, session: "bench", grant, timeoutMs: 30_100 });
        const answer = await pool.request({ path, method: "POST", headers, body });
        return answer.body.json();
      },
      check: (answer) => isInput((answer as { call?: { arguments?: unknown } }).call?.arguments),
    },
    close: async () => {
      await pool.close();
      server.kill();
    },
  };
}

/** An executor as `sandgate serve` starts it, in a process of its own, and a call of its tool. */
async function openExecutor(
  name: string,
  keys?: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
  tool: "echo" | "slow" = "echo",
): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), "sandgate-bench-"));
  if (keys !== undefined) {
    writeFileSync(join(folder, "key.pem"), keys.publicKey.export({ type: "spki", format: "pem" }));
  }
  const module = new URL("fixtures/echo-tool.mjs", import.meta.url).pathname;
  const config = {
    tools: [{ name: "echo", description: "", inputSchema: INPUT_SCHEMA, host: { module, export: tool } }],
    policy: { rules: [{ name: "all", tools: ["*"], effect: "allow", sandboxes: ["host"] }] },
    server: {
      limits: { inFlight: MANY },
      ...(keys !== undefined && { keys: { [KEY_ID]: "key.pem" } }),
    },
  };
  // YAML holds JSON.
  writeFileSync(join(folder, "sandgate.yaml"), JSON.stringify(config));
  const main = new URL("dist/cli/main.js", ROOT).pathname;
  const options = ["serve", "--config", join(folder, "sandgate.yaml"), "--listen", "127.0.0.1:0"];
  const server = spawn(process.execPath, [main, ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await addressOf(server);
  const remote = { executor: `http://${address}` };
  const sandboxes = await openSandboxes(
    keys === undefined ? {} : { remote: { signingKey: keys.privateKey, keyId: KEY_ID } },
  );
  const registry = new ToolRegistry().register(
    defineTool({ name: "echo", description: "", inputSchema: INPUT_SCHEMA, remote }),
  );
  const decision = allow({ sandbox: "remote" });
  const ctx = { registry, policy: { check: () => decision }, sandboxes, sessionId: "bench" };
  const engine = new ToolDispatchEngine();
  const call = { id: "call", name: "echo", arguments: INPUT_TEXT };
  return {
    case: {
      name,
      run: () => engine.dispatch(call, ctx),
      check: (execution) => isInput((execution as { output?: unknown } | null)?.output),
    },
    close: async () => {
      await sandboxes.close();
      server.kill();
      await once(server, "exit");
      rmSync(folder, { recursive: true });
    },
  };
}

/** What `sandgate serve` prints first: `listening on ADDRESS`. */
async function addressOf({ stdout }: ChildProcess): Promise<string> {
  let printed = "";
  for await (const chunk of stdout ?? []) {
    printed += chunk;
    const [, address] = /^listening on (\S+)\n/m.exec(printed) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error("the executor did not start");
}

function inFlight(count: number, { name, run, check }: Case): Case {
  return {
    name: `${count} at once: ${name}`,
    run: () => Promise.all(Array.from({ length: count }, run)),
    check: (answers) => (answers as unknown[]).forEach(check),
  };
}

async function closeAll(...opened: readonly Opened[]): Promise<void> {
  await Promise.all(opened.map((each) => each.close()));
}
