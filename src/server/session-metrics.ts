import type { EventStream } from "../engine/call/events.ts";
import { CallMetrics } from "../executor/metrics/call-metrics.ts";
import { type Metric, single } from "../executor/metrics/prometheus-text.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Admin } from "./admin.ts";
import type { ReloadableTools } from "./reloadable-tools.ts";

/** What is measured. */
interface Measured {
  readonly sessions: Pick<Sessions, "openInquiries" | "problem">;
  readonly admin: Pick<Admin, "isPaused">;
  readonly tools: Pick<ReloadableTools, "registry">;
  /** Those of the calls of sessions. */
  readonly events: EventStream;
}

/** Measures the sessions of a server, and counts their calls. */
export class SessionMetrics {
  readonly #measured: Measured;
  readonly #calls = new CallMetrics();

  constructor(measured: Measured) {
    this.#measured = measured;
    const { events, tools } = measured;
    events.on((event) => {
      // A nested call is part of the call that made it, as on executors.
      if (event.parent !== undefined) return;
      if (event.type !== "tool.completed" && event.type !== "tool.failed") return;
      const { toolName: tool, sandbox, error, durationMs } = event.execution;
      const outcome = error?.code ?? "ok";
      const ended = { tool, sandbox, caller: event.principal?.id, outcome, durationMs };
      this.#calls.ended(ended, tools.registry.has(tool));
    });
  }

  read(): readonly Metric[] {
    const { sessions, admin } = this.#measured;
    const inquiries = sessions.openInquiries();
    const now = Date.now();
    const age = inquiries.reduce((most, { askedAt }) => Math.max(most, now - askedAt), 0) / 1_000;
    const gauge = (name: string, help: string, value: number): Metric =>
      single(`sandgate_${name}`, "gauge", help, value);
    return [
      ...this.#calls.metrics.map((metric) => ({
        ...metric,
        name: metric.name.replace("_call", "_session_call"),
      })),
      gauge("inquiries_open", "Questions that wait for a person.", inquiries.length),
      gauge("inquiry_oldest_age_seconds", "The age of the oldest of these questions.", age),
      gauge(
        "store_healthy",
        "0 while the store of sessions cannot be written.",
        sessions.problem === undefined ? 1 : 0,
      ),
      gauge("paused", "1 while the server is paused.", admin.isPaused ? 1 : 0),
    ];
  }
}
