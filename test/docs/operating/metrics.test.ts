import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openJournal } from "../../../src/journal/journal.ts";
import { dispatchBody, send } from "../../executor/harness.ts";
import { startServer, TestClient, TOKENS, WITH_EXECUTOR, WritingTool } from "../../server/harness.ts";

const text = readFileSync(new URL("../../../docs/operations.md", import.meta.url), "utf8");
const [, section = ""] = /\n## Metrics\n(.*?)(?=\n## )/s.exec(text) ?? [];

/** The type and the labels of each metric, by the table. */
const DOCUMENTED = new Map(
  Array.from(
    section.matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \| (.*) \|$/gm),
    ([, name = "", type = "", labels = ""]) => [
      name,
      { type, labels: Array.from(labels.matchAll(/`(\w+)`/g), ([, label = ""]) => label) },
    ],
  ),
);

test("docs/operations.md lists the metrics of a server of sessions with a journal, with their types and labels", async () => {
  const directory = await mkdtemp(join(tmpdir(), "sandgate-metrics-"));
  const journal = await openJournal({ directory });
  onTestFinished(async () => {
    await journal.close();
    await rm(directory, { recursive: true, force: true });
  });
  const server = await startServer(
    [new WritingTool("read_note", { sideEffects: "read" }).tool, new WritingTool().tool],
    {
      ...WITH_EXECUTOR,
      journal,
    },
  );
  const [alice, frank] = [new TestClient(server, "alice"), new TestClient(server, "frank")];
  const session = await alice.open();
  const read = { id: "c1", name: "read_note", arguments: {} };
  const { turnId } = await alice.dispatch(session, [read]);
  await alice.executions(session, turnId);
  await alice.dispatch(session, [{ id: "c2", name: "write_note", arguments: {} }]);
  await new TestClient(server, "heidi").send(
    "POST",
    "/v1/dispatch",
    JSON.parse(dispatchBody({ name: "read_note" })),
  );
  await send(server, { method: "GET", path: "/nothing", headers: {} });
  await frank.json("POST", "/v1/pause");
  const { text: metrics } = await send(server, {
    method: "GET",
    path: "/metrics",
    headers: { authorization: `Bearer ${TOKENS.erin}` },
  });

  const types = Array.from(metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name, type]) => [name, type]);
  expect(types.toSorted()).toEqual(
    Array.from(DOCUMENTED, ([name, { type }]) => [name, type])
      .filter(([name]) => process.platform === "linux" || name !== "process_open_fds")
      .toSorted(),
  );
  for (const [, name = "", labels = ""] of metrics.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = DOCUMENTED.get(name) ?? DOCUMENTED.get(name.replace(/_(?:sum|count|bucket)$/, ""));
    const used = Array.from(labels.matchAll(/(\w+)="/g), ([, label = ""]) => label);
    expect(known?.labels, name).toEqual(
      used.length === 0 ? (known?.labels ?? []) : expect.arrayContaining(used),
    );
  }
  expect(metrics).toContain(
    'sandgate_session_calls_total{tool="read_note",sandbox="host",caller="alice",outcome="ok"} 1\n',
  );
  expect(metrics).toContain(
    'sandgate_calls_total{tool="read_note",sandbox="host",caller="heidi",outcome="ok"} 1\n',
  );
  expect(metrics).toContain("sandgate_confirmations_open 1\n");
  expect(metrics).toMatch(/^sandgate_confirmation_oldest_age_seconds [0-9.e-]+$/m);
  expect(metrics).toContain("sandgate_paused 1\n");
  expect(metrics).toContain("sandgate_journal_healthy 1\n");
  // A record may not be on the disk yet.
  expect(metrics).toMatch(/^sandgate_journal_waiting_records \d+$/m);
  expect(metrics).toMatch(/^sandgate_journal_lost_records_total 0$/m);
  expect(metrics).toMatch(/^sandgate_build_info\{version="\d+\.\d+\.\d+",node="\d+\.\d+\.\d+"\} 1$/m);
  expect(Number(/^process_cpu_seconds_total (.*)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
  expect(Number(/^process_resident_memory_bytes (.*)$/m.exec(metrics)?.[1])).toBeGreaterThan(1_000_000);
  if (process.platform === "linux")
    expect(Number(/^process_open_fds (.*)$/m.exec(metrics)?.[1])).toBeGreaterThan(3);
});
