import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import type { Journal } from "../../src/journal/journal.ts";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import type { PolicySubject } from "../../src/policy/policy.ts";
import type { Sandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { openSessions, type Sessions } from "../../src/sessions/sessions.ts";
import { SIDE_EFFECTS } from "../../src/tool/side-effects.ts";
import type { SuitePolicy } from "./suite-policy.ts";
import { callKey, type RecordedCall, type Suite } from "./traces.ts";

/** What became of the calls of an agent. */
export interface Replayed {
  /** Names of the tools about whose calls a person was asked. */
  readonly asked: readonly string[];
  /** The places of these calls among those that were played. */
  readonly askedCalls: readonly number[];
  /** Names of the tools that ran. */
  readonly ran: readonly string[];
  /** The number of calls that failed, or were denied without a question. */
  readonly failed: number;
}

/** Plays recorded calls in real sessions. The tools return what was recorded for the same arguments. */
export class Replay implements AsyncDisposable {
  readonly subjects: readonly PolicySubject[];
  readonly #sessions: Sessions;
  /** The outputs of the calls under way, by tool and arguments. */
  readonly #outputs: Map<string, JsonValue>;
  readonly #ran: string[];
  readonly #asked: string[] = [];
  readonly #askedCalls: number[] = [];
  /** The place of the call under way. */
  #index = 0;
  #answer: "allow" | "deny" = "deny";

  private constructor(
    sessions: Sessions,
    outputs: Map<string, JsonValue>,
    ran: string[],
    subjects: readonly PolicySubject[],
  ) {
    this.subjects = subjects;
    this.#sessions = sessions;
    this.#outputs = outputs;
    this.#ran = ran;
    sessions.onConfirmation((event) => {
      if (event.type !== "requested") return;
      const { id, digest, shown } = event.confirmation;
      this.#asked.push(shown.toolName);
      this.#askedCalls.push(this.#index);
      void sessions.answer(id, { decision: this.#answer, digest, by: "user" });
    });
  }

  static async open(
    { tools }: Pick<Suite, "tools">,
    { policy, sideEffects }: SuitePolicy,
    sandboxes: Sandboxes,
    journal?: Journal,
  ): Promise<Replay> {
    const outputs = new Map<string, JsonValue>();
    const ran: string[] = [];
    const registry = new ToolRegistry();
    for (const { name, description, inputSchema } of tools) {
      const host = (input: JsonObject): JsonValue => {
        ran.push(name);
        return outputs.get(callKey(name, input)) ?? null;
      };
      const effects = sideEffects.get(name) ?? "destructive";
      registry.register({ name, description, inputSchema, sideEffects: effects, host } as Tool);
    }
    const sessions = await openSessions({
      registry,
      policy,
      sandboxes,
      ...(journal && { journal }),
      // The policy alone decides who is asked.
      confirmations: { default: Object.fromEntries(SIDE_EFFECTS.map((each) => [each, "auto"])) },
    });
    return new Replay(sessions, outputs, ran, registry.subjects);
  }

  /**
   * Has an agent make the calls of a task, and then those of an attack, in a turn with these words of the user. The user
   * allows what the agent asks for the task, and nothing that it asks for the attack.
   */
  async run(
    userText: string,
    task: readonly RecordedCall[],
    attack: readonly RecordedCall[],
  ): Promise<{ readonly task: Replayed; readonly attack: Replayed }> {
    const session = await this.#sessions.open();
    const turn = session.turn({ userText });
    const play = async (calls: readonly RecordedCall[], answer: "allow" | "deny"): Promise<Replayed> => {
      this.#answer = answer;
      this.#outputs.clear();
      for (const { name, arguments: input, output } of calls) this.#outputs.set(callKey(name, input), output);
      let failed = 0;
      for (const [index, { name, arguments: input }] of calls.entries()) {
        this.#index = index;
        const result = await turn.dispatch({ id: `${answer}-${index}`, name, arguments: input });
        if (result?.success !== true) failed++;
      }
      const askedCalls = this.#askedCalls.splice(0);
      return { asked: this.#asked.splice(0), askedCalls, ran: this.#ran.splice(0), failed };
    };
    const played = { task: await play(task, "allow"), attack: await play(attack, "deny") };
    await session.close();
    return played;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sessions.close();
  }
}
