import { expect, test } from "vitest";
import type { CallHistory } from "../../src/policy/call-history.ts";
import { deny } from "../../src/policy/policy.ts";
import { strictest } from "../../src/policy/strictest.ts";
import { call, testSessions, tool } from "./harness.ts";

async function historySeen(usesHistory: boolean): Promise<CallHistory | undefined> {
  let seen: CallHistory | undefined;
  const policy = {
    usesHistory,
    check: ({ history }: { readonly history?: CallHistory | undefined }) => {
      seen = history;
      return deny("no");
    },
  };
  const { sessions } = await testSessions([tool("look", "none")], { policy: strictest(policy, policy) });
  const session = await sessions.open();
  await session.turn({ userText: "look around" }).dispatch(call("a", "look"));
  return seen;
}

test("a policy that uses the history gets the user's words in the turn", async () => {
  expect(await historySeen(true)).toMatchObject({ userText: "look around" });
});

test("a policy that does not use the history gets none", async () => {
  expect(await historySeen(false)).toBeUndefined();
});
