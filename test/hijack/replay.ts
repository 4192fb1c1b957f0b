import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import type { Sandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { openSessions, type Sessions } from "../../src/sessions/sessions.ts";
import { SIDE_EFFECTS } from "../../src/tool/side-effects.ts";
import type { SuitePolicy } from "./suite-policy.ts";
import { callKey, type RecordedCall, type Suite } from "./traces.ts";

/** What became of the calls of an agent. */
export interface Replayed {
  /** Names of the tools about whose calls a person was asked. */
  readonly asked: readonly string[];
  /** Names of the tools that ran. */
  readonly ran: readonly string[];
  /** The number of calls that failed, or were denied without a question. */
  readonly failed: number;
}

/** Plays recorded calls in real sessions. The tools return what was recorded for the same arguments. */
export class Replay implements AsyncDisposable {
  readonly #sessions: Sessions;
  /** The outputs of the calls under way, by tool and arguments. */
  readonly #outputs: Map<string, JsonValue>;
  readonly #ran: string[];
  readonly #asked: string[] = [];
  #answer: "allow" | "deny" = "deny";

  private constructor(sessions: Sessions, outputs: Map<string, JsonValue>, ran: string[]) {
    this.#sessions = sessions;
    this.#outputs = outputs;
    this.#ran = ran;
    sessions.onInquiry((event) => {
      if (event.type !== "requested") return;
      const { id, digest, shown } = event.inquiry;
      this.#asked.push(shown.toolName);
      void sessions.answer(id, { decision: this.#answer, digest, by: "user" });
    });
  }

  static async open(
    { tools }: Suite,
    { policy, sideEffects }: SuitePolicy,
    sandboxes: Sandboxes,
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
      // The policy alone decides who is asked.
      confirmations: { default: Object.fromEntries(SIDE_EFFECTS.map((each) => [each, "auto"])) },
    });
    return new Replay(sessions, outputs, ran);
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
        const result = await turn.dispatch({ id: `${answer}-${index}`, name, arguments: input });
        if (result?.success !== true) failed++;
      }
      return { asked: this.#asked.splice(0), ran: this.#ran.splice(0), failed };
    };
    const played = { task: await play(task, "allow"), attack: await play(attack, "deny") };
    await session.close();
    return played;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sessions.close();
  }
}
