import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import { describeThrown } from "../../base/thrown.ts";
import { race } from "../../base/timers.ts";
import type { MicrovmImplementation } from "../../tool/implementations/process-implementation.ts";
import { shorten } from "../contract/failure.ts";
import type { GuestMemory } from "../contract/guest-memory.ts";
import type { ResourceUse, SandboxOutcome } from "../contract/outcome.ts";
import { checkOutput, outcomeOf, outputProblem } from "../contract/output.ts";
import type { SandboxTask } from "../contract/sandbox.ts";
import { CollectedOutput, LineReader, MeteredOutput } from "../process/collected-output.ts";
import { grantedVariables } from "../process/program.ts";
import { awaitLine, startMessage } from "./control-port.ts";
import type { Machine, MachineEnd } from "./machine.ts";
import { MICROVM_DEFAULTS } from "./microvm-limits.ts";

/** How a program ended, as its machine reports it. Untrusted, like everything from a machine. */
interface Report {
  /** The exit code; 128 and the signal's number after a signal. */
  readonly code: number;
  /** Whether the machine's kernel killed processes that took more memory than the limit. */
  readonly ranOutOfMemory: boolean;
  /** The peak memory of all processes together; absent if the kernel does not count it. */
  readonly peakBytes?: number;
}

/** Milliseconds after which a call ends although its machine, which was killed, has not. */
const END_GRACE_MS = 5_000;

/**
 * Maximum number of bytes of a failure's message: the end of what the program wrote to its standard error.
 */
const MAX_MESSAGE_BYTES = 2_000;

/** The message if an internal error hides the end of the program. */
const LOST = "The program was started, but how it ended could not be found out";

const TOKEN_BYTES = 16;

type StopCause = "timeout" | "cancelled" | "outputBytes" | "memory";

/** One call of a program in a machine of its own, which ends with the call. */
export class MicrovmCall {
  /** Settles when the machine is gone, or could not be ended. Never rejects. */
  readonly ended: Promise<SandboxOutcome>;
  readonly #task: SandboxTask;
  readonly #machine: Machine;
  readonly #output: CollectedOutput;
  readonly #metered: MeteredOutput;
  readonly #memoryBytes: number;
  readonly #startedAt = performance.now();
  #logLines = 0;
  #lastLines = "";
  #cause: StopCause | undefined;
  readonly #killed = Promise.withResolvers<void>();

  /**
   * @param memory The budget for its output.
   * @throws {Error} if the program cannot be started with these arguments.
   */
  constructor(task: SandboxTask, program: MicrovmImplementation, machine: Machine, memory: GuestMemory) {
    const { limits, capabilities, canonical } = task;
    this.#task = task;
    this.#machine = machine;
    // The output may have a line break behind it.
    this.#output = new CollectedOutput(this.#outputLimit + 1);
    this.#metered = new MeteredOutput(memory.openForOutput(task), this.#outputLimit + 1);
    this.#memoryBytes = limits.memoryBytes ?? MICROVM_DEFAULTS.memoryBytes;
    const token = randomBytes(TOKEN_BYTES).toString("hex");
    const message = startMessage({
      token,
      command: program.command,
      args: program.args ?? [],
      memoryBytes: this.#memoryBytes,
      processes: limits.processes ?? MICROVM_DEFAULTS.processes,
      env: grantedVariables(capabilities.env),
    });
    this.#listen();
    const report = awaitLine(machine.control, reportReader(token));
    machine.control.write(message);
    machine.input.end(`${canonical.text}\n`);
    this.ended = this.#run(report)
      .catch((error: unknown) => this.#lost(error))
      .finally(() => this.#metered.close());
  }

  get #outputLimit(): number {
    return this.#task.limits.outputBytes ?? MICROVM_DEFAULTS.outputBytes;
  }

  /** Ends the machine, and waits until it is gone. */
  async stop(cause: StopCause): Promise<void> {
    this.#cause ??= cause;
    this.#metered.stopWaiting();
    this.#kill();
    await this.ended;
  }

  #listen(): void {
    const { output, errors } = this.#machine;
    output.on("data", (chunk: Buffer) => {
      if (!this.#output.add(chunk)) void this.stop("outputBytes");
    });
    this.#metered.read(output, () => void this.stop("memory"));
    const lines = new LineReader((line) => this.#log(line));
    errors.on("data", (chunk: Buffer) => lines.add(chunk));
    errors.on("end", () => lines.end());
    // The warm-up paused them.
    for (const stream of [output, errors]) stream.resume();
  }

  async #run(reported: Promise<Report | undefined>): Promise<SandboxOutcome> {
    const { signal, limits } = this.#task;
    const cancel = (): void => void this.stop("cancelled");
    const deadline = setTimeout(
      () => void this.stop("timeout"),
      limits.wallTimeMs ?? MICROVM_DEFAULTS.wallTimeMs,
    );
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) cancel();
    const report = await Promise.race([
      reported,
      this.#machine.ended.then(() => undefined),
      this.#killed.promise.then(() => undefined),
    ]);
    clearTimeout(deadline);
    signal?.removeEventListener("abort", cancel);
    // What the program wrote before its end was sent before the report. It is read until the machine is gone.
    this.#kill();
    const end = await race(this.#machine.ended, { timeoutMs: END_GRACE_MS });
    return this.#outcome(report, typeof end === "string" ? undefined : end);
  }

  #kill(): void {
    this.#machine.kill();
    this.#killed.resolve();
  }

  #log(line: string): void {
    this.#lastLines = `${this.#lastLines}${line}\n`.slice(-MAX_MESSAGE_BYTES);
    if (this.#logLines >= (this.#task.limits.logLines ?? MICROVM_DEFAULTS.logLines)) return;
    this.#logLines++;
    if (this.#task.observer.listening !== false) this.#task.observer.log("info", line);
  }

  /** @param end How the machine ended; `undefined` if it has not. */
  #outcome(report: Report | undefined, end: MachineEnd | undefined): SandboxOutcome {
    const peak = report?.peakBytes;
    const text = this.#output.toString().replace(/\n$/, "");
    const used: ResourceUse = {
      wallTimeMs: performance.now() - this.#startedAt,
      outputBytes: this.#output.bytes - (this.#output.endsLine ? 1 : 0),
      logLines: this.#logLines,
      ...(peak !== undefined && { memoryBytes: Math.min(peak, this.#memoryBytes) }),
    };
    // A machine reaches nothing outside itself.
    const base = { effect: "none", used, ...(end === undefined && { mayStillRun: true as const }) } as const;
    if (this.#cause === "outputBytes") return { status: "limit_exceeded", limit: "outputBytes", ...base };
    if (this.#cause === "memory")
      return { status: "limit_exceeded", limit: "outputBytes", message: this.#metered.refusal, ...base };
    if (this.#cause !== undefined) return { status: this.#cause, ...base };
    if (report === undefined) return this.#withoutReport(end, base);
    if (report.ranOutOfMemory) return { status: "limit_exceeded", limit: "memoryBytes", ...base };
    if (report.code !== 0) return { status: "failed", message: this.#failure(report.code), ...base };
    const message = outputProblem(text);
    if (message !== undefined) return { status: "failed", message, ...base };
    return outcomeOf(checkOutput(text, this.#outputLimit), "none", used);
  }

  /** An internal error hides the end of the program. */
  #lost(error: unknown): SandboxOutcome {
    this.#kill();
    const used = { wallTimeMs: performance.now() - this.#startedAt };
    const { detail } = describeThrown(error);
    return { status: "failed", message: LOST, userVisible: true, effect: "none", used, detail };
  }

  #withoutReport(
    end: MachineEnd | undefined,
    base: { readonly effect: "none"; readonly used: ResourceUse },
  ): SandboxOutcome {
    const hasBegun = this.#output.bytes > 0 || this.#logLines > 0;
    if (end?.cause === "failed" && !hasBegun) return { status: "unavailable", ...base, detail: end.errors };
    return { status: "failed", message: "The program's virtual machine stopped", ...base };
  }

  #failure(code: number): string {
    const lines = this.#lastLines.trim();
    return lines === "" ? `The program exited with code ${code}` : shorten(lines, MAX_MESSAGE_BYTES);
  }
}

/**
 * Returns a function that is given the lines of a report one by one, and returns the report at its last line. The first
 * begins with the token and the status of wait(2) as four letters, followed by the lines of `memory.events`; the last is
 * that of `memory.peak`, or `none`.
 */
export function reportReader(token: string): (line: string) => Report | undefined {
  let status: number | undefined;
  let killed = 0;
  return (line) => {
    if (status === undefined) {
      if (line.startsWith(token)) status = readLetters(line.slice(token.length));
      return undefined;
    }
    const [, kills] = /^oom_kill (\d{1,9})$/.exec(line) ?? [];
    if (kills !== undefined) killed = Number(kills);
    if (!/^(?:\d{1,15}|none)$/.test(line)) return undefined;
    const signal = status & 0x7f;
    return {
      code: signal === 0 ? status >> 8 : 128 + signal,
      ranOutOfMemory: killed > 0,
      ...(line !== "none" && { peakBytes: Number(line) }),
    };
  };
}

/** The number that four letters stand for: each from `a` for 0 to `p` for 15. */
function readLetters(text: string): number | undefined {
  const [letters] = /^[a-p]{4}/.exec(text) ?? [];
  if (letters === undefined) return undefined;
  return [...letters].reduce((number, letter) => number * 16 + letter.charCodeAt(0) - 97, 0);
}
