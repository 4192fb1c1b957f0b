import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { defineTool } from "../../src/engine/tool.ts";
import { HeldTool, until } from "../executor/harness.ts";
import { startServer, TestClient, WITH_EXECUTOR, WritingTool } from "./harness.ts";

const READ = { id: "c1", name: "read_note", arguments: { text: "hi" } };

describe("the events of a session", () => {
  test("go on after the last event that a client has seen", async () => {
    const server = await startServer([new WritingTool("read_note", { sideEffects: "read" }).tool]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const path = `/v1/sessions/${session}/events`;
    const first = alice.events(path);
    await first.opened;
    await alice.dispatch(session, [READ]);
    await first.next("turn.ended");
    first.close();
    const seen = first.ids[1] ?? "";
    const second = alice.events(path, { headers: { "last-event-id": seen } });
    await second.next("turn.ended");
    expect(second.ids).toEqual(first.ids.slice(2));
    expect(second.received).toEqual(first.received.slice(2));
  });

  test("tell the end of a message once, even if it came again while it ran", async () => {
    const held = new HeldTool();
    const server = await startServer([held.tool], {
      sessions: { confirmations: { tools: { hold: "auto" } } },
    });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const events = alice.events(`/v1/sessions/${session}/events`);
    await events.opened;
    const body = { calls: [{ id: "h", name: "hold", arguments: {} }], turnId: "t", messageId: "m" };
    await alice.json("POST", `/v1/sessions/${session}/turns`, body);
    await until(() => held.started.length === 1);
    await alice.json("POST", `/v1/sessions/${session}/turns`, body);
    const again = alice.events(`/v1/sessions/${session}/turns`, { body });
    await again.opened;
    held.release();
    await again.ended;
    expect(again.received.at(-1)).toMatchObject({ type: "turn.ended", executions: [{ success: true }] });
    await alice.dispatch(session, [], { turnId: "last" });
    const ends = () => events.received.filter(({ type }) => type === "turn.ended");
    await until(() => ends().some(({ turnId }) => turnId === "last"));
    expect(ends()).toMatchObject([{ messageId: "m" }, { turnId: "last" }]);
  });

  test("of another process are told as lost", async () => {
    const server = await startServer([]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const events = alice.events(`/v1/sessions/${session}/events`, {
      headers: { "last-event-id": "abcdef012345-7" },
    });
    expect(await events.next("events.lost")).toEqual({ type: "events.lost" });
  });

  test("do not say what is for operators", async () => {
    const secret = "/srv/agent/secret-path";
    const failing = defineTool({
      name: "fail",
      description: "Fails.",
      inputSchema: { type: "object" },
      sideEffects: "read",
      host: () => {
        throw new Error(`cannot open ${secret}`);
      },
    });
    const server = await startServer([failing]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const events = alice.events(`/v1/sessions/${session}/turns`, {
      body: { calls: [{ ...READ, name: "fail" }] },
    });
    await events.ended;
    expect(events.received.map(({ type }) => type)).toContain("tool.failed");
    expect(JSON.stringify(events.received)).not.toContain(secret);
  });

  test("of a session never contain those of a call of the executor with the session's id", async () => {
    const tool = new WritingTool("read_note", { sideEffects: "read" });
    const server = await startServer([tool.tool], WITH_EXECUTOR);
    const [alice, heidi] = [new TestClient(server, "alice"), new TestClient(server, "heidi")];
    const session = await alice.open();
    const events = alice.events(`/v1/sessions/${session}/events`);
    await events.opened;
    const call = { id: "forged", name: "read_note", arguments: {} };
    const forged = { call, session, grant: { limits: {}, capabilities: {} } };
    expect((await heidi.send("POST", "/v1/dispatch", forged)).status).toBe(200);
    await alice.dispatch(session, [READ]);
    await events.next("turn.ended");
    expect(events.received.filter(({ callId }) => callId === "forged")).toEqual([]);
  });

  test("cost a bounded memory if a client does not read them, and it is told what it lost", async () => {
    const chunk = "x".repeat(100_000);
    const loud = defineTool({
      name: "loud",
      description: "Prints much.",
      inputSchema: { type: "object" },
      sideEffects: "read",
      host: async (_input, { onOutput }) => {
        for (let index = 0; index < 200; index++) {
          onOutput(chunk);
          await new Promise((resolve) => setImmediate(resolve));
        }
        return "done";
      },
    });
    const server = await startServer([loud]);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const { hostname, port } = new URL(`http://${server.address}`);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    socket.pause();
    socket.write(
      `GET /v1/sessions/${session}/events HTTP/1.1\r\nhost: ${server.address}\r\nauthorization: ${alice.authorization["authorization"]}\r\n\r\n`,
    );
    // The stream begins at the event that comes next, so that it must be open before there is one.
    await new Promise<void>((resolve) => socket.once("readable", resolve));
    const { turnId } = await alice.dispatch(session, [{ ...READ, name: "loud" }]);
    await alice.executions(session, turnId);
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (more: string) => {
      text += more;
    });
    await expect.poll(() => text, { timeout: 10_000 }).toContain("event: turn.ended");
    const [, lost] =
      /event: events\.lost\ndata: \{"type":"events\.lost","count":(\d+)\}/.exec(
        text.replaceAll(/\r\n[0-9a-f]+\r\n/g, ""),
      ) ?? [];
    const seen = text.match(/event: tool\.output/g)?.length ?? 0;
    expect(Number(lost)).toBeGreaterThan(100);
    expect(Number(lost) + seen).toBeGreaterThanOrEqual(200);
    expect(seen).toBeLessThan(100);
  });

  test("reach 100 clients of one session", async () => {
    const server = await startServer([new WritingTool().tool]);
    const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
    const session = await alice.open();
    const readers = Array.from({ length: 100 }, () => carol.events(`/v1/sessions/${session}/events`));
    await Promise.all(readers.map(({ opened }) => opened));
    await alice.dispatch(session, [{ ...READ, name: "write_note" }]);
    const told = await Promise.all(readers.map((reader) => reader.next("tool.confirmation_requested")));
    expect(new Set(told.map(({ requestId }) => requestId)).size).toBe(1);
  });
});
