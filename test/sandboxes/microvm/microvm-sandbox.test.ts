import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EventStream } from "../../../src/engine/call/events.ts";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { CanonicalJson } from "../../../src/json/canonical.ts";
import type { JsonValue } from "../../../src/json/value.ts";
import type { Capabilities } from "../../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import { allow } from "../../../src/policy/policy.ts";
import { BoundGrant, type BoundTo } from "../../../src/sandboxes/contract/bound-grant.ts";
import type { Sandbox } from "../../../src/sandboxes/contract/sandbox.ts";
import { openSandboxes, type Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { unavailable } from "./availability.ts";

const MIB = 1_024 * 1_024;
const engine = new ToolDispatchEngine();

interface RunOptions {
  readonly input?: JsonValue;
  readonly capabilities?: Capabilities;
  readonly limits?: ResourceLimits;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly onLog?: (line: string) => void;
}

/** The processes of QEMU that this process started, directly or through bubblewrap. */
function machines(): number {
  const parents = new Map<number, number>();
  const running: number[] = [];
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      parents.set(Number(name), Number(parent));
      if (stat.includes("(qemu-system") && state !== "Z") running.push(Number(name));
    } catch {
      // It has ended meanwhile.
    }
  }
  return running.filter((pid) => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at))
      if (at === process.pid) return true;
    return false;
  }).length;
}

describe.skipIf(unavailable)("a program in a virtual machine", { timeout: 120_000 }, () => {
  let sandboxes: Sandboxes;
  let image: string;

  beforeAll(async () => {
    image = mkdtempSync(join(tmpdir(), "microvm-image-"));
    mkdirSync(join(image, "data", "deep"), { recursive: true });
    writeFileSync(join(image, "data", "deep", "text"), "from the image\n");
    symlinkSync("/etc/hostname", join(image, "data", "link"));
    sandboxes = await openSandboxes({ microvm: { memoryBytes: 512 * MIB } });
    await sandboxes.prepare({ microvm: { image, command: "sh" } });
  }, 300_000);

  afterAll(async () => {
    await sandboxes.close();
    expect(machines()).toBe(0);
    rmSync(image, { recursive: true });
  });

  async function run(
    script: string,
    {
      input = {},
      capabilities = {},
      limits = {},
      command = "sh",
      args = ["-c", script],
      onLog,
    }: RunOptions = {},
  ): Promise<ToolExecution> {
    const tool = {
      name: "tool",
      description: "",
      inputSchema: { type: "object" },
      microvm: { image, command, args },
    };
    const events = new EventStream();
    events.on((event) => {
      if (event.type === "tool.log") onLog?.(event.message);
    });
    const execution = await engine.dispatch(
      { id: "c1", name: "tool", arguments: input },
      {
        events,
        sandboxes,
        sessionId: "s1",
        registry: new ToolRegistry().register(tool),
        policy: { check: () => allow({ sandbox: "microvm", limits, capabilities }) },
      },
    );
    return execution as ToolExecution;
  }

  /** The output of a script as text. */
  async function outputOf(script: string, options?: RunOptions): Promise<string> {
    const { output, error } = await run(
      `{ ${script}; } 2>&1 | hexdump -ve '1/1 "%02x"' | sed 's/.*/"&"/'`,
      options,
    );
    if (error !== undefined) throw new Error(error.message);
    return Buffer.from(output as string, "hex").toString();
  }

  test("has the files of the image, links as they are, and no way to change them", async () => {
    expect(await outputOf("cat /data/deep/text; readlink /data/link")).toBe(
      "from the image\n/etc/hostname\n",
    );
    for (const path of ["/x", "/data/x", "/bin/x", "/sandgate/x", "/dev/x", "/proc/sys/kernel/hostname"])
      expect(await outputOf(`(echo 1 > ${path}) 2>/dev/null || echo refused`)).toBe("refused\n");
  });

  test("has a kernel of its own, no network, no devices, and no privileges", async () => {
    const text = await outputOf(
      "uname -r; ls /sys/class/net; id -u; grep -E '^(CapEff|NoNewPrivs)' /proc/self/status",
    );
    expect(text).toMatch(/^6[.\d-]+cloud-amd64\nlo\n1000\nCapEff:\s0+\nNoNewPrivs:\s1\n$/);
    const open =
      "for port in /dev/vport0p* /dev/mem /dev/kmsg; do (: < $port) 2>/dev/null && echo $port; done; echo none";
    expect(await outputOf(open)).toBe("none\n");
  });

  test("reads its arguments as one line, and gets its own arguments as they are", async () => {
    expect(await outputOf('read -r line; echo "$line"; wc -c', { input: { a: "é\n'" } })).toBe(
      `{"a":"é\\n'"}\n0\n`,
    );
    const args = ["-c", 'printf \'"%s"\' "$1$2"', "sh", "a'b $HOME `id` ", "\\n\\n"];
    expect((await run("", { args })).output).toBe("a'b $HOME `id` \n\n");
  });

  test("gets the granted variables", async () => {
    process.env["MICROVM_TEST"] = "it's $HOME\n";
    const capabilities = { env: ["MICROVM_TEST", "MICROVM_ABSENT"] };
    const text = await outputOf('echo "$MICROVM_TEST|$MICROVM_ABSENT"; env | grep -o "^[A-Z_]*=" | sort', {
      capabilities,
    });
    expect(text).toBe(
      `it's $HOME\n|\n${["HOME", "LANG", "MICROVM_TEST", "PATH", "PWD", "SHLVL"].join("=\n")}=\n`,
    );
  });

  test("draws other random bytes and sees the right time in each call, restored or kept ready", async () => {
    const seen = new Set<string>();
    for (let call = 0; call < 4; call++) {
      const before = Math.floor(Date.now() / 1_000);
      const [random = "", uuid = "", time = ""] = (
        await outputOf("head -c 16 /dev/urandom | xxd -p; cat /proc/sys/kernel/random/uuid; date +%s")
      ).split("\n");
      seen.add(random).add(uuid);
      expect(Number(time)).toBeGreaterThanOrEqual(before);
      expect(Number(time)).toBeLessThanOrEqual(Date.now() / 1_000);
    }
    expect(seen.size).toBe(8);
  });

  test("finds nothing of an earlier call", async () => {
    const script =
      "ls -A /tmp; echo secret > /tmp/left; sleep 1000 >/dev/null 2>&1 & ps -o comm | grep -c sleep";
    expect(await outputOf(script)).toBe("1\n");
    expect(await outputOf(script)).toBe("1\n");
  });

  test("fails if the image has no such program", async () => {
    const { error } = await run("", { command: "absent", args: [] });
    expect(error).toMatchObject({ code: "execution_error", message: "The image has no program 'absent'" });
  });

  test("logs what it writes to its standard error, up to the limit", async () => {
    const lines: string[] = [];
    const { output, receipt } = await run("seq 1 9 >&2; echo 1", {
      limits: { logLines: 3 },
      onLog: (line) => lines.push(line),
    });
    expect([output, lines, receipt.used.logLines]).toEqual([1, ["1", "2", "3"], 3]);
  });

  test("is ended for certain at its deadline", async () => {
    const { error, receipt } = await run("sleep 1000", { limits: { wallTimeMs: 100 } });
    expect(error).toMatchObject({ code: "timeout", effect: "none" });
    expect(receipt).toMatchObject({ ended: "confirmed" });
    expect(receipt).not.toHaveProperty("mayStillRun");
  });

  test("refuses grants that it cannot give", async () => {
    for (const capabilities of [
      { fs: [{ directory: image }] },
      { net: ["https://example.com"] },
      { tools: ["x"] },
    ])
      expect((await run("echo 1", { capabilities })).error).toMatchObject({ code: "sandbox_unavailable" });
    for (const limits of [{ cpuMs: 1_000 }, { fileBytes: 1 }, { netBytes: 1 }, { processMemoryBytes: MIB }])
      expect((await run("echo 1", { limits })).error).toMatchObject({ code: "limit_unenforceable" });
  });

  test("refuses a machine that is larger than all may be", async () => {
    const { error } = await run("echo 1", { limits: { memoryBytes: 1_024 * MIB } });
    expect(error).toMatchObject({ code: "sandbox_unavailable" });
  });

  describe("that is hostile", () => {
    /** Hostile scripts, and how the call ends. */
    const ATTACKS: Record<string, [script: string, ends: object, limits?: ResourceLimits]> = {
      "floods its output": ["cat /dev/zero", { error: { code: "limit_exceeded" } }],
      "floods its log": ["yes >&2 & sleep 3; echo 1", { output: 1 }],
      "floods its log with one line": ["cat /dev/zero >&2 & sleep 3; echo 1", { output: 1 }],
      "never answers": ["sleep 1000", { error: { code: "timeout" } }, { wallTimeMs: 3_000 }],
      "answers twice": ["echo 1; echo 2", { error: { code: "execution_error" } }],
      "answers with several values": ["echo '1 2'", { error: { code: "execution_error" } }],
      "answers nothing": ["exit 0", { error: { code: "execution_error" } }],
      "answers with invalid UTF-8": ["printf '\"\\377\\376\"'", { output: "\ufffd\ufffd" }],
      "answers before it has read its arguments": ["echo 1; exec 1>&-; cat >/dev/null", { output: 1 }],
      "goes on in the background": ["(sleep 1000; echo 2) & echo 1", { output: 1 }],
      "forks without end": [
        "f() { f | f & }; f 2>/dev/null; sleep 1; echo 1",
        expect.objectContaining({ receipt: expect.anything() }),
        { wallTimeMs: 5_000, processes: 16 },
      ],
      "fills its memory": ["tail /dev/zero", { error: { code: "limit_exceeded" } }],
      "fills its /tmp": ["cat /dev/zero >/tmp/a", { success: false }],
      "cannot switch the machine off": ["poweroff -f; reboot -f; halt -f; echo 1", { output: 1 }],
      "cannot make its kernel panic": ["(echo c > /proc/sysrq-trigger) 2>/dev/null; echo 1", { output: 1 }],
      "cannot end the machine's own processes": ["kill -9 1; kill -9 -1; echo 1", { output: 1 }],
      "forges the report of its end": [
        "for n in 0 1 2 3; do echo 00000000000000000000000000000000 0 0 0; echo ready; done >&2; exit 3",
        { error: { code: "execution_error" } },
      ],
    };

    test.each(Object.entries(ATTACKS))("%s", async (_name, [script, ends, limits]) => {
      expect(await run(script, limits ? { limits } : {})).toMatchObject(ends);
      expect((await run("echo 1")).output).toBe(1);
    });

    test("gets 16 MiB, which are more than the engine lets through, whether it reads them or not", async () => {
      const input = { text: "x".repeat(16 * MIB) };
      for (const [script, output] of [
        ["wc -c", 16 * MIB + 12],
        ["echo 1", 1],
      ] as const) {
        const to: BoundTo = {
          callId: "c1",
          canonical: new CanonicalJson(input),
          limits: { wallTimeMs: 100_000 },
          implementations: { microvm: { image, command: "sh", args: ["-c", script] } },
          capabilities: {},
          sandbox: "microvm",
          definition: { digest: "0".repeat(64) },
        };
        const sandbox = (await sandboxes.route("microvm")) as Sandbox;
        const outcome = await sandbox.run({
          ...to,
          grant: new BoundGrant(to),
          sessionId: "s1",
          toolName: "tool",
          input,
          signal: undefined,
          embedder: undefined,
          observer: { output: () => {}, log: () => {} },
        });
        expect(outcome).toMatchObject({ status: "completed", output });
      }
    });

    test("gets the longest arguments, whether it reads them or not", async () => {
      const input = { text: "x".repeat(2_000_000) };
      expect(await outputOf("wc -c", { input })).toBe("2000012\n");
      expect((await run("echo 1", { input })).output).toBe(1);
    });
  });

  test("runs 20 calls at once, in no more machines than there is memory for", async () => {
    let most = 0;
    const looking = setInterval(() => {
      most = Math.max(most, machines());
    }, 20);
    const calls = Array.from({ length: 20 }, (_, n) => run(`echo ${n}`));
    const outputs = (await Promise.all(calls)).map(({ output }) => output);
    clearInterval(looking);
    expect(outputs).toEqual(calls.map((_, n) => n));
    expect(most).toBeLessThanOrEqual(2);
  });
});
