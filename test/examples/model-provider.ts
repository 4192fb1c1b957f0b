import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** Stands for the APIs of model providers, on one port. The model calls the tool `add` once, and repeats its result. */
export interface ModelProvider {
  /** What the SDKs read to find it. */
  readonly env: Readonly<Record<string, string>>;
  /** The paths of the requests that it answered. */
  readonly paths: readonly string[];
  close(): Promise<void>;
}

const ARGUMENTS = { a: 2, b: 3 };

/** Starts it on a free port. */
export async function startModelProvider(): Promise<ModelProvider> {
  const paths: string[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    const path = new URL(request.url ?? "", "http://localhost").pathname;
    const body = (await json(request)) as Record<string, unknown>;
    const answer = Object.entries(ANSWERS).find(([end]) => path.endsWith(end))?.[1](body);
    paths.push(path);
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { error: { message: `no such path: ${path}` } }));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const key = "not-a-key";
  return {
    env: {
      OPENAI_API_KEY: key,
      ANTHROPIC_API_KEY: key,
      GEMINI_API_KEY: key,
      OPENAI_BASE_URL: `${url}/v1`,
      ANTHROPIC_BASE_URL: url,
      GOOGLE_GEMINI_BASE_URL: url,
    },
    paths,
    close: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Answers a request by its path: with a call if it has no result yet, otherwise with a text that has the result. */
const ANSWERS: Readonly<Record<string, (body: Record<string, unknown>) => object>> = {
  "/responses": ({ input, tools }) => {
    const result = (input as { type?: string; output?: unknown }[]).find(
      ({ type }) => type === "function_call_output",
    );
    requireTool(tools);
    const item =
      result === undefined
        ? {
            ...call("call_id"),
            type: "function_call",
            id: "fc_1",
            arguments: JSON.stringify(ARGUMENTS),
            status: "completed",
          }
        : {
            type: "message",
            id: "msg_1",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: `It is ${textOf(result.output)}`, annotations: [] }],
          };
    return {
      id: "resp_1",
      object: "response",
      created_at: 1,
      status: "completed",
      model: "gpt-5.5",
      output: [item],
      tools: [],
      error: null,
      incomplete_details: null,
      usage: {
        input_tokens: 1,
        output_tokens: 1,
        total_tokens: 2,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    };
  },
  "/chat/completions": ({ messages, tools }) => {
    const result = (messages as { role: string; content: unknown }[]).find(({ role }) => role === "tool");
    requireTool(tools);
    const message =
      result === undefined
        ? {
            content: null,
            tool_calls: [
              {
                id: "call_1",
                type: "function",
                function: { name: "add", arguments: JSON.stringify(ARGUMENTS) },
              },
            ],
          }
        : { content: `It is ${textOf(result.content)}` };
    const finish_reason = result === undefined ? "tool_calls" : "stop";
    return {
      id: `chat_${(messages as object[]).length}`,
      object: "chat.completion",
      created: 1,
      model: "gpt-5.5",
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    };
  },
  "/messages": ({ messages, tools }) => {
    const blocks = (messages as { content: unknown }[]).flatMap(({ content }) =>
      Array.isArray(content) ? (content as { type: string; content?: unknown }[]) : [],
    );
    const result = blocks.find(({ type }) => type === "tool_result");
    requireTool(tools);
    const block =
      result === undefined
        ? { ...call("id"), type: "tool_use", input: ARGUMENTS }
        : { type: "text", text: `It is ${textOf(result.content)}` };
    return {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-5-5",
      content: [block],
      stop_reason: result === undefined ? "tool_use" : "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    };
  },
  ":generateContent": ({ contents, tools }) => {
    const parts = (
      contents as { parts: { functionResponse?: { response: { result?: unknown } } }[] }[]
    ).flatMap((content) => content.parts);
    const result = parts.find(({ functionResponse }) => functionResponse !== undefined)?.functionResponse;
    requireTool(tools);
    const part =
      result === undefined
        ? { functionCall: { name: "add", args: ARGUMENTS } }
        : { text: `It is ${textOf(Object.values(result.response)[0])}` };
    return { candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }] };
  },
};

function call(idName: string): object {
  return { [idName]: "call_1", name: "add" };
}

/** A model cannot call a tool that it was not offered. */
function requireTool(tools: unknown): void {
  if (!JSON.stringify(tools ?? []).includes('"add"')) throw new Error("the tool 'add' was not offered");
}

/** The text of a result, whether it is a text, a list of blocks or a value. */
function textOf(result: unknown): string {
  if (!Array.isArray(result)) return typeof result === "string" ? result : JSON.stringify(result);
  return result.map(({ text }) => text).join("");
}
