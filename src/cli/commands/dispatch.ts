import { randomUUID } from "node:crypto";
import { formatDuration } from "../../base/units.ts";
import { ConfigError } from "../../config/problem.ts";
import type { DispatchContext } from "../../engine/call/context.ts";
import { type DispatchEvent, EventStream } from "../../engine/call/events.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { toToolResult } from "../../engine/call/messages.ts";
import type { ToolCall } from "../../engine/call.ts";
import { ToolDispatchEngine } from "../../engine/engine.ts";
import type { ToolError } from "../../engine/errors.ts";
import { redactExecution } from "../../engine/reporting/redacted.ts";
import type { PolicyDecision, RuntimePolicy } from "../../policy/policy.ts";
import { toText } from "../../protocols/content.ts";
import type { Format } from "../../protocols/formats.ts";
import { Redaction } from "../../redaction/redaction.ts";
import { FOREIGN_PREFIX, fitText, textWidth, toTerminalLines } from "../../rendering/lines.ts";
import { render, textOf } from "../../rendering/render.ts";
import { joinShown, ShownText, shown, toPrintableJson } from "../../rendering/shown.ts";
import { openSandboxes } from "../../sandboxes/open-sandboxes.ts";
import { logCalls, mcpEntry } from "../../telemetry/call-log.ts";
import { CONFIG } from "../command.ts";
import { loadConfig } from "../config/load-config.ts";
import { openLog } from "../config/load-log.ts";
import { openConfiguredTelemetry } from "../config/load-telemetry.ts";
import { UsageError } from "../errors.ts";
import {
  commandThatAllows,
  EXIT_INTERRUPTED,
  EXIT_OK,
  type ExitCode,
  ownCommand,
  print,
  showProblems,
  styled,
  type Terminal,
} from "../terminal.ts";
import { ConfiguredServers } from "./mcp/servers.ts";
import { openConfiguredJournal } from "./open-journal.ts";
import { type InputMessage, readMessage } from "./read-message.ts";

/** The outcome that a call would have. */
interface DryRun {
  readonly callId: string;
  readonly toolName: string;
  /** The decision of the policy; absent if the call fails before. */
  readonly decision?: PolicyDecision;
  /** Why the call would fail, regardless of a person's answer; absent if it would run. */
  readonly error?: Pick<ToolError, "code" | "message">;
}

const HEADINGS = ["call", "tool", "sandbox", "outcome", "rules", "time"] as const;

const GAP = "  ";

const OUTCOME_COLUMN = 3;

/** The model chooses ids and names. They must not push the outcome out of view. */
const MAX_COLUMNS = [24, 32, 7, Number.POSITIVE_INFINITY, 24, 12] as const;

const MIN_OUTCOME_COLUMNS = 20;

/** More characters than a line can show: further ones are not examined. Runs of spaces would look like the next column. */
const CELL = { chars: 1_000, maxSpaces: 1 } as const;

const HEADING_PREFIX = " ".repeat(FOREIGN_PREFIX.length);

/** The names of the policy's rules for each execution. */
export type RulesOfExecutions = ReadonlyMap<ToolExecution, readonly string[]>;

/** Options of `sandgate dispatch`. */
interface DispatchCommand {
  /** `-` is standard input. */
  readonly file: string;
  readonly config: string;
  /** `auto` detects the format. */
  readonly format: Format | "auto";
  readonly output: "table" | "json" | "messages";
  /** Whether the operator's log goes to standard error. */
  readonly events: boolean;
  /** Whether a person is asked on the terminal. */
  readonly confirm: boolean;
  /** Whether nothing runs. */
  readonly dryRun: boolean;
}

/** The redaction of tables without one in the config: terminals have a history, and people share it. */
const SHOWN = new Redaction();

/** The width of a table if the output is not a terminal. */
const DEFAULT_COLUMNS = 120;

/**
 * Dispatches the calls of a message and prints the results. An interruption cancels the running and the remaining
 * calls.
 *
 * @throws {ConfigError} if the config is invalid.
 * @throws {MessageError} if the message is invalid.
 */
export async function dispatch(command: DispatchCommand, terminal: Terminal): Promise<ExitCode> {
  await using servers = new ConfiguredServers("warning");
  const {
    problems,
    registry,
    policy,
    sandboxOptions,
    context: options,
    ...loaded
  } = await loadConfig(command.config, servers);
  if (policy === undefined || problems.some(({ severity }) => severity === "error")) {
    throw new ConfigError(problems);
  }
  await print(terminal.stderr, showProblems(problems));
  if (command.confirm && terminal.isInteractive !== true) {
    throw new UsageError(shown`--confirm needs a terminal: there is no person to ask`);
  }
  if (command.confirm && command.file === "-") {
    throw new UsageError(shown`--confirm needs the message in a FILE: the answers come from the terminal`);
  }
  const input = await readMessage(command.file, command.format, registry, terminal);
  const recorded = { registry, policy, redaction: options.redaction };
  await using journal = await openConfiguredJournal(loaded.journalOptions, recorded, ({ kind, message }) => {
    void print(terminal.stderr, shown`sandgate: journal ${kind}: ${message}`);
  });
  await using sandboxes = await openSandboxes(sandboxOptions);
  sandboxes.ensureExit();
  const { signal } = terminal;
  const rules = new Map<ToolExecution, readonly string[]>();
  const decisions = new Map<string, "allow" | "ask" | "deny">();
  const denials = new Map<ToolExecution, Denial>();
  const events = new EventStream();
  events.on((event) => {
    if (event.type === "tool.decided") decisions.set(event.callId, event.decision);
    if (event.type === "tool.completed" || event.type === "tool.failed")
      rules.set(event.execution, event.rules);
    if (event.type === "tool.failed" && event.execution.error?.code === "permission_denied")
      denials.set(event.execution, { reason: event.detail, decision: decisions.get(event.callId) });
    if (event.type === "tool.display") void print(terminal.stderr, showDisplay(event, options.redaction));
  });
  await using log = openLog(terminal, loaded.log, options.redaction);
  if (command.events) {
    events.on(logCalls(log));
    servers.listen((notice) => log.write(mcpEntry(notice)));
  }
  await using telemetry = await openConfiguredTelemetry(loaded.telemetry, {
    redaction: options.redaction,
    onProblem: (message) => log.write({ level: "warn", event: "telemetry.problem", fields: { message } }),
    continues: true,
  });
  const { toAlias: toolAlias } = input.protocol;
  const sessionId = randomUUID();
  const context = {
    ...options,
    ...telemetry.traced,
    registry,
    policy,
    sandboxes,
    events,
    sessionId,
    toolAlias,
    ...(signal && { signal }),
    ...(journal && { journal }),
  };
  await print(terminal.stderr, joinShown(noticesOf(input), "\n"));
  if (command.dryRun) {
    const dryRuns = await dryRun(input.calls, context);
    await print(
      terminal.stdout,
      command.output === "table" ? showDryRuns(dryRuns) : toPrintableJson({ calls: dryRuns }),
    );
    return EXIT_OK;
  }
  const { sessionId: _, signal: __, ...sessionContext } = context;
  const { confirmations, limits, mode } = loaded.sessions;
  const dispatched = command.confirm
    ? await (await import("../confirmation-dialogue.ts")).dispatchWithConfirmations(
        input,
        { ...sessionContext, confirmations, limits, mode },
        terminal,
      )
    : await new ToolDispatchEngine().dispatchTurn(input, context);
  // Only hooks can abort a call, and there are none here.
  const executions = dispatched.filter((execution) => execution !== null);
  await print(
    terminal.stdout,
    format(command, input, executions, rules, {
      columns: terminal.stdout.columns,
      redaction: options.redaction,
    }),
  );
  if (command.output === "table")
    for (const line of showDenials(command, input.calls, executions, denials, options.redaction))
      await print(terminal.stdout, line);
  return signal?.aborted ? EXIT_INTERRUPTED : EXIT_OK;
}

/** Shows what a tool displays: as text, without secrets, and not as words of this command. */
function showDisplay(event: DispatchEvent & { readonly type: "tool.display" }, redaction = SHOWN): ShownText {
  const source = render(redaction.text(event.source), { keepsLines: true });
  return joinShown(
    [shown`the tool '${event.toolName}' displays (${event.format}):`, toTerminalLines(source)],
    "\n",
  );
}

/** What a message says besides its calls: that it was cut off, and that it has calls that do not run here. */
function noticesOf({ cutOff, stopReason, other }: InputMessage): readonly ShownText[] {
  const types = [...new Set(other.map(({ type }) => type))].join(", ");
  return [
    ...(cutOff
      ? [shown`sandgate: the message was cut off (${String(stopReason)}), so its calls do not run`]
      : []),
    ...(types === "" ? [] : [shown`sandgate: the message has calls that do not run here: ${types}`]),
  ];
}

function format(
  { output }: DispatchCommand,
  { protocol, calls, text }: InputMessage,
  executions: readonly ToolExecution[],
  rules: RulesOfExecutions,
  shown: { readonly columns: number | undefined; readonly redaction: Redaction | undefined },
): ShownText {
  switch (output) {
    case "table":
      return calls.length === 0
        ? new ShownText("The message has no tool calls.")
        : tableOf(executions, rules, shown.columns || DEFAULT_COLUMNS, shown.redaction);
    case "json":
      return toPrintableJson({ executions });
    case "messages":
      return toPrintableJson(protocol.toMessages(calls, executions, { text }));
  }
}

/** Why a call was denied, for operators, and what the policy had decided, if it was asked. */
interface Denial {
  readonly reason: string | undefined;
  readonly decision: "allow" | "ask" | "deny" | undefined;
}

/** Says why calls were denied, and how they could be allowed. */
function showDenials(
  { config, file }: DispatchCommand,
  calls: readonly ToolCall[],
  executions: readonly ToolExecution[],
  denials: ReadonlyMap<ToolExecution, Denial>,
  redaction: Redaction = SHOWN,
): readonly ShownText[] {
  const prefix = new ShownText(FOREIGN_PREFIX);
  return executions.flatMap((execution, index): readonly ShownText[] => {
    const denial = denials.get(execution);
    if (denial === undefined) return [];
    const { callId, toolName } = execution;
    const reason = textOf(render(redaction.text(denial.reason ?? ""), CELL));
    if (denial.decision === "ask") {
      const asks = file === "-" ? shown`` : shown`: ${ownCommand()} dispatch ${file} --confirm asks you`;
      return [shown`${prefix}${callId}: a person has to confirm '${toolName}': '${reason}'${asks}`];
    }
    const why = shown`${prefix}${callId}: '${toolName}' was denied: ${reason}`;
    if (denial.decision !== "deny") return [why];
    const { arguments: given = "" } = calls[index] ?? {};
    const args = redaction.text(typeof given === "string" ? given : JSON.stringify(given));
    const allowing = commandThatAllows(toolName, args, config === CONFIG.value ? undefined : config);
    return [why, shown`${prefix}  this says what would allow it:`, allowing];
  });
}

/** The table of the executions, without secrets. */
function tableOf(
  executions: readonly ToolExecution[],
  rules: RulesOfExecutions,
  columns: number,
  redaction: Redaction = SHOWN,
): ShownText {
  const shown = executions.map((each) => ({ each, redacted: redactExecution(each, redaction) }));
  const shownRules = new Map(shown.map(({ each, redacted }) => [redacted, rules.get(each) ?? []]));
  return formatTable([...shownRules.keys()], columns, shownRules);
}

/**
 * Formats executions as a table with one line each, at most `columns` wide. Texts from tools and models are rendered, and
 * each line has the prefix of foreign text, as the model chooses how it begins.
 */
export function formatTable(
  executions: readonly ToolExecution[],
  columns: number,
  rules: RulesOfExecutions = new Map(),
): ShownText {
  const rows = [HEADINGS, ...executions.map((execution) => toRow(execution, rules.get(execution)))].map(
    (row) => row.map((cell) => textOf(render(cell, CELL))),
  );
  const widths = HEADINGS.map((_, column) => {
    const widest = Math.max(...rows.map((row) => textWidth(row[column] ?? "")));
    return Math.min(widest, MAX_COLUMNS[column] ?? widest);
  });
  const otherWidths = widths.reduce(
    (sum, width, column) => (column === OUTCOME_COLUMN ? sum : sum + width),
    0,
  );
  const left = columns - FOREIGN_PREFIX.length - otherWidths - GAP.length * (HEADINGS.length - 1);
  widths[OUTCOME_COLUMN] = Math.min(widths[OUTCOME_COLUMN] ?? 0, Math.max(left, MIN_OUTCOME_COLUMNS));
  const lines = rows.map(
    (row, index) => (index === 0 ? HEADING_PREFIX : FOREIGN_PREFIX) + formatRow(row, widths, index > 0),
  );
  return new ShownText(lines.join("\n"));
}

function formatRow(row: readonly string[], widths: readonly number[], isCall: boolean): string {
  const cells = row.map((cell, column) => {
    const fitted = fitText(cell, widths[column] ?? 0);
    if (!isCall || column !== OUTCOME_COLUMN) return fitted;
    return styled(cell.startsWith("ok:") ? "good" : "bad", new ShownText(fitted)).text;
  });
  return cells.join(GAP).trimEnd();
}

function toRow(execution: ToolExecution, rules: readonly string[] = []): readonly string[] {
  const { callId, toolName, sandbox, durationMs, error } = execution;
  const outcome = `${error?.code ?? "ok"}: ${toText(toToolResult(execution).content)}`;
  const time = formatDuration(Number(durationMs.toFixed(durationMs < 10 ? 1 : 0)));
  return [callId, toolName, sandbox ?? "-", outcome, rules.join(", ") || "-", time];
}

/**
 * Runs the steps of calls up to the sandbox, but not the calls.
 *
 * @param context Must have no hooks.
 */
async function dryRun(calls: readonly ToolCall[], context: DispatchContext): Promise<readonly DryRun[]> {
  const engine = new ToolDispatchEngine();
  const dryRuns: DryRun[] = [];
  // One by one, since the ids of a message's calls need not differ.
  for (const call of calls) dryRuns.push(await dryRunCall(engine, call, context));
  return dryRuns;
}

async function dryRunCall(
  engine: ToolDispatchEngine,
  call: ToolCall,
  context: DispatchContext,
): Promise<DryRun> {
  let decision: PolicyDecision | undefined;
  let isReady = false;
  const policy: RuntimePolicy = {
    // Read for each call, as the engine reads it. With it, recorded calls can be decided again.
    get revision() {
      return context.policy.revision;
    },
    check: async (request) => {
      decision = await context.policy.check(request);
      return decision;
    },
  };
  const execution = await engine.dispatch(call, {
    ...context,
    policy,
    // A person is asked only about a call that could run.
    confirm: async () => {
      isReady = true;
      return { decision: "nobody" };
    },
    hooks: {
      onToolStart: () => {
        isReady = true;
        return { deny: "nothing runs" };
      },
    },
  });
  const { callId = call.id, toolName = call.name, error } = execution ?? {};
  return {
    callId,
    toolName,
    ...(decision !== undefined && { decision }),
    ...(error !== undefined && !isReady && { error: { code: error.code, message: error.message } }),
  };
}

/** Shows one line for each call. The model chooses how a line begins, hence the prefix. */
function showDryRuns(calls: readonly DryRun[]): ShownText {
  const prefix = new ShownText(FOREIGN_PREFIX);
  return joinShown(
    calls.map((call) => shown`${prefix}${call.callId}: ${call.toolName}: ${outcomeOf(call)}`),
    "\n",
  );
}

function outcomeOf({ decision, error }: DryRun): ShownText {
  const rules = (decision?.rules ?? []).join(", ");
  const suffix = rules === "" ? new ShownText("") : shown` (${rules})`;
  if (error !== undefined) return shown`fails: ${error.code}: ${error.message}${suffix}`;
  if (decision === undefined || decision.decision === "deny") return shown`deny${suffix}`;
  const question = decision.decision === "ask" ? shown` '${decision.question}'` : new ShownText("");
  if (decision.grant === undefined) return shown`ask${question}${suffix}`;
  const { sandbox, isolation, limits, capabilities } = decision.grant;
  const place = isolation === undefined ? sandbox : `${sandbox}/${isolation}`;
  return shown`${decision.decision}${question}: ${place}, limits ${JSON.stringify(limits)}, capabilities ${JSON.stringify(capabilities)}${suffix}`;
}
