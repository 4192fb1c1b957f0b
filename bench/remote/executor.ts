import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { OpenCase } from "../harness/case.ts";
import { INPUT_SCHEMA, openEcho } from "../setting.ts";

const KEY_ID = "bench";
/** The least that a call of the tool sends over HTTP, in bytes. */
const HTTP_BYTES_UP = 330;
const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const TOOLS = fileURLToPath(new URL("../fixtures/echo-tool.mjs", import.meta.url));

/** Options of {@link openExecutor}. */
export interface ExecutorOptions {
  /** Whether calls are signed. Default: `false`. */
  readonly isSigned?: boolean;
  /** Whether calls go over a framed connection. Default: `false`. */
  readonly isFramed?: boolean;
  /** `slow` takes 100 ms. Default: `echo`. */
  readonly tool?: "echo" | "slow";
  /** Calls that run at once. Default: 512. */
  readonly inFlight?: number;
}

/** Starts an executor with `sandgate serve`, and opens a case that dispatches its tool. */
export async function openExecutor({
  isSigned = false,
  isFramed = false,
  tool = "echo",
  inFlight = 512,
}: ExecutorOptions = {}): Promise<OpenCase> {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const folder = mkdtempSync(join(tmpdir(), "sandgate-bench-"));
  const configFile = join(folder, "sandgate.yaml");
  writeFileSync(join(folder, "key.pem"), publicKey.export({ type: "spki", format: "pem" }));
  const config = {
    tools: [
      {
        name: "echo",
        description: "",
        inputSchema: INPUT_SCHEMA,
        host: { module: TOOLS, export: tool, thread: false },
      },
    ],
    policy: { rules: [{ name: "all", tools: ["*"], effect: "allow", sandboxes: ["host"] }] },
    server: { frames: true, limits: { inFlight }, ...(isSigned && { keys: { [KEY_ID]: "key.pem" } }) },
    // A line for each decision and call would measure the log.
    log: { level: "warn" },
  };
  // JSON is valid YAML.
  writeFileSync(configFile, JSON.stringify(config));
  const args = [MAIN, "serve", "--config", configFile, "--listen", "127.0.0.1:0"];
  const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const kill = (): void => void server.kill();
  process.once("exit", kill);
  const remote = { executor: `http://${await addressOf(server)}` };
  const opened = await openEcho(
    "remote",
    { remote },
    {
      sandboxes: {
        remote: { frames: isFramed, ...(isSigned && { signingKey: privateKey, keyId: KEY_ID }) },
      },
    },
  );
  if (isFramed) await openFrames(opened);
  return {
    ...opened,
    close: async () => {
      await opened.close?.();
      const exited = once(server, "exit");
      kill();
      await exited;
      process.off("exit", kill);
      rmSync(folder, { recursive: true });
    },
  };
}

/** Calls go over HTTP until the framed connection is open. */
async function openFrames({ run }: OpenCase): Promise<void> {
  await run();
  for (;;) {
    const { receipt } = (await run()) as { readonly receipt: { readonly used: { bytesUp?: number } } };
    if ((receipt.used.bytesUp ?? 0) < HTTP_BYTES_UP) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Reads the address from the first line of `sandgate serve`: `listening on ADDRESS`. */
async function addressOf({ stdout }: ChildProcess): Promise<string> {
  let printed = "";
  for await (const chunk of stdout ?? []) {
    printed += chunk;
    const [, address] = /^listening on (\S+)\n/m.exec(printed) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error("the executor did not start");
}
