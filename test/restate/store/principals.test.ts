import { afterAll, beforeAll, expect, test } from "vitest";
import { RestateSessionStore } from "../../../src/restate/store/session-store.ts";
import { SESSION } from "../../sessions/store/records.ts";
import { type RestateStores, startRestateStores } from "./restate-stores.ts";

let restate: RestateStores;
beforeAll(async () => {
  restate = await startRestateStores();
});
afterAll(() => restate[Symbol.asyncDispose]());

test("A principal has at most 1,000 open sessions on all servers, and others can open theirs", async () => {
  const options = { ingress: restate.ingress, prefix: restate.newPrefix() };
  const [one, two] = [new RestateSessionStore(options), new RestateSessionStore(options)];
  const add = (index: number) => (index % 2 === 0 ? one : two).addSession({ ...SESSION, id: `s${index}` });
  await add(0);
  // The others of the 1,000, which would take long to open one by one.
  const sessions = Array.from({ length: 1_000 }, (_, index) => `s${index}`);
  const state = await fetch(`${restate.node.admin}/services/SandgatePrincipal/state`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      object_key: `${options.prefix}id/ann`,
      new_state: { sessions: [...Buffer.from(JSON.stringify(sessions))] },
    }),
  });
  expect(state.status).toBe(202);
  await expect(add(1_000)).rejects.toMatchObject({ code: "too_many_sessions" });
  expect(await one.addSession({ ...SESSION, id: "of eve", principal: { id: "eve", kind: "user" } })).toBe(
    true,
  );
  await two.removeSession("s0");
  expect(await add(1_000)).toBe(true);
  expect(await add(1_000)).toBe(false);
});
