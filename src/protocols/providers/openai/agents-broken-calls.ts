import { LruMap } from "../../../base/lru-map.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";

/** A call as the model wrote it. */
interface WrittenCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
}

/** Dispatches a call whose arguments are not JSON. Returns the text for the model. */
type Dispatch = (call: WrittenCall) => Promise<string>;

/** The most answers that are retained. A conversation has few calls with broken JSON. */
const MAX_ANSWERS = 1_024;

/**
 * Answers the calls that the runner of OpenAI Agents answers itself, since their arguments are not JSON. It tells no
 * function or hook of such a call, so they are found in the input of the model's next turn.
 */
export class BrokenCalls {
  readonly #dispatch: Dispatch;
  readonly #isOwn: (name: string) => boolean;
  /** The answers by call, as every turn has all items. */
  readonly #answers = new LruMap<string, Promise<string>>(MAX_ANSWERS);

  /** @param isOwn Whether a name is that of one of our tools. */
  constructor(isOwn: (name: string) => boolean, dispatch: Dispatch) {
    this.#isOwn = isOwn;
    this.#dispatch = dispatch;
  }

  /** Returns the items of a conversation, with our answers in the results of such calls. */
  async answer<Item>(items: readonly Item[]): Promise<Item[]> {
    const broken = new Map(
      items.flatMap((item) => (this.#isBroken(item) ? [[item.callId, item] as const] : [])),
    );
    if (broken.size === 0) return [...items];
    return Promise.all(
      items.map(async (item) => {
        const call = isJsonObject(item) && isResult(item) ? broken.get(String(item["callId"])) : undefined;
        if (call === undefined) return item;
        return { ...item, output: { type: "text", text: await this.#answerTo(call) } };
      }),
    );
  }

  #answerTo(call: WrittenCall): Promise<string> {
    const key = JSON.stringify([call.callId, call.name, call.arguments]);
    let answer = this.#answers.get(key);
    if (answer === undefined) {
      answer = this.#dispatch(call);
      this.#answers.set(key, answer);
    }
    return answer;
  }

  #isBroken(item: unknown): item is WrittenCall {
    if (!isJsonObject(item) || item["type"] !== "function_call") return false;
    const { callId, name, arguments: args } = item;
    return (
      typeof callId === "string" &&
      typeof name === "string" &&
      typeof args === "string" &&
      this.#isOwn(name) &&
      !isJson(args)
    );
  }
}

function isResult({ type }: JsonObject): boolean {
  return type === "function_call_result";
}

/** Decides as the runner does. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
