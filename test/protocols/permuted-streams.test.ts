import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { PROTOCOLS } from "../../src/protocols/by-format.ts";
import type { Format } from "../../src/protocols/formats.ts";
import { ProtocolError } from "../../src/protocols/parsing/shape.ts";
import type { TurnCall } from "../../src/protocols/turn.ts";

/** A call whose pieces are JSON only all together, and in this order. */
interface Streamed {
  readonly id: string;
  readonly name: string;
  readonly pieces: readonly string[];
}

const CALLS: readonly Streamed[] = [
  { id: "first", name: "weather", pieces: ['{"ci', 'ty":"Pa', 'ris"}'] },
  { id: "second", name: "pay", pieces: ['{"amo', 'unt":"tw', 'elve"}'] },
];
const registry = new ToolRegistry();
for (const { name } of CALLS) {
  registry.register({
    name,
    description: name,
    inputSchema: { type: "object" },
    sideEffects: "none",
    host: () => 1,
  });
}

const chunk = (delta: object, finish_reason: string | null = null): object => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const chat = (write: (call: Streamed, index: number) => readonly object[]): readonly object[] => [
  chunk({ role: "assistant" }),
  ...CALLS.flatMap(write).map((piece) => chunk({ tool_calls: [piece] })),
  chunk({}, "tool_calls"),
];
/** The pieces of two calls by their places. */
function pairs(write: (call: Streamed, index: number) => readonly object[]): readonly (readonly object[])[] {
  const [first = [], second = []] = CALLS.map(write);
  return first.map((piece, at) => [piece, second[at] as object]);
}
const inTurns = (write: (call: Streamed, index: number) => readonly object[]): readonly object[] => [
  ...pairs(write)
    .flat()
    .map((piece) => chunk({ tool_calls: [piece] })),
  chunk({}, "tool_calls"),
];
const sideBySide = (write: (call: Streamed, index: number) => readonly object[]): readonly object[] => [
  ...pairs(write).map((pieces) => chunk({ tool_calls: pieces })),
  chunk({}, "tool_calls"),
];
const item = ({ id, name, pieces }: Streamed, isDone: boolean): object => ({
  type: "function_call",
  id: `item ${id}`,
  call_id: id,
  name,
  arguments: isDone ? pieces.join("") : "",
  status: isDone ? "completed" : "in_progress",
});
const cohere = (type: string, index: number, call: object): object => ({
  type: `tool-call-${type}`,
  index,
  delta: { message: { tool_calls: call } },
});

const google = (content: object, finishReason?: string): object => ({
  candidates: [{ index: 0, content: { role: "model", ...content }, finishReason }],
});

/** Streams whose calls stand alone, so that nothing shows that one of them is lost. */
const WITHOUT_COUNT: ReadonlySet<Format> = new Set(["google"]);

/** A stream of each format with two calls, one event a line. */
const STREAMS: Readonly<Record<string, readonly [Format, readonly object[]]>> = {
  chat: [
    "openai",
    chat(({ id, name, pieces }, index) => [
      { index, id, type: "function", function: { name, arguments: "" } },
      ...pieces.map((piece) => ({ index, function: { arguments: piece } })),
    ]),
  ],
  "chat with the id in every piece": [
    "openai",
    chat(({ id, name, pieces }, index) =>
      pieces.map((piece) => ({ index, id, type: "function", function: { name, arguments: piece } })),
    ),
  ],
  "chat without an index": [
    "openai",
    chat(({ id, name, pieces }) => [
      { id, type: "function", function: { name, arguments: "" } },
      ...pieces.map((piece) => ({ function: { arguments: piece } })),
    ]),
  ],
  "chat without an index, with the id in every piece": [
    "openai",
    chat(({ id, name, pieces }) =>
      pieces.map((piece) => ({ id, type: "function", function: { name, arguments: piece } })),
    ),
  ],
  "chat with pieces of both calls in turns": [
    "openai",
    inTurns(({ id, name, pieces }, index) => [
      { index, id, type: "function", function: { name, arguments: "" } },
      ...pieces.map((piece) => ({ index, function: { arguments: piece } })),
    ]),
  ],
  "chat with pieces of both calls in turns, without an index": [
    "openai",
    inTurns(({ id, name, pieces }) =>
      pieces.map((piece) => ({ id, type: "function", function: { name, arguments: piece } })),
    ),
  ],
  "chat with pieces of both calls side by side": [
    "openai",
    sideBySide(({ id, name, pieces }, index) => [
      { index, id, type: "function", function: { name, arguments: "" } },
      ...pieces.map((piece) => ({ index, function: { arguments: piece } })),
    ]),
  ],
  "chat with the second index first": [
    "openai",
    chat(({ id, name, pieces }, at) => {
      const index = 1 - at;
      return [
        { index, id, type: "function", function: { name, arguments: "" } },
        ...pieces.map((piece) => ({ index, function: { arguments: piece } })),
      ];
    }),
  ],
  responses: [
    "openai-responses",
    [
      { type: "response.created", response: { id: "r", status: "in_progress" } },
      ...CALLS.flatMap((call, output_index) => {
        const at = { output_index, item_id: `item ${call.id}` };
        return [
          { type: "response.output_item.added", output_index, item: item(call, false) },
          ...call.pieces.map((delta) => ({ type: "response.function_call_arguments.delta", ...at, delta })),
          { type: "response.function_call_arguments.done", ...at, arguments: call.pieces.join("") },
          { type: "response.output_item.done", output_index, item: item(call, true) },
        ];
      }),
      {
        type: "response.completed",
        response: { status: "completed", output: CALLS.map((call) => item(call, true)) },
      },
    ],
  ],
  anthropic: [
    "anthropic",
    [
      { type: "message_start", message: { role: "assistant", content: [] } },
      ...CALLS.flatMap(({ id, name, pieces }, index) => [
        { type: "content_block_start", index, content_block: { type: "tool_use", id, name, input: {} } },
        ...pieces.map((partial_json) => ({
          type: "content_block_delta",
          index,
          delta: { type: "input_json_delta", partial_json },
        })),
        { type: "content_block_stop", index },
      ]),
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ],
  ],
  bedrock: [
    "bedrock",
    [
      { messageStart: { role: "assistant" } },
      ...CALLS.flatMap(({ id, name, pieces }, contentBlockIndex) => [
        { contentBlockStart: { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } } },
        ...pieces.map((input) => ({
          contentBlockDelta: { contentBlockIndex, delta: { toolUse: { input } } },
        })),
        { contentBlockStop: { contentBlockIndex } },
      ]),
      { messageStop: { stopReason: "tool_use" } },
    ],
  ],
  cohere: [
    "cohere",
    [
      { type: "message-start", delta: { message: { role: "assistant" } } },
      ...CALLS.flatMap(({ id, name, pieces }, index) => [
        cohere("start", index, { id, type: "function", function: { name, arguments: "" } }),
        ...pieces.map((piece) => cohere("delta", index, { function: { arguments: piece } })),
        { type: "tool-call-end", index },
      ]),
      { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
    ],
  ],
  google: [
    "google",
    [
      google({ parts: [{ text: "I look it up." }] }),
      ...CALLS.map(({ id, name, pieces }) =>
        google({ parts: [{ functionCall: { id, name, args: JSON.parse(pieces.join("")) } }] }),
      ),
      google({ parts: [{ text: "" }] }, "STOP"),
    ],
  ],
  "AI SDK": [
    "ai-sdk",
    [
      { type: "stream-start", warnings: [] },
      ...CALLS.flatMap(({ id, name, pieces }) => [
        { type: "tool-input-start", id, toolName: name },
        ...pieces.map((delta) => ({ type: "tool-input-delta", id, delta })),
        { type: "tool-input-end", id },
        { type: "tool-call", toolCallId: id, toolName: name, input: pieces.join("") },
      ]),
      { type: "finish", finishReason: "tool-calls" },
    ],
  ],
};

/** Reads a stream as a loop does that runs calls as they arrive: those before an error count. */
function readCalls(format: Format, events: readonly object[]) {
  const stream = PROTOCOLS[format](registry).stream();
  const calls: TurnCall[] = [];
  try {
    for (const event of events) calls.push(...stream.pushEvent(event));
    calls.push(...stream.end());
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return { calls, failed: true };
  }
  return { calls, failed: stream.cutOff };
}

/** The arguments of a call as JSON; `undefined` if it fails in the engine, as they are none. */
function argumentsOf({ arguments: args, problem }: TurnCall): string | undefined {
  if (problem !== undefined) return undefined;
  try {
    return JSON.stringify(typeof args === "string" ? JSON.parse(args) : args);
  } catch {
    return undefined;
  }
}

function isRight(call: TurnCall): boolean {
  const known = CALLS.find(({ id }) => id === call.id);
  const args = argumentsOf(call);
  return args === undefined || (known?.name === call.name && args === known.pieces.join(""));
}

function expectRight(format: Format, events: readonly object[], change: string): void {
  const { calls, failed } = readCalls(format, events);
  expect(
    calls.filter((call) => !isRight(call)),
    change,
  ).toEqual([]);
  // The calls of a chat without an index are told apart by the ids of their first pieces alone.
  const isSeen = failed || calls.some((call) => argumentsOf(call) === undefined);
  if (!isSeen && !WITHOUT_COUNT.has(format))
    expect(new Set(calls.map(({ id }) => id)).size, change).toBe(CALLS.length);
}

/** A value with one of its members replaced, for each of them. */
function* changedMembers(value: unknown, names: ReadonlySet<string>, to: unknown): Generator<unknown> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const replace = (by: unknown): unknown =>
      Array.isArray(value) ? value.with(Number(name), by) : { ...value, [name]: by };
    if (names.has(name)) yield replace(to);
    for (const changed of changedMembers(member, names, to)) yield replace(changed);
  }
}

const INDEXES = new Set(["index", "output_index", "contentBlockIndex"]);

describe.each(Object.entries(STREAMS))("no call of a stream is another one: %s", (_, [format, events]) => {
  test("as it is", () => {
    expect(readCalls(format, events)).toMatchObject({
      failed: false,
      calls: [{ id: "first" }, { id: "second" }],
    });
    expectRight(format, events, "as it is");
  });

  test("without one of its events, or its end", () => {
    for (const at of events.keys()) {
      expectRight(format, events.toSpliced(at, 1), `without event ${at}`);
      expectRight(format, events.slice(0, at), `cut before event ${at}`);
    }
  });

  test("with an event twice, or at another place", () => {
    for (const [from, event] of events.entries()) {
      for (const to of events.keys()) {
        expectRight(format, events.toSpliced(to, 0, event), `event ${from} again at ${to}`);
        expectRight(format, events.toSpliced(from, 1).toSpliced(to, 0, event), `event ${from} at ${to}`);
      }
    }
  });

  test("with another index in an event", () => {
    for (const [at, event] of events.entries()) {
      for (const index of [-1, 0, 1, 2, null, undefined]) {
        for (const changed of changedMembers(event, INDEXES, index)) {
          // A choice with another index is another answer, which is not read.
          const isChoice = JSON.stringify(changed).includes(`"choices":[{"index":${index}`) && index !== 0;
          if (!isChoice) expectRight(format, events.with(at, changed as object), `index ${index} in ${at}`);
        }
      }
    }
  });
});

test("a chat's call without arguments is given at its end: they may follow the finish reason", () => {
  const stream = PROTOCOLS.openai(registry).stream();
  const call = { index: 0, id: "first", type: "function", function: { name: "weather", arguments: "" } };
  const early = [chunk({ tool_calls: [call] }), chunk({}, "tool_calls")];
  expect(early.flatMap((event) => stream.pushEvent(event))).toEqual([]);
  expect(stream.end()).toMatchObject([{ id: "first", arguments: {} }]);
});

test.each([
  ["side by side", 2],
  ["one after the other", 1],
])("pieces of a chat %s make the stream fail if nothing says which of two calls they continue", (_, length) => {
  const starts = CALLS.map(({ id, name }) => ({ id, type: "function", function: { name, arguments: "" } }));
  const pieces = CALLS.map(({ pieces }) => ({ function: { arguments: pieces.join("") } }));
  const events = [chunk({ tool_calls: starts }), chunk({ tool_calls: pieces.slice(0, length) })];
  expect(readCalls("openai", [...events, chunk({}, "tool_calls")])).toEqual({ calls: [], failed: true });
});

describe("a stream of Google's in whose calls arguments arrive in pieces", () => {
  const part = (functionCall: object): object => google({ parts: [{ functionCall }] });
  const stop = google({}, "STOP");
  const events = [
    ...CALLS.flatMap(({ id, name, pieces }) => {
      const [[argument, text]] = Object.entries(JSON.parse(pieces.join(""))) as [[string, string]];
      const piece = (stringValue: string, willContinue: boolean): object =>
        part({
          id,
          partialArgs: [{ jsonPath: `$.${argument}`, stringValue, willContinue }],
          willContinue: true,
        });
      return [
        part({ id, name, willContinue: true }),
        piece(text.slice(0, 2), true),
        piece(text.slice(2), false),
        part({ id }),
      ];
    }),
    stop,
  ];

  test("has each call as it is, and none that was cut", () => {
    expect(readCalls("google", events)).toMatchObject({
      failed: false,
      calls: [{ id: "first" }, { id: "second" }],
    });
    expectRight("google", events, "as it is");
    for (const at of events.keys()) expectRight("google", events.slice(0, at), `cut before event ${at}`);
  });

  test("fails if the last piece of a text comes again, or a piece in another call", () => {
    for (const at of [2, 6]) {
      const again = events.toSpliced(at, 0, events[at] as object);
      expectRight("google", again, `event ${at} twice`);
      expect(readCalls("google", again).failed).toBe(true);
    }
    for (const from of [0, 1, 2, 3]) {
      for (const to of [5, 6, 7, 8]) {
        expectRight(
          "google",
          events.toSpliced(to, 0, events[from] as object),
          `event ${from} again at ${to}`,
        );
      }
    }
  });

  test("fails if a text says that it continues, and does not", () => {
    expect(readCalls("google", [...events.slice(0, 2), part({ id: "first" }), stop])).toEqual({
      calls: [],
      failed: true,
    });
  });
});

test("a block without a type makes the stream fail", () => {
  const [format, events] = STREAMS["anthropic"] as readonly [Format, readonly object[]];
  const start = { type: "content_block_start", index: 0, content_block: { id: "first", name: "weather" } };
  expect(readCalls(format, events.with(1, start))).toEqual({ calls: [], failed: true });
});
