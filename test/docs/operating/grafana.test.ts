import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { ERROR_CODES } from "../../../src/engine/errors.ts";
import { openJournal } from "../../../src/journal/journal.ts";
import { dispatch, dispatchBody } from "../../executor/harness.ts";
import { startServer, TestClient, WITH_EXECUTOR, WritingTool } from "../../server/harness.ts";

const FOLDER = join(import.meta.dirname, "../../../deploy/grafana");

/** A metric of a server, by the name with which its samples are queried. */
interface Queried {
  readonly type: string;
  readonly labels: ReadonlySet<string>;
}

/** What queries can name, of a server on which something of everything has happened. */
async function scrape(): Promise<ReadonlyMap<string, Queried>> {
  const directory = mkdtempSync(join(tmpdir(), "grafana-"));
  const journal = await openJournal({ directory });
  onTestFinished(async () => {
    await journal.close();
    rmSync(directory, { recursive: true });
  });
  const reading = new WritingTool("read_note", { sideEffects: "read" });
  const server = await startServer([new WritingTool().tool, reading.tool], { journal, ...WITH_EXECUTOR });
  const heidi = new TestClient(server, "heidi");
  await dispatch(server, dispatchBody({ name: "read_note" }), { headers: heidi.authorization });
  const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
  const session = await alice.open();
  const calls = ["read_note", "write_note", "missing"].map((name) => ({ id: name, name, arguments: {} }));
  const { turnId } = await alice.dispatch(session, calls);
  const [confirmation] = await carol.confirmations(1);
  if (confirmation === undefined) throw new Error("nothing was asked");
  await carol.answer(confirmation, { decision: "deny" });
  await alice.executions(session, turnId);
  const { text } = await new TestClient(server, "erin").send("GET", "/metrics");
  const types = new Map(
    [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = "", type = ""]) => [name, type] as const),
  );
  const found = new Map<string, { type: string; labels: Set<string> }>();
  for (const [name, type] of types) {
    if (type !== "histogram" && type !== "summary") found.set(name, { type, labels: new Set() });
  }
  for (const [, name = "", labels = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const base = name.replace(/_(?:bucket|sum|count)$/, "");
    const type = types.get(name) ?? (types.has(base) ? "counter" : "unknown");
    const known = found.get(name) ?? { type, labels: new Set<string>() };
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.labels.add(label);
    found.set(name, known);
  }
  return found;
}

let scraped: Promise<ReadonlyMap<string, Queried>> | undefined;

/** Scrapes once for all tests. */
function scraping(): Promise<ReadonlyMap<string, Queried>> {
  scraped ??= scrape();
  return scraped;
}

/** Prometheus adds it to all that it scrapes. */
const ADDED = "instance";

const WORDS = new Set(
  [
    "sum",
    "by",
    "max",
    "min",
    "count",
    "topk",
    "rate",
    "increase",
    "histogram_quantile",
    "label_values",
  ].concat(["le", "instance", "and", "or", "unless", "on", "ignoring"]),
);

const VALUES: Readonly<Record<string, readonly string[]>> = {
  outcome: ["ok", ...ERROR_CODES],
  decision: ["allow", "ask", "deny", "answer", "timeout", "cancelled"],
};

/** Returns what is wrong with an expression of PromQL, as far as it is about the metrics of a server. */
function problemsOf(expression: string, metrics: ReadonlyMap<string, Queried>): readonly string[] {
  const problems: string[] = [];
  const bare = expression.replace(/"[^"]*"/g, '""');
  if (bare.split("(").length !== bare.split(")").length) problems.push("parentheses");
  const selectors = [...expression.matchAll(/\b([a-z]\w+)(?:\{([^}]*)\})?(\[[^\]]+\])?/g)].filter(
    ([, name = ""]) => /^(?:sandgate|nodejs|process)_/.test(name),
  );
  if (selectors.length === 0) problems.push("no metric");
  const labels = new Set([ADDED]);
  for (const [whole, name = "", matchers = "", range] of selectors) {
    const metric = metrics.get(name);
    if (metric === undefined) {
      problems.push(`there is no metric ${name}`);
      continue;
    }
    for (const label of metric.labels) labels.add(label);
    for (const [, label = "", value = ""] of matchers.matchAll(/(\w+)\s*=~?\s*"([^"]*)"/g)) {
      if (label !== ADDED && !metric.labels.has(label)) problems.push(`${name} has no label ${label}`);
      if (value.startsWith("$")) continue;
      const wrong = value.split("|").filter((one) => VALUES[label]?.includes(one) === false);
      for (const one of wrong) problems.push(`${label} is never ${one}`);
    }
    const isRate = new RegExp(`(?:rate|increase)\\(${RegExp.escape(whole)}`).test(expression);
    if (isRate !== (metric.type === "counter")) problems.push(`${name} is a ${metric.type}`);
    if (isRate !== (range !== undefined)) problems.push(`${name} needs a range, or must not have one`);
  }
  for (const [, list = ""] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of list.split(",").map((text) => text.trim())) {
      if (!labels.has(label)) problems.push(`by ${label}`);
    }
  }
  if (expression.includes("histogram_quantile") && !/by \([^)]*\ble\b/.test(expression))
    problems.push("no le");
  const others = [...bare.replace(/\[[^\]]*\]|\{[^}]*\}/g, "").matchAll(/\b[a-z]\w*/g)].map(([word]) => word);
  for (const word of others) {
    if (!WORDS.has(word) && !metrics.has(word) && !labels.has(word)) problems.push(`unknown ${word}`);
  }
  return problems;
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: unknown }[] };
}

interface Alerts {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: object;
    }[];
  }[];
}

describe("deploy/grafana", () => {
  const dashboard = JSON.parse(readFileSync(join(FOLDER, "dashboard.json"), "utf8")) as Dashboard;
  const alerts = parse(readFileSync(join(FOLDER, "alerts.yaml"), "utf8")) as Alerts;

  test("the dashboard shows only metrics and labels that a server has", async () => {
    const metrics = await scraping();
    const targets = dashboard.panels.flatMap(({ title, targets: all }) =>
      all.map((one) => ({ title, ...one })),
    );
    expect(targets.length).toBeGreaterThan(15);
    const wrong = targets.flatMap(({ title, expr, legendFormat }) => [
      ...problemsOf(expr, metrics).map((problem) => `${title}: ${problem}`),
      ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)]
        .filter(([, label = ""]) => !new RegExp(`by \\([^)]*\\b${label}\\b`).test(expr))
        .map(([label]) => `${title}: ${label}`),
    ]);
    expect(wrong).toEqual([]);
  });

  test("no panel of the dashboard covers another one", () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  test("the alerts are about metrics and labels that a server has, and each says what is wrong", async () => {
    const metrics = await scraping();
    const rules = alerts.groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(5);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    const wrong = rules.flatMap(({ alert, expr, annotations }) => [
      ...problemsOf(expr, metrics).map((problem) => `${alert}: ${problem}`),
      ...("summary" in annotations ? [] : [`${alert}: no summary`]),
    ]);
    expect(wrong).toEqual([]);
  });

  test("an expression with a metric, a label or a value that there is not is found", async () => {
    const metrics = await scraping();
    for (const expression of [
      "sandgate_missing == 0",
      "sum by (color) (rate(sandgate_session_calls_total[5m]))",
      'rate(sandgate_session_calls_total{outcome="fine"}[5m])',
      'rate(sandgate_session_calls_total{rule="a"}[5m])',
      "rate(sandgate_paused[5m])",
      "sandgate_session_calls_total > 1",
      "sum(sandgate_paused",
      "histogram_quantile(0.5, sum(rate(sandgate_confirmation_seconds_bucket[5m])))",
    ]) {
      expect({ expression, problems: problemsOf(expression, metrics).length }).not.toEqual({
        expression,
        problems: 0,
      });
    }
  });
});
