import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { EventStream } from "../../../src/engine/call/events.ts";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Capabilities } from "../../../src/policy/grant/capabilities.ts";
import type { ResourceLimits } from "../../../src/policy/grant/limits.ts";
import type { NetGrant } from "../../../src/policy/grant/net-grant.ts";
import { allow } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { reportProcess } from "../../../src/sandboxes/process/process-report.ts";
import type { ProcessImplementation } from "../../../src/tool/implementations/process-implementation.ts";
import { listen, SECURE_TEST, serve } from "../../egress/servers.ts";
import { unavailable } from "./availability.ts";

const resolve = async (name: string): Promise<readonly string[]> => {
  if (!name.endsWith(".test")) throw new Error("no such name");
  return ["127.0.0.1"];
};
const sandboxes = await openSandboxes({ egress: { resolve } });
const { cgroups } = await reportProcess();
const root = realpathSync(mkdtempSync(join(tmpdir(), "process-network-")));
afterAll(async () => {
  await sandboxes.close();
  rmSync(root, { recursive: true });
});

interface RunOptions {
  readonly net?: readonly NetGrant[];
  readonly more?: Capabilities;
  readonly limits?: ResourceLimits;
  readonly lines?: string[];
  readonly program?: Pick<ProcessImplementation, "cwd" | "env">;
}

async function run(
  script: string,
  { net, more = {}, limits = {}, lines = [], program = {} }: RunOptions = {},
): Promise<ToolExecution> {
  const tool = {
    name: "shell",
    description: "",
    inputSchema: { type: "object" },
    process: {
      ...program,
      ...({ command: "sh", args: ["-c", script], input: "none", output: "text", killGraceMs: 100 } as const),
    },
  } as const;
  const events = new EventStream();
  events.on((event) => {
    if (event.type === "tool.log" && event.level === "warn") lines.push(event.message);
  });
  const execution = await new ToolDispatchEngine().dispatch(
    { id: "c1", name: "shell", arguments: {} },
    {
      events,
      registry: new ToolRegistry().register(tool),
      policy: {
        check: () => allow({ sandbox: "process", limits, capabilities: { ...(net && { net }), ...more } }),
      },
      sandboxes,
      sessionId: "s1",
    },
  );
  return execution as ToolExecution;
}

async function outputOf(script: string, options?: RunOptions): Promise<string> {
  const { output, error } = await run(script, options);
  if (error !== undefined) throw new Error(error.message);
  return output as string;
}

const local = (origin: string): NetGrant => ({ origin, addresses: ["127.0.0.1/32"] });

const has = (program: string): boolean => {
  try {
    execFileSync("/bin/sh", ["-c", `PATH=/usr/bin:/bin command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

/** Prints the response to a GET of `$1` through the proxy that the environment names, with nothing but perl. */
const FETCH = `fetch() { perl -MIO::Socket::INET -e '
  my ($host, $port) = $ENV{http_proxy} =~ m{^http://(.*):(.*)$};
  my $s = IO::Socket::INET->new("$host:$port") or die "no proxy: $!";
  my ($h) = $ARGV[0] =~ m{//([^/]*)};
  print $s "GET $ARGV[0] HTTP/1.1\\r\\nHost: $h\\r\\nConnection: close\\r\\n\\r\\n";
  print while <$s>;' "$1"; }; `;

describe.skipIf(unavailable)("a program with a grant of net", () => {
  test.skipIf(!has("curl"))(
    "reaches granted origins with curl, which finds the proxy in its environment",
    async () => {
      const server = await serve((_, response) => response.end("a page"));
      const { output, receipt, error } = await run(
        `curl -sS http://a.test:${server}/; echo; curl -sS http://a.test:${server}/`,
        {
          net: [local(`http://a.test:${server}`)],
        },
      );
      expect(error?.message).toBeUndefined();
      expect(output).toBe("a page\na page");
      expect(receipt.used).toMatchObject({
        contacted: Array(2).fill({ origin: `http://a.test:${server}`, address: "127.0.0.1" }),
      });
      expect(receipt.used.bytesDown).toBeGreaterThan(100);
      expect(receipt.used.bytesUp).toBeGreaterThan(100);
    },
  );

  test.skipIf(!has("curl"))(
    "reaches granted origins of https: through a tunnel, and checks their certificate itself",
    async () => {
      const server = await listen(
        createHttpsServer(SECURE_TEST, (_, response) => response.end("a secret page")),
      );
      const folder = join(root, "tls");
      mkdirSync(folder);
      writeFileSync(join(folder, "ca.pem"), SECURE_TEST.cert);
      const options = {
        net: [local(`https://secure.test:${server}`)],
        more: { fs: [{ directory: folder }] },
      };
      expect(await outputOf(`curl -sS --cacert ca.pem https://secure.test:${server}/`, options)).toBe(
        "a secret page",
      );
      expect(await outputOf(`curl -sS https://secure.test:${server}/ 2>&1 || true`, options)).toMatch(
        /certificate/,
      );
    },
  );

  test("is refused other origins and private addresses, which operators read", async () => {
    const server = await serve((_, response) => response.end("a page"));
    const lines: string[] = [];
    const net = [`http://a.test:${server}`, "https://b.test"];
    expect(await outputOf(`${FETCH}fetch http://evil.test/`, { net, lines })).toMatch(
      /^HTTP\/1\.1 403 [\s\S]*does not have the origin 'http:\/\/evil\.test'/,
    );
    expect(await outputOf(`${FETCH}fetch http://a.test:${server}/`, { net, lines })).toMatch(
      /^HTTP\/1\.1 403 [\s\S]*is not public/,
    );
    expect(lines).toEqual([
      expect.stringContaining("the grant does not name the origin 'http://evil.test'"),
      expect.stringContaining("'a.test' has the address \"127.0.0.1\", which is not public"),
    ]);
  });

  test("reaches nothing without the proxy: no address of this machine, no name, no other network", async () => {
    const contacted = vi.fn();
    const server = await listen(createServer(contacted));
    const net = [local(`http://*:*`)];
    const connect = (host: string, port: number): string =>
      `perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => "${host}", PeerPort => ${port}, Timeout => 5) ? print "OUT" : print "$!\\n"'; `;
    expect(await outputOf(connect("127.0.0.1", server), { net })).toMatch(/refused/);
    expect(await outputOf(connect("192.0.2.1", 80), { net })).toMatch(/unreachable/);
    expect(await outputOf("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '", { net })).toBe("lo\n");
    expect(
      await outputOf("perl -e 'print defined gethostbyname(q(a.test)) ? q(OUT) : q(no name)'", { net }),
    ).toBe("no name");
    expect(contacted).not.toHaveBeenCalled();
  });

  test("can serve and reach its own ports, by the name of localhost too", async () => {
    const script = `perl -MIO::Socket::INET -e '
      my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die $!;
      if (fork) { my $c = $l->accept; print $c "own\\n"; close $c; wait; exit }
      my $s = IO::Socket::INET->new(PeerAddr => "localhost", PeerPort => $l->sockport) or die $!; print <$s>'; wait`;
    expect(await outputOf(script, { net: ["https://b.test"] })).toBe("own\n");
  });

  test("has the variables of the proxy, whatever the grant's env and the tool have, and no descriptor or process of its making", async () => {
    process.env["http_proxy"] = "http://outside:1";
    const options: RunOptions = { net: ["https://b.test"], more: { env: ["http_proxy"] } };
    const program = { env: { HTTPS_PROXY: "http://tool:1" } };
    const environment = await outputOf("env | grep -i proxy | sort", { ...options, program });
    delete process.env["http_proxy"];
    expect(environment.trim().split("\n")).toEqual([
      "ALL_PROXY=http://127.0.0.1:3128",
      "HTTPS_PROXY=http://127.0.0.1:3128",
      "HTTP_PROXY=http://127.0.0.1:3128",
      "NODE_USE_ENV_PROXY=1",
      "NO_PROXY=localhost,127.0.0.1,::1",
      "all_proxy=http://127.0.0.1:3128",
      "http_proxy=http://127.0.0.1:3128",
      "https_proxy=http://127.0.0.1:3128",
      "no_proxy=localhost,127.0.0.1,::1",
    ]);
    const links = await outputOf("exec ls -l /proc/self/fd", options);
    const others =
      links.match(/\d+ -> .*/g)?.filter((link) => !/^[012] |-> \/proc\/\d+\/fd$/.test(link)) ?? [];
    expect(others.filter((line) => !line.endsWith("-> /dev/null"))).toEqual([]);
    expect(
      await outputOf("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c [c]reateServer || true", options),
    ).toBe("0\n");
  });

  test("opens no sockets but unix sockets and those of TCP and UDP", async () => {
    const socket = (args: string): string =>
      `perl -MSocket -e 'socket(S, ${args}) ? print "open " : print "$! "'; `;
    const printed = await outputOf(
      [
        "AF_INET, SOCK_STREAM, 0",
        "AF_INET, SOCK_DGRAM, 17",
        "AF_INET6, SOCK_STREAM, 6",
        "AF_UNIX, SOCK_STREAM, 0",
      ]
        .concat([
          "AF_INET, SOCK_RAW, 1",
          "AF_INET, SOCK_DGRAM, 1",
          "AF_INET, SOCK_STREAM, 132",
          "16, SOCK_RAW, 0",
          "17, SOCK_RAW, 768",
        ])
        .map(socket)
        .join(""),
      { net: ["https://b.test"] },
    );
    expect(printed).toMatch(
      /^(open ){4}Operation not permitted (Protocol not supported ){2}(Operation not permitted ){2}$/,
    );
  });

  test("gets no more than its network budget", async () => {
    const server = await serve((_, response) => response.end(Buffer.alloc(2_000_000)));
    const { output, receipt } = await run(
      `${FETCH}fetch http://a.test:${server}/ | wc -c; fetch http://a.test:${server}/`,
      {
        net: [local(`http://a.test:${server}`)],
        limits: { netBytes: 500_000 },
      },
    );
    const [bytes = "", ...rest] = String(output).split("\n");
    expect(Number(bytes)).toBeLessThan(500_000);
    expect(rest.join("\n")).toMatch(/^HTTP\/1\.1 403 [\s\S]*netBytes/);
    expect(receipt.enforced.netBytes).toBe(500_000);
  });

  test("loses its connections at the deadline", async () => {
    const closed = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const server = await serve((request) => {
      request.socket.once("close", closed.resolve);
      asked.resolve();
    });
    const running = run(`${FETCH}trap '' TERM; fetch http://a.test:${server}/`, {
      net: [local(`http://a.test:${server}`)],
      limits: { wallTimeMs: 3_000 },
    });
    const { error, receipt } = await running;
    expect(error).toMatchObject({ code: "timeout", effect: "unknown" });
    expect(receipt.ended).toBe("confirmed");
    await asked.promise;
    await closed.promise;
  });

  test("does not reach the proxy of another call that runs at the same time", async () => {
    const server = await serve((_, response) => response.end("a page"));
    const both = await Promise.all(
      [`http://a.test:${server}`, `http://b.test:${server}`].map((origin) =>
        outputOf(`${FETCH}fetch http://a.test:${server}/; fetch http://b.test:${server}/`, {
          net: [local(origin)],
        }),
      ),
    );
    expect(both.map((text) => text.match(/HTTP\/1\.1 \d+/g))).toEqual([
      ["HTTP/1.1 200", "HTTP/1.1 403"],
      ["HTTP/1.1 403", "HTTP/1.1 200"],
    ]);
  });

  test.skipIf("reason" in cgroups.memory || "reason" in cgroups.pids)(
    "has limits that are less than what the preparation of its network takes",
    async () => {
      const options: RunOptions = {
        net: ["https://b.test"],
        limits: { memoryBytes: 16_000_000, processes: 3 },
      };
      expect(await outputOf("echo ran", options)).toBe("ran\n");
      const { error } = await run("head -c 100000000 /dev/zero | tail", options);
      expect(error?.code).toBe("limit_exceeded");
    },
  );

  test("has its network even if a launcher without one waits, and leaves that to calls without one", async () => {
    const look = "tail -n +3 /proc/net/dev | cut -d: -f1; env | grep -c http_proxy || true";
    const without = await outputOf(look);
    for (let count = 0; count < 2; count++) {
      expect(
        await outputOf(`${FETCH}fetch http://evil.test/ | head -n 1`, { net: ["https://b.test"] }),
      ).toMatch(/^HTTP\/1\.1 403 /);
      expect(await outputOf(look)).toBe(without);
    }
    expect(without).toMatch(/0\n$/);
  });

  test("begins in its working directory, and not at all if that is missing", async () => {
    const folder = join(root, "working");
    mkdirSync(join(folder, "sub"), { recursive: true });
    const options = { net: ["https://b.test"], more: { fs: [{ directory: folder }] } };
    expect(await outputOf("pwd", { ...options, program: { cwd: "sub" } })).toBe("/workspace/sub\n");
    const { error } = await run("pwd", { ...options, program: { cwd: "none" } });
    expect(error?.message).toContain("There is no directory 'none'");
  });

  test("may have limits of its processes", async () => {
    const limits = { processMemoryBytes: 200_000_000, cpuMs: 1_000 };
    expect(await outputOf("echo ran", { net: ["https://b.test"], limits })).toBe("ran\n");
  });
});

describe.skipIf(unavailable || !has("git"))("git", () => {
  test("clones a repository through the proxy", async () => {
    const folder = join(root, "repository");
    const git = (...args: string[]): void => void execFileSync("git", args, { cwd: folder, stdio: "ignore" });
    mkdirSync(folder);
    writeFileSync(join(folder, "a.txt"), "text");
    git("init", "-q", "-b", "main");
    git("add", ".");
    git("-c", "user.name=a", "-c", "user.email=a@a.test", "commit", "-qm", "a");
    git("update-server-info");
    const { readFile } = await import("node:fs/promises");
    const server = await serve(async (request, response) => {
      const path = new URL(request.url ?? "", "http://a.test").pathname;
      readFile(join(folder, path)).then(
        (bytes) => response.end(bytes),
        () => response.writeHead(404).end(),
      );
    });
    expect(
      await outputOf(`cd /tmp && git clone -q http://a.test:${server}/.git a 2>&1 && cat a/a.txt`, {
        net: [local(`http://a.test:${server}`)],
      }),
    ).toBe("text");
  });
});
