import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import { deny, HostPolicy, type RuntimePolicy } from "../../../src/policy/policy.ts";
import type { Confirmation } from "../../../src/sessions/confirmations/confirmation.ts";
import type { SessionsOptions } from "../../../src/sessions/options.ts";
import type { Sessions } from "../../../src/sessions/sessions.ts";
import { hostTool } from "../../engine/helpers.ts";
import { freePorts } from "../free-ports.ts";
import { type RestateNode, type RestateNodes, startRestate } from "../restate-nodes.ts";
import { openServer } from "./servers.ts";

let restate: RestateNodes;
beforeAll(async () => {
  restate = await startRestate();
});
afterAll(() => restate[Symbol.asyncDispose]());

const effects: unknown[] = [];
const tool = (more: Partial<Tool> = {}): Tool =>
  hostTool(({ text }) => effects.push(text), { name: "note", sideEffects: "write", ...more });
const asking = [tool({ confirm: "always" })];
const notAsking = [tool({ confirm: "auto" })];
const denying: RuntimePolicy = Object.assign(new HostPolicy(), { check: () => deny("not here") });

/** Has a person asked by one server, which ends then, and answers on the other one, which goes on with the call. */
async function answeredElsewhere(
  text: string,
  decision: "allow" | "deny",
  later: { readonly tools: readonly Tool[] } & Partial<SessionsOptions>,
) {
  const node = restate.nodes[0] as RestateNode;
  const [port = 0] = await freePorts(1);
  const first = await openServer({ node, port, tools: asking });
  const session = await first.open();
  const message = { messageId: "m" };
  const calls = [{ id: "c", name: "note", arguments: { text } }];
  const asked = session.turn({ id: "t" }).dispatchAll(calls, message);
  asked.catch(() => {});
  await confirmationIn(first, session.id);
  await first.close();
  await using second = await openServer({ node, port, ...later });
  const { id, digest } = await confirmationIn(second, session.id);
  expect((await second.answer(id, { decision, digest, by: "ann" })).outcome).toBe("resolved");
  const turn = await (await second.find(session.id))?.findTurn("t");
  const [result] = (await turn?.dispatchAll(calls, message)) ?? [];
  return result;
}

const confirmationIn = (sessions: Sessions, sessionId: string): Promise<Confirmation> =>
  vi.waitFor(() => {
    const found = sessions.openConfirmations().find((each) => each.sessionId === sessionId);
    if (found === undefined) throw new Error("not asked");
    return found;
  }, 10_000);

describe("A call that a server with another policy goes on with", () => {
  test("runs if both allow it", async () => {
    expect(await answeredElsewhere("both", "allow", { tools: asking })).toMatchObject({ success: true });
    expect(effects).toContain("both");
  });

  test("is denied if that policy denies it, although a person allowed it", async () => {
    const result = await answeredElsewhere("stricter", "allow", { tools: asking, policy: denying });
    expect(result?.error).toMatchObject({ code: "permission_denied", effect: "none" });
    expect(effects).not.toContain("stricter");
  });

  test("is not run if the person whom the first one had asked denies it, although that one would not ask", async () => {
    const result = await answeredElsewhere("looser", "deny", { tools: notAsking });
    expect(result?.error).toMatchObject({ code: "user_denied", effect: "none" });
    expect(effects).not.toContain("looser");
  });
});
