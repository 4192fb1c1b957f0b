import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { dispatch, dispatchBody, executionOf, send } from "../../executor/harness.ts";
import { createFolder, entriesOf, PROJECT } from "../sandgate.ts";
import { serve, start, waitForStuckWorker, withServer, withStuckWorker } from "../serve.ts";

const TOKEN = "correct-horse-battery-staple";
const HEADERS = { authorization: `Bearer ${TOKEN}` };

describe("sandgate serve logs", () => {
  test("its start, every call, every refusal and its stop, in one line each", async () => {
    const config = withServer("{ token: { file: token.txt }, tokenName: ci, limits: { body: 1KiB } }");
    const server = await serve({ ...config, "token.txt": TOKEN });
    const add = dispatchBody({ id: "c1", name: "add", arguments: { a: 1, b: 2 } }, { session: "s1" });
    await dispatch(server, add, { headers: HEADERS });
    await dispatch(server, dispatchBody({ id: "c2", name: "forbidden" }), { headers: HEADERS });
    await dispatch(server, dispatchBody({ id: "c3", name: "broken" }), { headers: HEADERS });
    await dispatch(server, add);
    await dispatch(server, " ".repeat(2_000), { headers: HEADERS });
    await send(server, { method: "GET", path: "/\u001b[2J?token=abc", headers: HEADERS }).catch(() => {});
    await send(server, { method: "GET", path: "/nowhere?token=abc", headers: HEADERS });
    expect(await server.end()).toBe(0);
    const log = await server.log();
    expect(log).not.toContain(TOKEN);
    const entries = entriesOf(log);
    expect(entries).toMatchObject([
      { level: "info", event: "server.started", address: server.address, tools: 6 },
      { level: "info", event: "tool.decided", decision: "allow", call: "c1", principal: "ci" },
      { level: "info", event: "tool.completed", tool: "add", call: "c1", session: "s1", principal: "ci" },
      { level: "warn", event: "tool.decided", decision: "deny", call: "c2", rules: ["denied"] },
      { level: "warn", event: "tool.failed", call: "c2", code: "permission_denied", rules: ["denied"] },
      { level: "info", event: "tool.decided", decision: "allow", call: "c3" },
      { level: "error", event: "tool.failed", call: "c3", detail: expect.stringMatching(/\n {4}at /) },
      { level: "warn", event: "request.refused", status: 401, code: "unauthenticated", address: "127.0.0.1" },
      { level: "warn", event: "request.refused", status: 413, code: "too_large", principal: "ci" },
      { level: "warn", event: "request.refused", status: 404, path: "/nowhere" },
      { level: "info", event: "server.stopping", reason: "interruption" },
      { level: "info", event: "server.stopped" },
    ]);
    for (const { time } of entries) expect(new Date(String(time)).toISOString()).toBe(time);
  });

  test("the warnings about its config", async () => {
    const unused = "  - { name: unused, tools: [gone], effect: deny }\n";
    const server = await serve({ ...withServer("{}"), "policy.yaml": `${PROJECT["policy.yaml"]}${unused}` });
    await server.end();
    const [warning] = entriesOf(await server.log());
    expect(warning).toMatchObject({
      level: "warn",
      event: "config.warning",
      line: 6,
      column: 29,
      file: expect.stringMatching(/policy\.yaml$/),
      message: "'gone' matches no registered tool",
    });
  });

  test("only what its level lets through", async () => {
    const config = withServer("{}");
    const server = await serve({
      ...config,
      "sandgate.yaml": `${config["sandgate.yaml"]}log: { level: error }\n`,
    });
    await dispatch(server, dispatchBody({ name: "forbidden" }));
    await server.end();
    expect(await server.log()).toBe("");
  });
});

describe("The process of an executor", () => {
  test("logs the warning that a thread could not be ended", async () => {
    const folder = await createFolder(withStuckWorker("{ limits: { drainTime: 100ms } }"));
    const { address, child } = await start(folder);
    const log = text(child.stderr as Readable);
    const answer = dispatch({ address }, dispatchBody({ name: "hash", arguments: { text: "" } }));
    await waitForStuckWorker(folder);
    child.kill("SIGTERM");
    expect(executionOf(await answer).receipt).toMatchObject({ mayStillRun: true });
    const entries = entriesOf(await log);
    expect(entries).toContainEqual(
      expect.objectContaining({
        level: "warn",
        event: "process.warning",
        message: expect.stringContaining("could not be terminated"),
      }),
    );
    expect(entries).toContainEqual(expect.objectContaining({ event: "server.stopping", reason: "SIGTERM" }));
    expect(entries).toContainEqual(
      expect.objectContaining({ event: "tool.failed", code: "cancelled", mayStillRun: true }),
    );
  });

  test("answers on while nobody reads its log, and says how many lines were lost", async () => {
    const folder = await createFolder(withServer("{}"));
    const { address, child } = await start(folder);
    const count = 600;
    for (let index = 0; index < count; index++) {
      const { status } = await send({ address }, { method: "GET", path: `/${"x".repeat(4_000)}` });
      expect(status).toBe(404);
    }
    let log = "";
    for await (const chunk of child.stderr as Readable) {
      log += chunk;
      // A second signal would end it without a last line.
      if (log.includes("log.lost") && !child.killed) child.kill("SIGTERM");
    }
    const entries = entriesOf(log);
    expect(entries.at(-1)).toMatchObject({ event: "server.stopped" });
    const lost = entries.filter(({ event }) => event === "log.lost").map(({ lines }) => Number(lines));
    const refused = entries.filter(({ path }) => String(path).startsWith("/x"));
    expect(lost[0]).toBeGreaterThan(0);
    expect(refused.length + lost.reduce((sum, lines) => sum + lines, 0)).toBe(count);
  });
});
