import type { EventStream } from "../engine/call/events.ts";
import type { ToolRegistry } from "../engine/registry.ts";
import {
  CALL_SECONDS,
  CallMetrics,
  Histogram,
  type Labels,
  LabelValues,
  type Metric,
  single,
} from "../http/metrics.ts";
import type { ConfirmationEvent } from "../sessions/confirmations/confirmation-broker.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { isMcpImplementation, type McpServerState } from "../tool/implementations/remote-implementation.ts";
import type { Admin, ReloadableTools } from "./admin.ts";

/** Maximum number of rules with values of their own: policies are replaced while the server runs. */
const MAX_RULES = 200;

/** The value of the label `rule` if no rule matched. */
const NO_RULE = "none";

/** Upper bounds of the buckets of answers, in seconds. */
const ANSWER_SECONDS = [1, 5, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 14_400, 86_400];

/** What is measured. */
interface Measured {
  readonly sessions: Pick<Sessions, "openConfirmations" | "onConfirmation" | "problem">;
  readonly admin: Pick<Admin, "isPaused">;
  readonly tools: Pick<ReloadableTools, "registry">;
  /** Those of the calls of sessions. */
  readonly events: EventStream;
}

/** Measures the sessions of a server, and counts their calls. */
export class SessionMetrics {
  readonly #measured: Measured;
  readonly #calls = new CallMetrics();
  readonly #rules = new LabelValues(MAX_RULES);
  readonly #decisions = new Counts();
  readonly #confirmations = new Counts();
  readonly #seconds = new Histogram(
    "sandgate_session_call_duration_seconds",
    "Seconds that calls of sessions took, by sandbox.",
    CALL_SECONDS,
    [],
  );
  readonly #answerSeconds = new Histogram(
    "sandgate_confirmation_seconds",
    "Seconds until a person answered.",
    ANSWER_SECONDS,
  );

  constructor(measured: Measured) {
    this.#measured = measured;
    const { events, sessions, tools } = measured;
    sessions.onConfirmation((event) => this.#ask(event));
    events.on((event) => {
      // After an answer, the policy is consulted once more.
      if (event.type === "tool.decided" && event.confirmedBy === undefined) {
        const rules = event.rules.length === 0 ? [NO_RULE] : event.rules;
        for (const rule of new Set(rules.map((name) => this.#rules.of(name)))) {
          this.#decisions.add({ rule, decision: event.decision });
        }
      }
      // A nested call is part of the call that made it, as on executors.
      if (event.parent !== undefined) return;
      if (event.type !== "tool.completed" && event.type !== "tool.failed") return;
      const { toolName: tool, sandbox, error, durationMs } = event.execution;
      const outcome = error?.code ?? "ok";
      const ended = { tool, sandbox, caller: event.principal?.id, outcome, durationMs };
      this.#calls.ended(ended, tools.registry.has(tool));
      this.#seconds.observe(durationMs / 1_000, { sandbox: sandbox ?? "none" });
    });
  }

  #ask(event: ConfirmationEvent): void {
    if (event.type === "requested") return;
    const { kind, askedAt } = event.confirmation;
    const { decision, choice, at } = event.resolution;
    this.#confirmations.add({ kind, decision });
    if (choice !== undefined) this.#answerSeconds.observe(Math.max(0, at - askedAt) / 1_000);
  }

  read(): readonly Metric[] {
    const { sessions, admin, tools } = this.#measured;
    const confirmations = sessions.openConfirmations();
    const now = Date.now();
    const age = confirmations.reduce((most, { askedAt }) => Math.max(most, now - askedAt), 0) / 1_000;
    const gauge = (name: string, help: string, value: number): Metric =>
      single(`sandgate_${name}`, "gauge", help, value);
    return [
      ...this.#calls.metrics.map((metric) => ({
        ...metric,
        name: metric.name.replace("_call", "_session_call"),
      })),
      this.#seconds.metric,
      {
        name: "sandgate_decisions_total",
        type: "counter",
        help: "Decisions on calls of sessions, by rule.",
        samples: this.#decisions.samples,
      },
      {
        name: "sandgate_confirmations_total",
        type: "counter",
        help: "Questions to people that ended, by kind and decision.",
        samples: this.#confirmations.samples,
      },
      this.#answerSeconds.metric,
      gauge("confirmations_open", "Questions that wait for a person.", confirmations.length),
      gauge("confirmation_oldest_age_seconds", "The age of the oldest of these questions.", age),
      gauge(
        "store_healthy",
        "0 while the store of sessions cannot be written.",
        sessions.problem === undefined ? 1 : 0,
      ),
      ...serverMetrics(mcpServersOf(tools.registry)),
      gauge("paused", "1 while the server is paused.", admin.isPaused ? 1 : 0),
    ];
  }
}

/** An MCP server of the tools. */
interface MeasuredServer {
  readonly name: string;
  readonly state: McpServerState;
  readonly tools: number;
}

/** Finds the MCP servers of registered tools. */
export function mcpServersOf(registry: ToolRegistry): readonly MeasuredServer[] {
  const servers = new Map<string, { state: McpServerState; tools: number }>();
  for (const toolName of registry.names) {
    const { remote } = registry.find(toolName)?.tool ?? {};
    if (!isMcpImplementation(remote)) continue;
    const name = String(remote.mcp.toJSON()["server"]);
    const known = servers.get(name);
    if (known === undefined) servers.set(name, { state: remote.mcp.state, tools: 1 });
    else known.tools++;
  }
  return Array.from(servers, ([name, server]) => ({ name, ...server }));
}

function serverMetrics(servers: readonly MeasuredServer[]): readonly Metric[] {
  const metric = (
    name: string,
    type: Metric["type"],
    help: string,
    read: (state: McpServerState) => number,
  ): Metric => ({
    name: `sandgate_mcp_server_${name}`,
    type,
    help,
    samples: servers.map(({ name: server, state }) => ({ labels: { server }, value: read(state) })),
  });
  return [
    metric("connected", "gauge", "1 while the MCP server is connected.", (state) => +state.isConnected),
    metric(
      "paused",
      "gauge",
      "1 while the MCP server gets no calls, since it did not answer several.",
      (state) => +state.isPaused,
    ),
    metric("calls_running", "gauge", "Calls that the MCP server runs.", (state) => state.running),
    metric(
      "calls_waiting",
      "gauge",
      "Calls that wait until the MCP server runs fewer.",
      (state) => state.waiting,
    ),
    {
      name: "sandgate_mcp_server_calls_refused_total",
      type: "counter",
      help: "Calls that were not sent to the MCP server: it was busy or paused.",
      samples: servers.flatMap(({ name: server, state }) => [
        { labels: { server, reason: "busy" }, value: state.refusedBusy },
        { labels: { server, reason: "paused" }, value: state.refusedPaused },
      ]),
    },
  ];
}

/** Counts by labels, whose values are bounded in number. */
class Counts {
  readonly #counts = new Map<string, { readonly labels: Labels; value: number }>();

  add(labels: Labels): void {
    const key = JSON.stringify(Object.values(labels));
    const counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, { labels, value: 1 });
    else counted.value++;
  }

  get samples(): readonly { readonly labels: Labels; readonly value: number }[] {
    return [...this.#counts.values()];
  }
}
