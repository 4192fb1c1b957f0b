import type { Duplex } from "node:stream";
import { race } from "../base/timers.ts";
import type { LongRunningProgram } from "../sandboxes/process/long-running/running-program.ts";
import { KILL_GRACE_MS } from "../sandboxes/process/process-limits.ts";
import type { AgentCalls } from "./agent-calls.ts";
import type { AgentLog } from "./agent-log.ts";
import { AgentWire, type WireEnd } from "./wire/agent-wire.ts";

/** How an agent ended. */
export interface AgentEnd {
  /** Its exit code, or 128 and the number of the signal that ended it; `undefined` if it could not be ended. */
  readonly code: number | undefined;
  /** Why the supervisor ended it, or why it did not begin. Absent if it ended by itself. */
  readonly reason?: string;
}

/** An agent that was started. */
export interface AgentHandle {
  readonly id: string;
  /** The number of its process; of a confined agent, that of the first process of its sandbox, as this machine sees it. */
  readonly pid: number;
  /** Resolves when all its processes and calls have ended. Never rejects. */
  wait(): Promise<AgentEnd>;
  /**
   * Ends it and its calls.
   *
   * @param graceMs Milliseconds between SIGTERM and SIGKILL. Default: 5,000.
   */
  stop(graceMs?: number): Promise<AgentEnd>;
}

/** The parts of an agent. */
export interface AgentParts {
  readonly id: string;
  readonly pid: number;
  readonly program: LongRunningProgram;
  readonly calls: AgentCalls;
  /** Cancels its calls. */
  readonly cancelling: AbortController;
  readonly log: AgentLog;
  /** Called when it has ended. */
  readonly onEnd: () => void;
}

/** Milliseconds that calls get to end once they are cancelled. Longer ones continue without their agent. */
const CALLS_GRACE_MS = 5_000;

/** One agent, from its start to its end. */
export class Agent implements AgentHandle {
  readonly id: string;
  readonly pid: number;
  readonly #parts: AgentParts;
  readonly #wire: AgentWire;
  readonly #ended: Promise<AgentEnd>;
  #reason: string | undefined;

  constructor(parts: AgentParts) {
    const { id, pid, program, calls, log } = parts;
    this.id = id;
    this.pid = pid;
    this.#parts = parts;
    const channel: Duplex | undefined = program.channel;
    const [input, output] =
      channel === undefined ? [program.stdout, program.stdin] : ([channel, channel] as const);
    if (channel !== undefined) log.readFrom("stdout", program.stdout);
    log.readFrom("stderr", program.stderr);
    this.#wire = new AgentWire(input, output, {
      call: (call) => calls.call(call),
      log: (text) => log.add("stdout", text),
      end: (reason) => void this.#end(REASONS[reason], 0),
      silent: () => this.#endUnlessExited(),
    });
    this.#ended = this.#finish();
  }

  wait(): Promise<AgentEnd> {
    return this.#ended;
  }

  stop(graceMs?: number): Promise<AgentEnd> {
    return this.#end("it was stopped", graceMs);
  }

  async #end(reason: string, graceMs: number | undefined): Promise<AgentEnd> {
    this.#reason ??= reason;
    this.#parts.cancelling.abort();
    void this.#parts.program.stop(graceMs);
    return this.#ended;
  }

  /** An agent that can make no more calls has nothing left to do, and exits in time. */
  #endUnlessExited(): void {
    const { program } = this.#parts;
    const timer = setTimeout(() => void this.#end(STAYED, 0), KILL_GRACE_MS);
    void program.exited.then(() => clearTimeout(timer));
  }

  async #finish(): Promise<AgentEnd> {
    const { program, calls, cancelling, log, onEnd } = this.#parts;
    await program.exited;
    this.#wire.drain();
    const { code, problem } = await program.ended;
    this.#wire.close();
    cancelling.abort();
    await race(calls.settled(), { timeoutMs: CALLS_GRACE_MS });
    const reason = problem ?? this.#reason;
    if (reason !== undefined) log.note(`the agent ended: ${reason}`);
    onEnd();
    return { code, ...(reason !== undefined && { reason }) };
  }
}

const STAYED = `it closed its output, and had not exited ${KILL_GRACE_MS / 1_000} s later`;

const REASONS: Readonly<Record<WireEnd, string>> = {
  "line too long": "it wrote a line of more than 2 MiB",
  "answers not read": "it left more than 8 MiB of answers unread",
};
