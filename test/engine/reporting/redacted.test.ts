import { describe, expect, test } from "vitest";
import { buildToolResultMessages } from "../../../src/engine/call/messages.ts";
import { allow } from "../../../src/policy/policy.ts";
import { Redaction } from "../../../src/redaction/redaction.ts";
import { ToolFailure } from "../../../src/tool/tool-failure.ts";
import { contextFor, dispatchTool, hostTool, recordEvents } from "../helpers.ts";

const KEY = `AKIA${"IOSFODNN7EXAMPLE"}`;
const input = { password: "hunter2", note: `use ${KEY}` };

describe("With a redaction in the context", () => {
  test("every event is without secrets, while policy, digest, tool and execution have what runs", async () => {
    const { events, seen } = recordEvents();
    const digests: string[] = [];
    const ctx = await contextFor(
      [
        hostTool((given, { logger, onOutput }) => {
          logger.info(`got ${JSON.stringify(given)}`);
          onOutput(KEY);
          return given;
        }),
      ],
      {
        events,
        redaction: new Redaction(),
        policy: {
          check: ({ canonical }) => {
            digests.push(canonical.digest, canonical.text);
            return allow({ sandbox: "host" });
          },
        },
      },
    );
    const execution = await dispatchTool(ctx, input);
    expect(execution).toMatchObject({ arguments: input, output: input });
    expect(digests[1]).toContain("hunter2");
    const [started] = seen;
    expect(started).toMatchObject({ type: "tool.started", canonical: { digest: digests[0] } });
    const texts = seen.map((event) =>
      JSON.stringify({ ...event, text: event.type === "tool.started" && event.canonical.text }),
    );
    expect(seen).toHaveLength(4);
    for (const text of texts) expect(text).not.toMatch(/hunter2|AKIAIOS/);
    expect(texts.join()).toContain("[redacted: aws-key]");
  });

  test("the message of a failure has no secret, even if the tool means it; the event's detail neither", async () => {
    const { events, seen } = recordEvents();
    const tool = hostTool(() => {
      throw new ToolFailure("execution_error", `cannot use ${KEY}`, { metadata: { token: "abc" } });
    });
    const execution = await dispatchTool(await contextFor([tool], { events, redaction: new Redaction() }));
    expect(execution.error?.message).toBe("cannot use [redacted: aws-key]");
    expect(JSON.stringify(seen)).not.toMatch(/AKIAIOS|"abc"/);
  });

  test("what is wrong with the arguments has no secret either", async () => {
    const { events, seen } = recordEvents();
    const tool = hostTool(() => 1, { validate: () => [`/note must not be ${KEY}`] });
    await dispatchTool(await contextFor([tool], { events, redaction: new Redaction() }));
    expect(seen).toMatchObject([
      { problems: [{ path: "/note", message: "must not be [redacted: aws-key]" }] },
    ]);
  });

  test("what the model reads of an output is whole, unless the redaction covers results", async () => {
    const shown = async (redaction: Redaction) => {
      const execution = await dispatchTool(
        await contextFor([hostTool(() => ({ token: "abc" }))], { redaction }),
      );
      const [, { results }] = buildToolResultMessages(
        [{ id: "call", name: "tool", arguments: {} }],
        [execution],
      );
      return results[0]?.content;
    };
    expect(await shown(new Redaction())).toEqual([{ type: "text", text: '{"token":"abc"}' }]);
    expect(await shown(new Redaction({ results: true }))).toEqual([
      { type: "text", text: '{"token":"[redacted: token]"}' },
    ]);
  });

  test("a call with a secret in its arguments runs, unless the redaction denies it", async () => {
    let ran = 0;
    const tool = hostTool(() => ++ran);
    const pass = await contextFor([tool], { redaction: new Redaction() });
    expect((await dispatchTool(pass, input)).success).toBe(true);
    const deny = await contextFor([tool], { redaction: new Redaction({ onSecretArgument: "deny" }) });
    expect((await dispatchTool(deny, input)).error).toMatchObject({
      code: "permission_denied",
      message: "Permission denied: the arguments of tool 'tool' hold a secret",
      effect: "none",
    });
    expect((await dispatchTool(deny, { note: "fine" })).success).toBe(true);
    expect(ran).toBe(2);
  });
});
