import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { originOf } from "../../src/http/open-server.ts";
import {
  CountingTool,
  dispatch,
  dispatchBody,
  executionOf,
  send,
  startExecutor,
} from "../executor/harness.ts";

/** Opens a connection from a loopback address. */
function open(address: string, from: string): Socket {
  const [host = "", port] = address.split(":");
  const socket = connect({ host, port: Number(port), localAddress: from });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

describe("the connections of an executor", () => {
  test("one address cannot have more connections than its limit, and others are not affected", async () => {
    const executor = await startExecutor([new CountingTool().tool], {
      limits: { connectionsPerAddress: 3 },
    });
    const held = Array.from({ length: 3 }, () => open(executor.address, "127.0.0.2"));
    await Promise.all(held.map((socket) => once(socket, "connect")));
    const refused = open(executor.address, "127.0.0.2");
    await once(refused, "close");
    expect(held.every((socket) => !socket.destroyed)).toBe(true);
    expect(executionOf(await dispatch(executor, dispatchBody({ name: "count" }))).success).toBe(true);
    const { text } = await send(executor, { method: "GET", path: "/metrics" });
    expect(text).toContain("\nsandgate_connections_refused_total 1\n");
    // A connection that closes makes room.
    held[0]?.end();
    for (;;) {
      const next = open(executor.address, "127.0.0.2");
      next.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
      const [data] = (await Promise.race([once(next, "data"), once(next, "close")])) as [unknown];
      if (String(data).startsWith("HTTP/1.1 200")) break;
    }
  });

  test("all connections together are limited, too", async () => {
    const executor = await startExecutor([], { limits: { connections: 2 } });
    const held = ["127.0.0.2", "127.0.0.3"].map((from) => open(executor.address, from));
    await Promise.all(held.map((socket) => once(socket, "connect")));
    await once(open(executor.address, "127.0.0.4"), "close");
    expect(held.every((socket) => !socket.destroyed)).toBe(true);
  });

  const somaxconn = Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"));
  if (somaxconn < 3_000) console.log(`skipped: net.core.somaxconn is ${somaxconn}, less than 3000`);
  test.skipIf(somaxconn < 3_000)("3,000 connections wait while the executor is busy", async () => {
    const main = new URL("../fixtures/executor/main.ts", import.meta.url);
    const child = fork(main, [], { execArgv: [] });
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
    });
    const [address] = (await once(child, "message")) as [string];
    child.kill("SIGSTOP");
    // A connection that does not fit waits until the process goes on.
    await Promise.all(Array.from({ length: 3_000 }, () => once(open(address, "127.0.0.1"), "connect")));
    child.kill("SIGCONT");
    const { status } = await send({ address }, { method: "GET", path: "/healthz" });
    expect(status).toBe(200);
  });

  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:0:1:2:3:4:5", "2001:db8:0:1"],
    ["2001:db8::5", "2001:db8:0:0"],
    ["2001:db8:0:1::", "2001:db8:0:1"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
  ])("the address %s counts as %s", (address, origin) => {
    expect(originOf(address)).toBe(origin);
  });
});
