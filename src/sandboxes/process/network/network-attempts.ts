import { closeSync, openSync, readSync } from "node:fs";

/** Bytes that the files take at most, which have two lines for each protocol. */
const MAX_BYTES = 16_384;

/** Whether the programs of a network namespace tried to reach what no interface of it leads to. */
export class NetworkAttempts {
  #fd: number | undefined;
  #found = false;

  /** @param pid A process of the namespace, which has only a loopback interface. */
  constructor(pid: number) {
    try {
      // The namespace, with its counters, lasts as long as the file is open (proc_pid_net(5)).
      this.#fd = openSync(`/proc/${pid}/net/snmp`, "r");
    } catch {
      // The process has ended, or this kernel counts nothing.
    }
  }

  /** Reads the counters for the last time. */
  end(): void {
    if (this.#fd === undefined) return;
    try {
      const bytes = Buffer.alloc(MAX_BYTES);
      this.#found =
        packetsWithoutRoute(bytes.toString("latin1", 0, readSync(this.#fd, bytes, 0, MAX_BYTES, 0))) > 0;
    } catch {
      // Then it is not known.
    }
    closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** Whether there were attempts until {@link end}. */
  get found(): boolean {
    return this.#found;
  }
}

/** The counter of connections and packets for which there was no route: a line of names, then a line of their values. */
function packetsWithoutRoute(counters: string): number {
  const [names = "", values = ""] = counters.split("\n").filter((line) => line.startsWith("Ip: "));
  return Number(values.split(" ")[names.split(" ").indexOf("OutNoRoutes")] ?? 0);
}
