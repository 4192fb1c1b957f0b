import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Receiver } from "../../../src/base/receiver.ts";
// Inside: opens confirmations while a notification is under way, without a call that waits for each.
import { Notifier } from "../../../src/server/notifying/notifier.ts";
import type { Notify } from "../../../src/server/notifying/notify.ts";
import { AttachedApprovers } from "../../../src/server/service.ts";
import type { Confirmation } from "../../../src/sessions/confirmations/confirmation.ts";
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

function confirmation(id: string): Confirmation {
  return { id, sessionId: "s1", shown: { toolName: "write_note", sideEffects: "write" } } as Confirmation;
}

/** Tells of everything, without links. */
function notifierOf(notify: Notify): Notifier {
  const none = (): undefined => undefined;
  const notifier = new Notifier({
    notify,
    nameOf: none,
    isSeen: () => false,
    mayAnswer: () => true,
    answerLink: none,
  });
  onTestFinished(() => notifier.close());
  return notifier;
}

/** The ids of the confirmations in the bodies. */
function idsIn(bodies: readonly string[]): readonly (readonly string[])[] {
  return bodies.map((body) =>
    (JSON.parse(body) as { confirmations: { requestId: string }[] }).confirmations.map(
      ({ requestId }) => requestId,
    ),
  );
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
    const session = await alice.open({ name: "release 2.4" });
    await alice.dispatch(session, [CALL]);
    const [asked] = await new TestClient(server, "carol").confirmations();
    await vi.waitUntil(() => kept().length > 0, { timeout: 10_000 });
    const told = {
      requestId: asked?.requestId,
      sessionId: session,
      sessionName: "release 2.4",
      toolName: "write_note",
      sideEffects: "write",
    };
    expect(kept()).toEqual([`${JSON.stringify({ confirmations: [told] })}$HOME;\`id\``]);
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
    await vi.waitUntil(() => held.length > 0, { timeout: 10_000 });
    expect(bodies.map((body) => JSON.parse(body).confirmations[0].sessionId)).toEqual([unseen]);
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
    for (const asked of await carol.confirmations()) await carol.answer(asked, { decision: "allow" });
    expect(await alice.executions(session, turnId)).toMatchObject([{ success: true }]);
  });

  test("of a program that is not there is a warning", async () => {
    const warned = nextWarning();
    notifierOf({ command: ["/no/such/program"] }).take({
      type: "requested",
      confirmation: confirmation("i1"),
    });
    expect((await warned).message).toContain("ENOENT");
  });

  test("has 5 seconds", async () => {
    const warned = nextWarning();
    const command = [process.execPath, "-e", "setInterval(() => {}, 1000)"];
    notifierOf({ command }).take({ type: "requested", confirmation: confirmation("i1") });
    expect((await warned).message).toContain("it ended with SIGKILL");
  });
});

describe("notifications", () => {
  test("of a second, or of what opens while one is sent, are one, without confirmations that have ended", async () => {
    const { receiver, bodies, held } = await holdingServer();
    const notifier = notifierOf(receiver);
    for (const id of ["1", "2", "3"]) notifier.take({ type: "requested", confirmation: confirmation(id) });
    notifier.take({
      type: "resolved",
      confirmation: confirmation("2"),
      resolution: { decision: "deny", at: 0 },
    });
    await vi.waitUntil(() => held.length === 1, { timeout: 10_000 });
    for (const id of ["4", "5"]) notifier.take({ type: "requested", confirmation: confirmation(id) });
    held[0]?.end();
    await vi.waitUntil(() => bodies.length === 2, { timeout: 10_000 });
    expect(idsIn(bodies)).toEqual([
      ["1", "3"],
      ["4", "5"],
    ]);
  });

  test("end when the server closes", async () => {
    const { receiver, bodies, held } = await holdingServer();
    const notifier = notifierOf(receiver);
    notifier.take({ type: "requested", confirmation: confirmation("1") });
    await vi.waitUntil(() => held.length === 1, { timeout: 10_000 });
    notifier.close();
    await vi.waitUntil(() => held.length === 0, { timeout: 10_000 });
    notifier.take({ type: "requested", confirmation: confirmation("2") });
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

test.each<[Notify, string]>([
  [{ command: [] }, "notify's command must be a list of a program and its arguments"],
  [{ url: "file:///etc/passwd" }, "notify's url must be an http or https URL"],
  [{}, "exactly one of command, url, slack, teams, ntfy, email, webPush"],
  [{ url: "https://a.example", slack: { url: "https://b.example" } }, "exactly one of"],
  [{ slack: { url: "https://user:pass@hooks.example/secret" } }, "without credentials"],
  [{ ntfy: { topic: "a/b" } }, "notify.ntfy.topic must have 1 to 64 letters"],
  [{ ntfy: { topic: "a", token: "x\r\ny" } }, "printable ASCII"],
  [{ url: "https://a.example", consoleUrl: "https://a.example/console" }, "must be an origin"],
  [{ url: "https://a.example", links: "answer", approver: "carol" }, "needs notify.consoleUrl"],
  [{ url: "https://a.example", links: "answer", consoleUrl: "https://a.example" }, "needs notify.approver"],
  [
    { url: "https://a.example", links: "answer", consoleUrl: "http://a.example", approver: "carol" },
    "needs an https notify.consoleUrl",
  ],
])("a server refuses to notify %j", async (notify, message) => {
  await expect(startServer([], { sessions: { notify } })).rejects.toThrow(message);
});
