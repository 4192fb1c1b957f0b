import { expect, test } from "vitest";
import {
  CallMetrics,
  largest,
  MAX_CALLERS,
  MAX_COMBINATIONS,
  MAX_TOOLS,
  writeMetrics,
} from "../../src/http/metrics.ts";
import { CountingTool, dispatch, dispatchBody, send, startExecutor } from "./harness.ts";

const CALL = { tool: "add", sandbox: "quickjs", caller: "agent", outcome: "ok", durationMs: 500 };

test("counts calls by tool, sandbox, caller and outcome", () => {
  const calls = new CallMetrics();
  calls.ended(CALL, true);
  calls.ended(CALL, true);
  calls.ended({ ...CALL, sandbox: null, caller: undefined, outcome: "permission_denied" }, true);
  const text = writeMetrics(calls.metrics);
  expect(text).toContain(
    'sandgate_calls_total{tool="add",sandbox="quickjs",caller="agent",outcome="ok"} 2\n',
  );
  expect(text).toContain(
    'sandgate_calls_total{tool="add",sandbox="none",caller="",outcome="permission_denied"} 1\n',
  );
  expect(text).toContain(
    'sandgate_call_seconds_sum{tool="add"} 1.5\nsandgate_call_seconds_count{tool="add"} 3\n',
  );
});

test("has a bounded number of tools, callers and combinations, and loses no call", () => {
  const calls = new CallMetrics();
  const made = 30_000;
  for (let index = 0; index < made; index++) {
    const [tool, caller] = [`tool-${index % 400}`, `caller-${(index * 7) % 300}`];
    calls.ended({ ...CALL, tool, caller, outcome: index % 3 === 0 ? "ok" : "timeout" }, true);
  }
  const [total] = calls.metrics;
  const samples = total?.samples ?? [];
  const values = (label: string): Set<string | undefined> =>
    new Set(samples.map(({ labels }) => labels?.[label]));
  expect(samples.length).toBeLessThanOrEqual(MAX_COMBINATIONS + 2);
  expect(values("tool").size).toBe(MAX_TOOLS + 1);
  expect(values("caller").size).toBe(MAX_CALLERS + 1);
  expect(values("tool")).toContain("other");
  expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(made);
});

test("does not have the names of tools that there are not, nor very long ones", () => {
  const calls = new CallMetrics();
  calls.ended({ ...CALL, tool: "invented by a model", outcome: "unknown_tool" }, false);
  calls.ended({ ...CALL, caller: "x".repeat(200) }, true);
  const text = writeMetrics(calls.metrics);
  expect(text).not.toContain("invented");
  expect(text).not.toContain("xxx");
  expect(text).toContain('tool="other"');
  expect(text).toContain('caller="other"');
});

test("escapes what would end a label or a line", () => {
  const calls = new CallMetrics();
  calls.ended({ ...CALL, caller: 'a"} 1\nb\\' }, true);
  const lines = writeMetrics(calls.metrics).split("\n");
  expect(lines).toContain(
    'sandgate_calls_total{tool="add",sandbox="quickjs",caller="a\\"} 1\\nb\\\\",outcome="ok"} 1',
  );
});

test("the largest counts keep their names, and the rest is summed", () => {
  const counts = new Map([
    ["a", 1],
    ["b", 5],
    ["c", 3],
    ["d", 2],
  ]);
  expect([...largest(counts, 2)]).toEqual([
    ["b", 5],
    ["c", 3],
    ["other", 3],
  ]);
});

test("a caller of an executor reads its own id among the metrics, and no other one", async () => {
  const tokens = ["ann", "bob", "cid"].map((id) => ({ id, token: `the-token-of-${id}-00` }));
  const executor = await startExecutor([new CountingTool().tool], { tokens });
  const headersOf = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
  for (const { id, token } of tokens) {
    const body = dispatchBody({ id: `call of ${id}`, name: "unknown" });
    expect((await dispatch(executor, body, { headers: headersOf(token) })).status).toBe(200);
  }
  for (const { id, token } of tokens) {
    const { text } = await send(executor, { method: "GET", path: "/metrics", headers: headersOf(token) });
    const callers = [...text.matchAll(/^sandgate_calls_total.*caller="([^"]*)".* (\d+)$/gm)].map(
      ([, ...own]) => own,
    );
    expect(callers.toSorted()).toEqual(
      [
        [id, "1"],
        ["other", "2"],
      ].toSorted(),
    );
    for (const other of tokens) if (other.id !== id) expect(text).not.toContain(`"${other.id}"`);
  }
});
