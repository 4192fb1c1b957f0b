import { cpus } from "node:os";
import { allow, CanonicalJson, RulePolicy, ToolRegistry } from "sandgate";
import { openJournal } from "sandgate/journal";
import { learnPolicy } from "../../src/journal/read/learn-policy.ts";
import { NewDirectory } from "../journal/new-directory.ts";

/** Learns from a journal of a million calls, and prints how long it takes and how much memory: `npm run bench:policy-learn`. */
const CALLS = 1_000_000;
const { grant } = allow({ sandbox: "host", limits: { wallTimeMs: 30_000 } });
const registry = new ToolRegistry();
for (let index = 0; index < 20; index++) {
  registry.register({
    name: `tool_${index}`,
    description: "Does it",
    sideEffects: "write",
    inputSchema: {
      type: "object",
      properties: { path: { type: "string" }, text: { type: "string" }, depth: { type: "number" } },
    },
    host: () => null,
  });
}
const policy = new RulePolicy({
  rules: [{ name: "all", tools: ["*"], effect: "allow", sandboxes: ["host"] }],
});
const rules = Object.freeze(["all"]);
const directory = new NewDirectory();
try {
  await record();
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 100);
  const learned = await learnPolicy({ places: [directory.path], exclude: new Set() });
  clearInterval(timer);
  const { user, system } = process.cpuUsage(before);
  const covered = learned.rules.reduce((sum, rule) => sum + rule.calls, 0);
  if (learned.rules.length !== 20 || covered !== CALLS)
    throw new Error(`${learned.rules.length} rules, ${covered}`);
  const [seconds, cpu] = [(performance.now() - startedAt) / 1_000, (user + system) / 1_000_000];
  console.log(
    `${CALLS} calls: ${seconds.toFixed(1)} s, ${cpu.toFixed(1)} s of CPU time, ${Math.round(peak / 1_048_576)} MiB`,
  );
  console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.versions.node}`);
} finally {
  directory.delete();
}

/** No two of the calls have the same arguments. */
async function record(): Promise<void> {
  await using journal = await openJournal({ directory: directory.path, sync: "none", sources: true });
  await journal.keep(policy, registry.subjects);
  for (let index = 0; index < CALLS; index++) {
    const name = `tool_${index % 20}`;
    const input = { path: `src/m-${index % 100}/f-${index}.ts`, text: "x".repeat(60), depth: index % 10 };
    const call = {
      callId: `call_${index}`,
      sessionId: `session-${index >> 6}`,
      toolName: name,
      rules,
      canonical: new CanonicalJson(Object.freeze(input)),
      grant,
      decision: "allow" as const,
      sideEffects: "write" as const,
      definitionDigest: registry.find(name)?.subject.definition?.digest ?? "",
      policyRevision: policy.revision,
      sources: { "/path": "user", "/depth": "user" } as const,
    };
    const written = journal.begin(call);
    journal.end({
      callId: call.callId,
      sessionId: call.sessionId,
      toolName: name,
      success: true,
      receipt: { enforced: grant.limits, used: { wallTimeMs: 1.5 } },
      output: new CanonicalJson("done"),
    });
    if (index % 1_000 === 0) await written;
  }
  await journal.flush();
}
