import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Receiver } from "../../../src/base/receiver.ts";
import { AttachedApprovers } from "../../../src/server/notifying/attached-approvers.ts";
import { Notifier } from "../../../src/server/notifying/notifier.ts";
import type { Inquiry } from "../../../src/sessions/confirmations/inquiry.ts";
import { startServer, TestClient, WritingTool } from "../harness.ts";

const CALL = { id: "c1", name: "write_note", arguments: { text: "my diary" } };

/** A real program that keeps its standard input in a file of a new folder. */
function keepingProgram(): { readonly receiver: Receiver; kept(): readonly string[] } {
  const folder = mkdtempSync(join(tmpdir(), "sandgate-notify-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const code = `
    const { readFileSync, renameSync, writeFileSync } = require("node:fs");
    const [folder, ...others] = process.argv.slice(1);
    writeFileSync(folder + "/" + process.pid, readFileSync(0, "utf8") + others.join());
    renameSync(folder + "/" + process.pid, folder + "/kept-" + process.pid);
  `;
  return {
    receiver: { command: [process.execPath, "-e", code, folder, "$HOME;`id`"] },
    kept: () =>
      readdirSync(folder)
        .filter((name) => name.startsWith("kept-"))
        .map((name) => readFileSync(join(folder, name), "utf8")),
  };
}

/** A server that keeps what it receives, and responds when it is told to. */
async function holdingServer(): Promise<{
  readonly receiver: Receiver;
  readonly bodies: string[];
  readonly held: ServerResponse[];
}> {
  const [bodies, held]: [string[], ServerResponse[]] = [[], []];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    held.push(response);
    response.on("close", () => held.splice(held.indexOf(response), 1));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { receiver: { url: `http://127.0.0.1:${port}/` }, bodies, held };
}

function inquiry(id: string): Inquiry {
  return { id, sessionId: "s1", shown: { toolName: "write_note" } } as Inquiry;
}

/** Waits for a warning of the process. */
function nextWarning(): Promise<Error & { readonly code?: string }> {
  return new Promise((resolve) => {
    const listener = (warning: Error & { readonly code?: string }): void => {
      if (warning.code !== "SANDGATE_NOTIFY_FAILED") return;
      process.off("warning", listener);
      resolve(warning);
    };
    process.on("warning", listener);
  });
}

describe("a notification", () => {
  test("runs a program without a shell, and tells it which call waits, but not its arguments", async () => {
    const { receiver, kept } = keepingProgram();
    const server = await startServer([new WritingTool().tool], { sessions: { notify: receiver } });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    await alice.dispatch(session, [CALL]);
    const [asked] = await new TestClient(server, "carol").inquiries();
    await vi.waitUntil(() => kept().length > 0, { timeout: 4_000 });
    const told = { requestId: asked?.requestId, sessionId: session, toolName: "write_note" };
    expect(kept()).toEqual([`${JSON.stringify(told)}$HOME;\`id\``]);
  });

  test("is not sent while an approver follows the session; an agent that follows it does not count", async () => {
    const { receiver, bodies, held } = await holdingServer();
    const server = await startServer([new WritingTool().tool], { sessions: { notify: receiver } });
    const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
    const [seen, unseen] = [await alice.open(), await alice.open()];
    const [person, agent] = [
      carol.events(`/v1/sessions/${seen}/events`),
      alice.events(`/v1/sessions/${unseen}/events`),
    ];
    await Promise.all([person.opened, agent.opened]);
    await alice.dispatch(seen, [CALL]);
    await person.next("tool.confirmation_requested");
    await alice.dispatch(unseen, [CALL]);
    await vi.waitUntil(() => held.length > 0, { timeout: 4_000 });
    expect(bodies.map((body) => JSON.parse(body).sessionId)).toEqual([unseen]);
  });

  test("that fails is a warning, and the call runs once it is allowed", async () => {
    const warned = nextWarning();
    const notify = { command: [process.execPath, "-e", "process.exit(3)", "secret-argument"] };
    const server = await startServer([new WritingTool().tool], { sessions: { notify } });
    const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [CALL]);
    const { message } = await warned;
    expect(message).toContain("it ended with exit code 3");
    expect(message).not.toContain("secret-argument");
    for (const asked of await carol.inquiries()) await carol.answer(asked, { decision: "allow" });
    expect(await alice.executions(session, turnId)).toMatchObject([{ success: true }]);
  });

  test("of a program that is not there is a warning", async () => {
    const warned = nextWarning();
    new Notifier({ command: ["/no/such/program"] }, () => false).take({
      ...{ type: "requested", inquiry: inquiry("i1") },
    });
    expect((await warned).message).toContain("ENOENT");
  });

  test("has 5 seconds", async () => {
    const warned = nextWarning();
    const command = [process.execPath, "-e", "setInterval(() => {}, 1000)"];
    new Notifier({ command }, () => false).take({ type: "requested", inquiry: inquiry("i1") });
    expect((await warned).message).toContain("it ended with SIGKILL");
  });
});

describe("notifications", () => {
  test("are sent four at a time, and not of inquiries that have ended meanwhile", async () => {
    const { receiver, bodies, held } = await holdingServer();
    const notifier = new Notifier(receiver, () => false);
    for (const id of ["1", "2", "3", "4", "5", "6"]) {
      notifier.take({ type: "requested", inquiry: inquiry(id) });
    }
    await vi.waitUntil(() => held.length === 4, { timeout: 4_000 });
    notifier.take({ type: "resolved", inquiry: inquiry("5"), resolution: { decision: "deny", at: 0 } });
    held[0]?.end();
    await vi.waitUntil(() => bodies.length === 5, { timeout: 4_000 });
    const ids = bodies.map((body) => JSON.parse(body).requestId);
    expect(ids.slice(0, 4).sort()).toEqual(["1", "2", "3", "4"]);
    expect(ids[4]).toBe("6");
    notifier.close();
  });

  test("end when the server closes", async () => {
    const { receiver, bodies, held } = await holdingServer();
    const notifier = new Notifier(receiver, () => false);
    notifier.take({ type: "requested", inquiry: inquiry("1") });
    await vi.waitUntil(() => held.length === 1, { timeout: 4_000 });
    notifier.close();
    await vi.waitUntil(() => held.length === 0, { timeout: 4_000 });
    notifier.take({ type: "requested", inquiry: inquiry("2") });
    expect(bodies).toHaveLength(1);
  });

  test("go on when the last stream of an approver has ended", () => {
    const approvers = new AttachedApprovers();
    const [first, second] = [new AbortController(), new AbortController()];
    approvers.attach("s1", first.signal);
    approvers.attach("s1", second.signal);
    first.abort();
    expect(approvers.has("s1")).toBe(true);
    second.abort();
    expect(approvers.has("s1")).toBe(false);
    approvers.attach("s1", second.signal);
    expect(approvers.has("s1")).toBe(false);
  });
});

test.each([
  [{ command: [] }, "notify's command must be a list of a program and its arguments"],
  [{ url: "file:///etc/passwd" }, "notify's url must be an http or https URL"],
])("a server refuses to notify %j", async (notify, message) => {
  await expect(startServer([], { sessions: { notify } })).rejects.toThrow(message);
});
