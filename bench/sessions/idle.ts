import { strictEqual } from "node:assert";
import type { Principal } from "sandgate";
import { openSessions, type Session, type Sessions } from "sandgate/sessions";
import type { OpenCase, Question } from "../harness/case.ts";
import { isEcho } from "../setting.ts";
import { footprint } from "../soak/footprint.ts";
import { CALL, openParts } from "./setting.ts";

const MANY = 100_000;
/** As many as one principal can have open. */
const MAX_PER_PRINCIPAL = 1_000;

/** What it takes to open and close a session while many are open and have no call under way, and their memory. */
export const idle: Question = {
  name: "sessions-idle",
  cases: [
    { name: "a session opened and closed, beside 1", open: () => openBeside(1) },
    { name: `beside ${MANY} idle sessions`, open: () => openBeside(MANY) },
    { name: `beside ${MANY} idle sessions that made a call`, open: () => openBeside(MANY, makeCall) },
  ],
};

async function makeCall(session: Session): Promise<void> {
  isEcho(await session.turn().dispatch(CALL));
}

async function openBeside(count: number, use: (session: Session) => unknown = () => {}): Promise<OpenCase> {
  const parts = await openParts("read");
  const sessions = await openSessions(parts);
  // The code of the first call is not counted.
  await makeCall(await sessions.open());
  const before = footprint().heapMiB;
  for (let i = 1; i < count; i++) await use(await sessions.open({ principal: principalOf(i) }));
  const heapMiB = footprint().heapMiB - before;
  return {
    run: () => openAndClose(sessions),
    check: (session) => strictEqual(sessions.get((session as Session).id), undefined),
    observed: () => (count === 1 ? {} : { [`MiB of heap for ${count} idle sessions`]: heapMiB }),
    close: async () => {
      await sessions.close();
      await parts.sandboxes.close();
    },
  };
}

function principalOf(session: number): Principal {
  return { kind: "user", id: `principal ${Math.floor(session / MAX_PER_PRINCIPAL)}` };
}

async function openAndClose(sessions: Sessions): Promise<Session> {
  const session = await sessions.open();
  await session.close();
  return session;
}
