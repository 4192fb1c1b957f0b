import type { Capabilities } from "sandgate";
import { contractComponent } from "../../test/fixtures/wasm/contract-component.ts";
import type { Question } from "../harness/case.ts";
import { sustained } from "../harness/in-flight.ts";
import { peerCase } from "../peer-case.ts";
import { openPiscinaEcho } from "../pool/piscina-echo.ts";
import { openEcho } from "../setting.ts";
import { guards } from "./guards.ts";
import { openFreshInstance } from "./in-thread.ts";
import { openPlainJco } from "./plain-jco.ts";
import { registration } from "./registration.ts";

const openTool = async (threads: number, capabilities: Capabilities = {}): ReturnType<typeof openEcho> =>
  openEcho(
    "wasm",
    { wasm: { component: await contractComponent() } },
    { capabilities, sandboxes: { workers: { threads } } },
  );

/** The floor of calls through a thread: waking a thread takes longer on some machines than on others. */
const PISCINA = "piscina run() of an echo";

/** The cost of a call in a fresh instance of a component, compared to jco alone in this thread. */
const wasm: Question = {
  name: "wasm",
  cases: [
    { name: "jco: fresh instance and call, in this thread", open: openPlainJco },
    { name: "ours: fresh instance and call, in this thread", open: openFreshInstance },
    { name: PISCINA, floor: PISCINA, open: () => openPiscinaEcho(1) },
    { name: "dispatch of a Wasm tool through a thread", floor: PISCINA, open: () => openTool(1) },
    {
      name: "the same, with a grant to reuse the instance",
      floor: PISCINA,
      open: () => openTool(1, { reuse: "instance" }),
    },
    peerCase("extism: fresh plugin of a compiled module, and call, in this thread", "extism"),
  ],
};

/** The throughput of two threads. */
const load: Question = {
  name: "wasm-load",
  cases: [
    { name: "piscina run() of an echo, 16 tasks per thread", open: () => openPiscinaEcho(2, 16) },
    { name: "dispatch of a Wasm tool through two threads", open: () => openTool(2) },
  ].map((each) => sustained(64, 16, each)),
};

/** The questions about Wasm tools. */
export const questions: readonly Question[] = [wasm, load, guards, registration];
