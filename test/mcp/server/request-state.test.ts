import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import type { Server } from "../../../src/server/server.ts";
import { WritingTool } from "../../server/harness.ts";
import { send, startMcpServer } from "./harness.ts";

const CALL = { name: "write_note", arguments: { text: "hello" } };
const FORMS = { capabilities: { elicitation: {} } } as const;
const ALLOW = { action: "accept", content: { decision: "allow" } };
const REFUSED = { error: { code: -32_602, data: { reason: "invalid_request_state" } } };

interface Asked {
  readonly requestState: string;
  /** The response that allows the call. */
  readonly inputResponses: JsonObject;
}

async function ask(server: Server, call: JsonObject = CALL): Promise<Asked> {
  const { body } = await send(server, "tools/call", call, FORMS);
  const { resultType, requestState, inputRequests } = body["result"] as JsonObject;
  expect(resultType).toBe("input_required");
  const [key = ""] = Object.keys(inputRequests as JsonObject);
  return { requestState: String(requestState), inputResponses: { [key]: ALLOW } };
}

describe("The state of a call that waits for a confirmation", () => {
  test("lets the call run once, and not again when it is replayed", async () => {
    const writing = new WritingTool();
    const server = await startMcpServer([writing.tool], { confirm: "elicitation" });
    const asked = await ask(server);
    const { body } = await send(server, "tools/call", { ...CALL, ...asked }, FORMS);
    expect(body).toMatchObject({ result: { resultType: "complete", content: [{ type: "text" }] } });
    const again = await send(server, "tools/call", { ...CALL, ...asked }, FORMS);
    expect(again.body).toMatchObject(REFUSED);
    expect(writing.inputs).toHaveLength(1);
  });

  test("runs the call at most once when many requests come with it at the same time", async () => {
    const writing = new WritingTool();
    const server = await startMcpServer([writing.tool], { confirm: "elicitation" });
    const asked = await ask(server);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => send(server, "tools/call", { ...CALL, ...asked }, FORMS)),
    );
    expect(answers.filter(({ body }) => "result" in body)).toHaveLength(1);
    expect(writing.inputs).toHaveLength(1);
  });

  test.each([
    ["of another principal", { name: "bob" }, {}],
    ["with other arguments", {}, { arguments: { text: "other" } }],
  ] as const)("does not open for a request %s", async (_what, sender, change) => {
    const writing = new WritingTool();
    const server = await startMcpServer([writing.tool], { confirm: "elicitation" });
    const asked = await ask(server);
    const call = { ...CALL, ...change, ...asked };
    const { body } = await send(server, "tools/call", call, { ...FORMS, ...sender });
    expect(body).toMatchObject(REFUSED);
    expect(writing.inputs).toEqual([]);
  });

  test.each([
    "",
    "forged",
    "A".repeat(2_000),
    "eyJpZCI6IjEifQ",
  ])("cannot be forged as '%s'", async (state) => {
    const writing = new WritingTool();
    const server = await startMcpServer([writing.tool], { confirm: "elicitation" });
    const { inputResponses } = await ask(server);
    const call = { ...CALL, requestState: state, inputResponses };
    const { body } = await send(server, "tools/call", call, FORMS);
    expect(body).toHaveProperty("error.code", -32_602);
    expect(writing.inputs).toEqual([]);
  });

  test("is not that of another server", async () => {
    const writing = new WritingTool();
    const asked = await ask(await startMcpServer([writing.tool], { confirm: "elicitation" }));
    const other = await startMcpServer([writing.tool], { confirm: "elicitation" });
    expect((await send(other, "tools/call", { ...CALL, ...asked }, FORMS)).body).toMatchObject(REFUSED);
    expect(writing.inputs).toEqual([]);
  });

  test("is needed: an answer that comes before the question allows nothing", async () => {
    const writing = new WritingTool();
    const server = await startMcpServer([writing.tool], { confirm: "elicitation" });
    const { inputResponses } = await ask(server);
    const { body } = await send(server, "tools/call", { ...CALL, inputResponses }, FORMS);
    expect(body).toMatchObject({ result: { resultType: "input_required" } });
    expect(writing.inputs).toEqual([]);
  });

  test("stays good for another round if the answer has another form, but only for eight", async () => {
    const writing = new WritingTool();
    const server = await startMcpServer([writing.tool], { confirm: "elicitation" });
    let { requestState, inputResponses } = await ask(server);
    const [key = ""] = Object.keys(inputResponses);
    inputResponses = { [key]: { action: "accept", content: { decision: "perhaps" } } };
    let rounds = 1;
    for (;;) {
      const call = { ...CALL, requestState, inputResponses };
      const { body } = await send(server, "tools/call", call, FORMS);
      const result = body["result"] as JsonObject;
      if (result["resultType"] !== "input_required") {
        expect(result).toMatchObject({ isError: true });
        break;
      }
      rounds++;
      requestState = String(result["requestState"]);
    }
    expect(rounds).toBe(8);
    expect(writing.inputs).toEqual([]);
  });
});
