import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openSandboxes, type Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type {
  ProcessImplementation,
  ProgramCompletion,
} from "../../../src/tool/implementations/process-implementation.ts";
import { landlockUnavailable, unavailable } from "./availability.ts";
import { type ProgramCall, runProgram } from "./run-program.ts";
import { ShellScene } from "./shell/shell-scene.ts";

interface Case extends Omit<ProgramCall, "program"> {
  readonly program?: Partial<ProcessImplementation>;
}

function completeIn(sandboxes: () => Sandboxes) {
  return async (script: string, { program, ...more }: Case = {}): Promise<ProgramCompletion> => {
    const { output, error } = await runProgram(sandboxes(), {
      program: {
        command: "bash",
        args: ["-c", script],
        input: "none",
        output: "completion",
        ...program,
      } as ProcessImplementation,
      ...more,
    });
    if (error !== undefined) throw new Error(error.message);
    return output as unknown as ProgramCompletion;
  };
}

const NODE = process.execPath;
const node = { capabilities: { fs: [{ file: NODE, at: NODE }] } };

/** A server of Python for one request, and what a client got. */
const PYTHON_SERVER = `python3 - <<'END'
import http.server, socket, threading, urllib.request
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    class Server(http.server.HTTPServer): address_family = family
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b"served")
        def log_message(self, *a): pass
    server = Server((host, 0), Handler)
    threading.Thread(target=server.handle_request).start()
    name = host if ":" not in host else f"[{host}]"
    print(urllib.request.urlopen(f"http://{name}:{server.server_port}/").read().decode())
END`;

const NODE_SERVER = `${NODE} --no-warnings -e '
  const http = require("node:http");
  const server = http.createServer((_, response) => response.end("served"));
  server.listen(0, "localhost", () => fetch("http://localhost:" + server.address().port)
    .then((response) => response.text()).then((text) => { console.log(text); server.close(); }));'`;

describe.skipIf(unavailable)("A program in namespaces without a network", () => {
  let sandboxes: Sandboxes;
  beforeAll(async () => {
    sandboxes = await openSandboxes({ process: { isolation: "namespaces" } });
  });
  afterAll(() => sandboxes.close());
  const complete = completeIn(() => sandboxes);

  test("serves and reaches its own loopback interface", async () => {
    expect(await complete(PYTHON_SERVER)).toEqual({
      exitCode: 0,
      signal: null,
      stdout: "served\nserved\n",
      stderr: "",
      truncated: false,
    });
    expect(await complete(NODE_SERVER, node)).toMatchObject({ exitCode: 0, stdout: "served\n" });
    const udp =
      "import socket; a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind(('localhost', 0)); " +
      "b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); b.sendto(b'x', a.getsockname()); print(a.recv(1))";
    expect((await complete(`python3 -c "${udp}"`)).stdout).toBe("b'x'\n");
  });

  test("does so in the persistent shell of a session, from one command to the next", async () => {
    await using scene = await ShellScene.open({ isolation: "namespaces" });
    await scene.run("python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 &");
    const ask =
      "for i in 1 2 3 4 5 6 7 8 9 10; do exec 3<>/dev/tcp/127.0.0.1/8123 && break; sleep 0.3; done 2>/dev/null; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; head -n 1 <&3";
    expect(await scene.stdout(ask)).toContain("200 OK");
  });

  test("reaches neither the loopback interface of this machine nor of another call", async () => {
    const server = createServer((_, response) => response.end("outside"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const connect = (to: number) =>
      `(exec 3<>/dev/tcp/127.0.0.1/${to}) 2>&1 | grep -o 'Connection refused' | head -n 1`;
    const answer = await complete(connect(port));
    expect(answer.stdout).toBe("Connection refused\n");
    expect(answer.note).toBeUndefined();
    const serving = complete("python3 -m http.server 8124 --bind 127.0.0.1 >/dev/null 2>&1 & sleep 2");
    expect((await complete(`sleep 1; ${connect(8124)}`)).stdout).toBe("Connection refused\n");
    await serving;
  });

  test.each([
    ["an address", "(echo x >/dev/tcp/192.0.2.7/80) 2>&1"],
    ["a public address", "(echo x >/dev/tcp/1.1.1.1/443) 2>&1"],
    [
      "a name",
      "getent hosts example.com; python3 -c 'import socket; socket.create_connection((\"example.com\", 443))' 2>&1",
    ],
    [
      "a name over UDP",
      `python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.7", 53))' 2>&1`,
    ],
    ["a repository of git", "git clone https://example.com/x.git 2>&1"],
  ])("fails at once, with a text that says what to grant, when it wants to reach %s", async (_, script) => {
    const began = Date.now();
    const { note, stdout } = await complete(script);
    // Without an answer, clients wait for half a minute and more.
    expect(Date.now() - began).toBeLessThan(15_000);
    expect(stdout).toMatch(/unreachable|resol|not known/);
    expect(note).toMatch(/^The program tried to reach the network, and this call is granted none .*'net'/);
  });

  test("fails at once in Node.js and npm too, which would try again", async () => {
    const script = `${NODE} -e 'fetch("https://registry.npmjs.org/x").catch((error) => console.log(error.cause.code))'; env | grep -i retr | sort`;
    const { note, stdout } = await complete(script, node);
    expect(stdout).toMatch(/^(EAI_AGAIN|ENOTFOUND|ENETUNREACH)\n/);
    expect(stdout).toMatch(/npm_config_fetch_retries=0/);
    expect(note).toMatch(/is granted none/);
  });

  test("has the text in its failure as well, and none if it tried nothing", async () => {
    const { error } = await runProgram(sandboxes, {
      program: {
        command: "bash",
        args: ["-c", "echo x >/dev/tcp/192.0.2.7/80"],
        input: "none",
        output: "text",
      },
    });
    expect(error?.message).toMatch(/unreachable[\s\S]*\nThe program tried to reach the network/);
    expect(await complete("exit 3")).not.toHaveProperty("note");
    expect(await complete(PYTHON_SERVER)).not.toHaveProperty("note");
  });

  test("is told so if it goes past the proxy of its network", async () => {
    const net = [{ origin: "https://example.com" }];
    const { note } = await complete("(echo x >/dev/tcp/192.0.2.7/80) 2>&1", { capabilities: { net } });
    expect(note).toMatch(/^The program tried to reach the network past its proxy/);
    expect(await complete("env | grep -c -i proxy", { capabilities: { net } })).not.toHaveProperty("note");
  });
});

describe.skipIf(landlockUnavailable)("A program on Landlock", () => {
  let sandboxes: Sandboxes;
  beforeAll(async () => {
    sandboxes = await openSandboxes({ process: { isolation: "landlock" } });
  });
  afterAll(() => sandboxes.close());
  const complete = completeIn(() => sandboxes);

  test.each([
    ["serve", PYTHON_SERVER],
    ["reach an address", "(echo x >/dev/tcp/192.0.2.7/80) 2>&1"],
    ["reach loopback", "(echo x >/dev/tcp/127.0.0.1/80)"],
    ["look up a name", "python3 -c 'import socket; socket.create_connection((\"example.com\", 443))' 2>&1"],
  ])("cannot %s, and is told that there is no network here", async (_, script) => {
    const { note, exitCode } = await complete(script);
    expect(exitCode).not.toBe(0);
    expect(note).toMatch(/^Programs have no network here, not even loopback: .*bubblewrap/);
  });

  test("is told so by Node.js as well", async () => {
    const { note, stderr } = await complete(NODE_SERVER, node);
    expect(stderr).toMatch(/EAI_AGAIN/);
    expect(note).toMatch(/not even loopback/);
  });

  test("has no such text otherwise, and other sockets are refused as before", async () => {
    const socket = (family: string) =>
      `python3 -c 'import socket; socket.socket(socket.${family})' 2>&1 | tail -n 1`;
    const refused = await complete(`${socket("AF_UNIX")}; ${socket("AF_NETLINK")}`);
    expect(refused.stdout).toMatch(/^PermissionError.*\nPermissionError.*\n$/);
    expect(refused).not.toHaveProperty("note");
  });
});
