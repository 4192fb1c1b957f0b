import type { Socket } from "node:net";
import { Transform } from "node:stream";
import { type Contact, EgressError, type Traffic } from "../egress-error.ts";

/** How many contacts are recorded: a program can open any number of connections. */
const MAX_CONTACTS = 1_000;

/** Counts and bounds the bytes of a proxy's connections to servers. */
export class TrafficMeter {
  readonly #budget: number;
  readonly #contacted: Contact[] = [];
  readonly #open = new Set<Socket>();
  /** Bytes of the connections that are closed. */
  #bytesUp = 0;
  #bytesDown = 0;

  /** @param budget Bytes that may be sent and received in all, with everything that HTTP and TLS add. */
  constructor(budget: number) {
    this.#budget = budget;
  }

  /** Counts a connection from now on. */
  add(origin: string, socket: Socket): void {
    if (this.#contacted.length < MAX_CONTACTS)
      this.#contacted.push(Object.freeze({ origin, address: socket.remoteAddress ?? "" }));
    this.#open.add(socket);
    socket.once("close", () => {
      this.#open.delete(socket);
      this.#bytesUp += socket.bytesWritten;
      this.#bytesDown += socket.bytesRead;
    });
  }

  /** @throws {EgressError} if so many more bytes may not be sent, or too many have been received. */
  check(more: number): void {
    const { bytesUp, bytesDown } = this.traffic;
    if (bytesUp + bytesDown + more > this.#budget)
      throw new EgressError("budget_exceeded", `the traffic exceeds the network budget (netBytes)`);
  }

  /** Returns a stream for bytes to a server, which fails before it passes on a byte beyond the budget. */
  sending(): Transform {
    return this.#checking((chunk) => chunk.length);
  }

  /** Returns a stream for bytes of a server, which were counted when they arrived. */
  receiving(): Transform {
    return this.#checking(() => 0);
  }

  get traffic(): Traffic {
    let [bytesUp, bytesDown] = [this.#bytesUp, this.#bytesDown];
    for (const socket of this.#open) {
      bytesUp += socket.bytesWritten;
      bytesDown += socket.bytesRead;
    }
    return { contacted: this.#contacted, bytesUp, bytesDown };
  }

  #checking(more: (chunk: Buffer) => number): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        try {
          this.check(more(chunk));
          done(null, chunk);
        } catch (error) {
          done(error as EgressError);
        }
      },
    });
  }
}
