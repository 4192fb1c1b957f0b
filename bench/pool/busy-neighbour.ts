import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Case, OpenCase, Question } from "../harness/case.ts";
import { sustained } from "../harness/in-flight.ts";
import { openEcho } from "../setting.ts";
import { openRawEcho } from "./raw-threads.ts";
import { THREAD_TOOLS } from "./thread-tools.ts";

const IN_FLIGHT: readonly number[] = [1, 8, 64];
const CALLS_EACH = 16;

/** The cost of calls in a thread, including their CPU time, if another process keeps a core busy. */
export const busyNeighbour: Question = {
  name: "pool-busy-neighbour",
  scale: "calls in flight",
  cases: IN_FLIGHT.flatMap((at): Case[] => {
    const threads = at < 64 ? 1 : 2;
    const floor = besideSpinning(at, {
      name: "postMessage there and back",
      open: () => openRawEcho(threads),
    });
    const ours = Object.entries(THREAD_TOOLS).map(([kind, tool]) =>
      besideSpinning(at, {
        name: `dispatch of a ${kind} tool`,
        open: async () => {
          const { sandbox, echo } = await tool();
          return openEcho(sandbox, echo, { sandboxes: { workers: { threads } } });
        },
      }),
    );
    return [floor, ...ours].map((each) => ({ ...each, floor: floor.name }));
  }),
};

/** Returns a case with several calls at once, next to a process that never sleeps. */
function besideSpinning(at: number, subject: Case): Case {
  const loaded = sustained(at, CALLS_EACH, subject);
  const { calls = 1 } = loaded;
  const open = async (): Promise<OpenCase> => {
    const opened = await loaded.open();
    const meter = new CpuMeter();
    return {
      ...opened,
      run: () => {
        meter.calls += calls;
        return opened.run();
      },
      beside: async () => {
        const end = await spinBeside();
        meter.read();
        return end;
      },
      observed: () => ({ "µs of CPU for each call": meter.read() }),
    };
  };
  return { ...loaded, at, open };
}

/** Starts a process that spins, and waits for the byte that it prints first. */
async function spinBeside(): Promise<() => Promise<unknown>> {
  const args = ["--eval", "process.stdout.write('.'); for (;;);"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return () => {
    child.kill("SIGKILL");
    return once(child, "exit");
  };
}

/** Measures the CPU time of all threads of this process since the last reading. */
class CpuMeter {
  calls = 0;
  #from = process.cpuUsage();

  /** Returns microseconds per call. */
  read(): number {
    const { user, system } = process.cpuUsage(this.#from);
    const each = (user + system) / this.calls;
    this.#from = process.cpuUsage();
    this.calls = 0;
    return each;
  }
}
